; Metal 4: products whose results are in memory, integers in cooperative tensors, windows of an even size
; with dilation.
; // RUN: kernel=to_memory threads=128 group=128
; // ARG 0: f16[696] = i % 7 - 3
; // ARG 1: f16[1080] = i % 5 - 2
; // ARG 2: f32[1305] = i % 11
; // EXPECT 2: f32[1305] = i % 11 + sum(k, 0, 20, ((24 * idiv(i, 45) + k) % 7 - 3) * ((24 * (i % 45) + k) % 5 - 2))
; // RUN: kernel=to_memory threads=192 group=192
; // ARG 0: f16[696] = i % 7 - 3
; // ARG 1: f16[1080] = i % 5 - 2
; // ARG 2: f32[1305] = i % 11
; // EXPECT 2: f32[1305] = i % 11 + sum(k, 0, 20, ((24 * idiv(i, 45) + k) % 7 - 3) * ((24 * (i % 45) + k) % 5 - 2))
; // RUN: kernel=alone threads=1 group=1
; // ARG 0: i8[63] = i * 3 - 90
; // ARG 1: u8[45] = i * 5
; // ARG 2: i32[35]
; // EXPECT 2: i32[35] = sum(k, 0, 9, (3 * (9 * idiv(i, 5) + k) - 90) * 5 * (5 * k + i % 5))
; // RUN: kernel=small_integers threads=32 group=32
; // ARG 0: i8[320] = i % 241 - 120
; // ARG 1: u8[320] = i % 255
; // ARG 2: i32[256] = 1
; // EXPECT 2: i32[256] = sum(k, 0, 20, ((20 * idiv(i, 16) + k) % 241 - 120) * ((16 * k + i % 16) % 255))
; // RUN: kernel=dilated threads=32 group=32
; // ARG 0: f32[32] = i % 7 - 3
; // ARG 1: f32[32] = i % 5 - 2
; // ARG 2: f32[512]
; // EXPECT 2: f32[512] = sum(k, 0, 2, (idiv(i, 16) % 8 + 2 * k - 1 < 0 || idiv(i, 16) % 8 + 2 * k - 1 >= 8) ? 0 : ((idiv(i, 16) + 2 * k - 1) % 7 - 3) * ((16 * k + i % 16) % 5 - 2))
; ModuleID = 'tensors_memory'
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
target triple = "air64_v28-apple-macosx26.0.0"

@adds = internal constant { i32, i32, i32, i8, i8, i8, i32 } { i32 32, i32 48, i32 20, i8 0, i8 1, i8 0, i32 1 }
@of_tensors = internal constant { i32, i32, i32, i8, i8, i8, i32 } { i32 -1, i32 -1, i32 -1, i8 0, i8 0, i8 0, i32 0 }
@short = internal constant { i32, i32, i32, i8, i8, i8, i32 } { i32 16, i32 16, i32 20, i8 0, i8 0, i8 0, i32 0 }
@window = internal constant { <4 x i32>, <4 x i32>, <2 x i32>, i32, i32, <2 x i32>, <2 x i32>, i32, i8, i32 } { <4 x i32> <i32 16, i32 8, i32 4, i32 1>, <4 x i32> <i32 1, i32 8, i32 4, i32 1>, <2 x i32> <i32 2, i32 1>, i32 0, i32 0, <2 x i32> <i32 1, i32 1>, <2 x i32> <i32 2, i32 1>, i32 1, i8 1, i32 0 }

define internal fastcc i64 @tensor_size() convergent nounwind {
  %size = call i16 @air.get_descriptor_size_tensor(i16 4, i16 4)
  %wide = zext i16 %size to i64
  ret i64 %wide
}
define internal fastcc void @view(ptr %tensor, i16 %rank, ptr addrspace(1) %data, i32 %e0, i32 %e1, i32 %e2, i32 %e3) alwaysinline convergent {
  %e = alloca [4 x i32], align 4
  %s = alloca [4 x i32], align 4
  %e1.at = getelementptr inbounds [4 x i32], ptr %e, i64 0, i64 1
  %e2.at = getelementptr inbounds [4 x i32], ptr %e, i64 0, i64 2
  %e3.at = getelementptr inbounds [4 x i32], ptr %e, i64 0, i64 3
  %s1.at = getelementptr inbounds [4 x i32], ptr %s, i64 0, i64 1
  %s2.at = getelementptr inbounds [4 x i32], ptr %s, i64 0, i64 2
  %s3.at = getelementptr inbounds [4 x i32], ptr %s, i64 0, i64 3
  %s2 = mul i32 %e0, %e1
  %s3 = mul i32 %s2, %e2
  store i32 %e0, ptr %e
  store i32 %e1, ptr %e1.at
  store i32 %e2, ptr %e2.at
  store i32 %e3, ptr %e3.at
  store i32 1, ptr %s
  store i32 %e0, ptr %s1.at
  store i32 %s2, ptr %s2.at
  store i32 %s3, ptr %s3.at
  call void @air.init_strided_private_tensor.i32.global(ptr %tensor, i16 %rank, ptr addrspace(1) %data, ptr %e, ptr %s, i8 1)
  ret void
}

define void @to_memory(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) convergent {
  %x.size = call fastcc i64 @tensor_size()
  %x = alloca i8, i64 %x.size, align 8
  %y.size = call fastcc i64 @tensor_size()
  %y = alloca i8, i64 %y.size, align 8
  %z.size = call fastcc i64 @tensor_size()
  %z = alloca i8, i64 %z.size, align 8
  %d = alloca { i32, i32, i32, i8, i8, i8, i32 }, align 4
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %d, ptr align 16 @adds, i64 20, i1 false)
  call fastcc void @view(ptr %x, i16 2, ptr addrspace(1) %a, i32 24, i32 29, i32 1, i32 1)
  call fastcc void @view(ptr %y, i16 2, ptr addrspace(1) %b, i32 24, i32 45, i32 1, i32 1)
  call fastcc void @view(ptr %z, i16 2, ptr addrspace(1) %c, i32 45, i32 29, i32 1, i32 1)
  call void @__tensorops_impl_matmul2d_op_run_dv_f16_dv_f16_dv_f32(ptr %d, ptr %x, i32 2, ptr %y, i32 2, ptr %z, i32 2, i32 128)
  ret void
}

define void @alone(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) convergent {
  %x.size = call fastcc i64 @tensor_size()
  %x = alloca i8, i64 %x.size, align 8
  %y.size = call fastcc i64 @tensor_size()
  %y = alloca i8, i64 %y.size, align 8
  %z.size = call fastcc i64 @tensor_size()
  %z = alloca i8, i64 %z.size, align 8
  %d = alloca { i32, i32, i32, i8, i8, i8, i32 }, align 4
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %d, ptr align 16 @of_tensors, i64 20, i1 false)
  call fastcc void @view(ptr %x, i16 2, ptr addrspace(1) %a, i32 9, i32 7, i32 1, i32 1)
  call fastcc void @view(ptr %y, i16 2, ptr addrspace(1) %b, i32 5, i32 9, i32 1, i32 1)
  call fastcc void @view(ptr %z, i16 2, ptr addrspace(1) %c, i32 5, i32 7, i32 1, i32 1)
  call void @__tensorops_impl_matmul2d_op_run_dv_i8_dv_u8_dv_i32(ptr %d, ptr %x, i32 2, ptr %y, i32 2, ptr %z, i32 2, i32 1)
  ret void
}

define internal fastcc i64 @left_size() convergent nounwind noinline {
  %bytes = call i64 @__tensorops_impl_matmul2d_op_cooperative_tensor_data_size(i32 0, i32 16, i32 16, i32 20, i8 0, i8 0, i8 0, i32 0, i32 536870920, i32 1610612744, i32 536870944, i32 32)
  ret i64 %bytes
}

define internal fastcc i64 @right_size() convergent nounwind noinline {
  %bytes = call i64 @__tensorops_impl_matmul2d_op_cooperative_tensor_data_size(i32 1, i32 16, i32 16, i32 20, i8 0, i8 0, i8 0, i32 0, i32 536870920, i32 1610612744, i32 536870944, i32 32)
  ret i64 %bytes
}

define internal fastcc i64 @sums_size() convergent nounwind noinline {
  %bytes = call i64 @__tensorops_impl_matmul2d_op_cooperative_tensor_data_size(i32 2, i32 16, i32 16, i32 20, i8 0, i8 0, i8 0, i32 0, i32 536870920, i32 1610612744, i32 536870944, i32 32)
  ret i64 %bytes
}

define void @small_integers(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) convergent {
  %x.size = call fastcc i64 @tensor_size()
  %x = alloca i8, i64 %x.size, align 8
  %y.size = call fastcc i64 @tensor_size()
  %y = alloca i8, i64 %y.size, align 8
  %z.size = call fastcc i64 @tensor_size()
  %z = alloca i8, i64 %z.size, align 8
  %left.size = call fastcc i64 @left_size()
  %left = alloca i8, i64 %left.size, align 8
  %right.size = call fastcc i64 @right_size()
  %right = alloca i8, i64 %right.size, align 8
  %sums.size = call fastcc i64 @sums_size()
  %sums = alloca i8, i64 %sums.size, align 8
  %d = alloca { i32, i32, i32, i8, i8, i8, i32 }, align 4
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %d, ptr align 16 @short, i64 20, i1 false)
  call fastcc void @view(ptr %x, i16 2, ptr addrspace(1) %a, i32 20, i32 16, i32 1, i32 1)
  call fastcc void @view(ptr %y, i16 2, ptr addrspace(1) %b, i32 16, i32 20, i32 1, i32 1)
  call fastcc void @view(ptr %z, i16 2, ptr addrspace(1) %c, i32 16, i32 16, i32 1, i32 1)
  call void @__tensorops_impl_matmul2d_op_cooperative_tensor_load_dv_i8(i32 0, i32 16, i32 16, i32 20, i8 0, i8 0, i8 0, i32 0, ptr %left, ptr %x, i32 2, i32 2, i32 536870920, i32 1610612744, i32 536870944, i32 32)
  call void @__tensorops_impl_matmul2d_op_cooperative_tensor_load_dv_u8(i32 1, i32 16, i32 16, i32 20, i8 0, i8 0, i8 0, i32 0, ptr %right, ptr %y, i32 2, i32 2, i32 536870920, i32 1610612744, i32 536870944, i32 32)
  call void @__tensorops_impl_matmul2d_op_run_cooperative_i8_u8_i32(ptr %d, ptr %left, ptr %right, ptr %sums, i32 32)
  call void @__tensorops_impl_matmul2d_op_cooperative_tensor_store_dv_i32(i32 2, i32 16, i32 16, i32 20, i8 0, i8 0, i8 0, i32 0, ptr %sums, ptr %z, i32 2, i32 536870920, i32 1610612744, i32 536870944, i32 32)
  ret void
}

define internal fastcc i64 @convolution_size() convergent nounwind {
  %bytes = call i64 @__tensorops_impl_conv2d_cooperative_destination_data_size(ptr @window, i32 268435488, i32 268435488, i32 268435488, i32 32)
  ret i64 %bytes
}
define void @dilated(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) convergent {
  %x.size = call fastcc i64 @tensor_size()
  %x = alloca i8, i64 %x.size, align 8
  %y.size = call fastcc i64 @tensor_size()
  %y = alloca i8, i64 %y.size, align 8
  %sums.size = call fastcc i64 @convolution_size()
  %sums = alloca i8, i64 %sums.size, align 8
  %d = alloca { <4 x i32>, <4 x i32>, <2 x i32>, i32, i32, <2 x i32>, <2 x i32>, i32, i8, i32 }, align 16
  %at = alloca [4 x i32], align 4
  %offsets = alloca <2 x i32>, align 8
  store <2 x i32> zeroinitializer, ptr %offsets
  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %d, ptr align 16 @window, i64 80, i1 false)
  call fastcc void @view(ptr %x, i16 4, ptr addrspace(1) %a, i32 1, i32 8, i32 4, i32 1)
  call fastcc void @view(ptr %y, i16 4, ptr addrspace(1) %b, i32 16, i32 1, i32 2, i32 1)
  call void @__tensorops_impl_conv2d_cooperative_destination_tensor_init(ptr %sums, ptr %d, i32 268435488, i32 268435488, i32 268435488, i32 32)
  call void @__tensorops_impl_convolution2d_op_run_cooperative_dv_f32_dv_f32_f32(ptr %d, ptr %x, i32 2, ptr %y, i32 2, ptr %sums, i32 32, ptr %offsets)
  br label %head
head:
  %i = phi i16 [ 0, %0 ], [ %next, %head ]
  call void @__tensorops_impl_conv2d_cooperative_destination_tensor_get_coordinate(ptr %d, ptr %sums, i16 zeroext %i, i32 268435488, ptr %at, i32 536870944, i32 268435488, i32 268435488, i32 268435488, i32 32)
  %at1 = getelementptr inbounds [4 x i32], ptr %at, i64 0, i64 1
  %at2 = getelementptr inbounds [4 x i32], ptr %at, i64 0, i64 2
  %channel = load i32, ptr %at
  %px = load i32, ptr %at1
  %py = load i32, ptr %at2
  %lines = shl i32 %py, 3
  %pixel = add i32 %lines, %px
  %first = shl i32 %pixel, 4
  %index = add i32 %first, %channel
  %e = call ptr @__tensorops_impl_conv2d_cooperative_destination_tensor_elements(ptr %sums, i16 zeroext %i, i32 268435488, i32 32)
  %value = load float, ptr %e
  %wide = sext i32 %index to i64
  %to = getelementptr inbounds float, ptr addrspace(1) %c, i64 %wide
  store float %value, ptr addrspace(1) %to
  %next = add nuw i16 %i, 1
  %more = icmp ult i16 %next, 16
  br i1 %more, label %head, label %done
done:
  ret void
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i16 @air.get_descriptor_size_tensor(i16, i16)
declare void @air.init_strided_private_tensor.i32.global(ptr, i16, ptr addrspace(1), ptr, ptr, i8)
declare void @__tensorops_impl_matmul2d_op_run_dv_f16_dv_f16_dv_f32(ptr, ptr, i32, ptr, i32, ptr, i32, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_matmul2d_op_run_dv_i8_dv_u8_dv_i32(ptr, ptr, i32, ptr, i32, ptr, i32, i32) convergent section "air.externally_defined"
declare i64 @__tensorops_impl_matmul2d_op_cooperative_tensor_data_size(i32, i32, i32, i32, i8, i8, i8, i32, i32, i32, i32, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_matmul2d_op_cooperative_tensor_load_dv_i8(i32, i32, i32, i32, i8, i8, i8, i32, ptr, ptr, i32, i32, i32, i32, i32, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_matmul2d_op_cooperative_tensor_load_dv_u8(i32, i32, i32, i32, i8, i8, i8, i32, ptr, ptr, i32, i32, i32, i32, i32, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_matmul2d_op_cooperative_tensor_store_dv_i32(i32, i32, i32, i32, i8, i8, i8, i32, ptr, ptr, i32, i32, i32, i32, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_matmul2d_op_run_cooperative_i8_u8_i32(ptr, ptr, ptr, ptr, i32) convergent section "air.externally_defined"
declare i64 @__tensorops_impl_conv2d_cooperative_destination_data_size(ptr, i32, i32, i32, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_conv2d_cooperative_destination_tensor_init(ptr, ptr, i32, i32, i32, i32) convergent section "air.externally_defined"
declare ptr @__tensorops_impl_conv2d_cooperative_destination_tensor_elements(ptr, i16 zeroext, i32, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_conv2d_cooperative_destination_tensor_get_coordinate(ptr, ptr, i16 zeroext, i32, ptr, i32, i32, i32, i32, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_convolution2d_op_run_cooperative_dv_f32_dv_f32_f32(ptr, ptr, i32, ptr, i32, ptr, i32, ptr) convergent section "air.externally_defined"

!air.kernel = !{!5, !11, !17, !23}
!0 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 2, !"air.arg_type_align_size", i32 2, !"air.arg_type_name", !"half", !"air.arg_name", !"b0"}
!1 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 2, !"air.arg_type_align_size", i32 2, !"air.arg_type_name", !"half", !"air.arg_name", !"b1"}
!2 = !{i32 2, !"air.buffer", !"air.location_index", i32 2, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b2"}
!3 = !{!0, !1, !2}
!4 = !{}
!5 = !{ptr @to_memory, !4, !3}
!6 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 1, !"air.arg_type_align_size", i32 1, !"air.arg_type_name", !"char", !"air.arg_name", !"b0"}
!7 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 1, !"air.arg_type_align_size", i32 1, !"air.arg_type_name", !"uchar", !"air.arg_name", !"b1"}
!8 = !{i32 2, !"air.buffer", !"air.location_index", i32 2, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"int", !"air.arg_name", !"b2"}
!9 = !{!6, !7, !8}
!10 = !{}
!11 = !{ptr @alone, !10, !9}
!12 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 1, !"air.arg_type_align_size", i32 1, !"air.arg_type_name", !"char", !"air.arg_name", !"b0"}
!13 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 1, !"air.arg_type_align_size", i32 1, !"air.arg_type_name", !"uchar", !"air.arg_name", !"b1"}
!14 = !{i32 2, !"air.buffer", !"air.location_index", i32 2, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"int", !"air.arg_name", !"b2"}
!15 = !{!12, !13, !14}
!16 = !{}
!17 = !{ptr @small_integers, !16, !15}
!18 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b0"}
!19 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b1"}
!20 = !{i32 2, !"air.buffer", !"air.location_index", i32 2, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b2"}
!21 = !{!18, !19, !20}
!22 = !{}
!23 = !{ptr @dilated, !22, !21}
