; Metal 4 as libraries for macOS 26.0 and 26.1 have it: cooperative tensors for results only, whose functions are not told
; which operand they are for.
; // RUN: kernel=in_memory threads=128 group=128
; // ARG 0: f16[580] = i % 7 - 3
; // ARG 1: f16[900] = i % 5 - 2
; // ARG 2: f32[1305] = i % 3
; // EXPECT 2: f32[1305] = i % 3 + i % 45 + sum(k, 0, 20, ((20 * idiv(i, 45) + k) % 7 - 3) * ((20 * (i % 45) + k) % 5 - 2))
; ModuleID = 'tensors_26_0'
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
target triple = "air64_v28-apple-macosx26.0.0"

@ragged = internal constant { i32, i32, i32, i8, i8, i8, i32 } { i32 32, i32 48, i32 -1, i8 0, i8 1, i8 0, i32 1 }

define internal fastcc i64 @tensor_size() convergent nounwind {
  %size = call i16 @air.get_descriptor_size_tensor(i16 2, i16 4)
  %wide = zext i16 %size to i64
  ret i64 %wide
}
define internal fastcc i64 @ragged_size() convergent nounwind noinline {
  %size = call i32 @air.get_simdgroup_size.i32()
  %threads = shl i32 %size, 2
  %bytes = call i64 @__tensorops_impl_matmul2d_op_cooperative_destination_data_size(i32 32, i32 48, i32 -1, i8 0, i8 1, i8 0, i32 1, i32 268435472, i32 268435472, i32 268435488, i32 %threads)
  ret i64 %bytes
}

define void @in_memory(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) convergent {
  %x.size = call fastcc i64 @tensor_size()
  %x = alloca i8, i64 %x.size, align 8
  %y.size = call fastcc i64 @tensor_size()
  %y = alloca i8, i64 %y.size, align 8
  %z.size = call fastcc i64 @tensor_size()
  %z = alloca i8, i64 %z.size, align 8
  %part.size = call fastcc i64 @tensor_size()
  %part = alloca i8, i64 %part.size, align 8
  %sums.size = call fastcc i64 @ragged_size()
  %sums = alloca i8, i64 %sums.size, align 8
  %at = alloca [2 x i32], align 4
  %d = alloca { i32, i32, i32, i8, i8, i8, i32 }, align 4
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %d, ptr align 16 @ragged, i64 20, i1 false)
  %x.e = alloca [4 x i32], align 4
  %x.s = alloca [4 x i32], align 4
  %x.e0.at = getelementptr inbounds [4 x i32], ptr %x.e, i64 0, i64 0
  store i32 20, ptr %x.e0.at
  %x.e1.at = getelementptr inbounds [4 x i32], ptr %x.e, i64 0, i64 1
  store i32 29, ptr %x.e1.at
  %x.s0.at = getelementptr inbounds [4 x i32], ptr %x.s, i64 0, i64 0
  store i32 1, ptr %x.s0.at
  %x.s1.at = getelementptr inbounds [4 x i32], ptr %x.s, i64 0, i64 1
  store i32 20, ptr %x.s1.at
  call void @air.init_strided_private_tensor.i32.global(ptr nocapture writeonly %x, i16 2, ptr addrspace(1) readnone %a, ptr nocapture readonly %x.e, ptr nocapture readonly %x.s, i8 1)
  %y.e = alloca [4 x i32], align 4
  %y.s = alloca [4 x i32], align 4
  %y.e0.at = getelementptr inbounds [4 x i32], ptr %y.e, i64 0, i64 0
  store i32 20, ptr %y.e0.at
  %y.e1.at = getelementptr inbounds [4 x i32], ptr %y.e, i64 0, i64 1
  store i32 45, ptr %y.e1.at
  %y.s0.at = getelementptr inbounds [4 x i32], ptr %y.s, i64 0, i64 0
  store i32 1, ptr %y.s0.at
  %y.s1.at = getelementptr inbounds [4 x i32], ptr %y.s, i64 0, i64 1
  store i32 20, ptr %y.s1.at
  call void @air.init_strided_private_tensor.i32.global(ptr nocapture writeonly %y, i16 2, ptr addrspace(1) readnone %b, ptr nocapture readonly %y.e, ptr nocapture readonly %y.s, i8 1)
  %z.e = alloca [4 x i32], align 4
  %z.s = alloca [4 x i32], align 4
  %z.e0.at = getelementptr inbounds [4 x i32], ptr %z.e, i64 0, i64 0
  store i32 45, ptr %z.e0.at
  %z.e1.at = getelementptr inbounds [4 x i32], ptr %z.e, i64 0, i64 1
  store i32 29, ptr %z.e1.at
  %z.s0.at = getelementptr inbounds [4 x i32], ptr %z.s, i64 0, i64 0
  store i32 1, ptr %z.s0.at
  %z.s1.at = getelementptr inbounds [4 x i32], ptr %z.s, i64 0, i64 1
  store i32 45, ptr %z.s1.at
  call void @air.init_strided_private_tensor.i32.global(ptr nocapture writeonly %z, i16 2, ptr addrspace(1) readnone %c, ptr nocapture readonly %z.e, ptr nocapture readonly %z.s, i8 1)
  %part.e = alloca [4 x i32], align 4
  %part.s = alloca [4 x i32], align 4
  %part.s0.at = getelementptr inbounds [4 x i32], ptr %part.s, i64 0, i64 0
  store i32 0, ptr %part.s0.at
  %part.s1.at = getelementptr inbounds [4 x i32], ptr %part.s, i64 0, i64 1
  store i32 0, ptr %part.s1.at
  %part.e0.at = getelementptr inbounds [4 x i32], ptr %part.e, i64 0, i64 0
  store i32 48, ptr %part.e0.at
  %part.e1.at = getelementptr inbounds [4 x i32], ptr %part.e, i64 0, i64 1
  store i32 32, ptr %part.e1.at
  call void @air.slice_private_tensor_private_tensor.s.i32(ptr nocapture writeonly %part, ptr nocapture readonly %z, i16 2, ptr nocapture readonly %part.s, ptr nocapture readonly %part.e)
  call void @__tensorops_impl_matmul2d_op_cooperative_destination_tensor_init(i32 32, i32 48, i32 -1, i8 0, i8 1, i8 0, i32 1, ptr %sums, i32 268435472, i32 268435472, i32 268435488, i32 128)
  call void @__tensorops_impl_matmul2d_op_cooperative_destination_tensor_load_dv_f32(i32 32, i32 48, i32 -1, i8 0, i8 1, i8 0, i32 1, ptr %sums, ptr %part, i32 2, i32 2, i32 268435472, i32 268435472, i32 128)
  br label %head
head:
  %i = phi i16 [ 0, %0 ], [ %next, %body ]
  %count = call zeroext i16 @__tensorops_impl_matmul2d_op_cooperative_destination_tensor_num_elements(i32 32, i32 48, i32 -1, i8 0, i8 1, i8 0, i32 1, ptr %sums, i32 268435472, i32 268435472, i32 128)
  %more = icmp ult i16 %i, %count
  br i1 %more, label %body, label %run
body:
  %e = call ptr @__tensorops_impl_matmul2d_op_cooperative_destination_tensor_get_element_pointer(i32 32, i32 48, i32 -1, i8 0, i8 1, i8 0, i32 1, ptr %sums, i16 zeroext %i, i32 268435472, i32 268435472, i32 268435488)
  %valid = call zeroext i1 @__tensorops_impl_matmul2d_op_cooperative_destination_tensor_is_valid_element(i32 32, i32 48, i32 -1, i8 0, i8 1, i8 0, i32 1, ptr %sums, i16 zeroext %i, i32 268435472, i32 268435472, i32 268435488, i32 128)
  call void @__tensorops_impl_matmul2d_op_cooperative_destination_tensor_get_coordinate(i32 32, i32 48, i32 -1, i8 0, i8 1, i8 0, i32 1, ptr %sums, i16 zeroext %i, ptr %at, i32 536870944, i32 128, i32 268435472, i32 268435472, i32 268435488)
  %index = call zeroext i16 @__tensorops_impl_matmul2d_op_cooperative_destination_tensor_get_element_index(i32 32, i32 48, i32 -1, i8 0, i8 1, i8 0, i32 1, ptr %sums, ptr %e, i32 268435472, i32 268435472, i32 268435488)
  %column = load i32, ptr %at
  %same = icmp eq i16 %index, %i
  %good = and i1 %valid, %same
  %number = sitofp i32 %column to float
  %added = select i1 %good, float %number, float 1.0e+06
  %old = load float, ptr %e
  %value = fadd float %old, %added
  store float %value, ptr %e
  %next = add nuw i16 %i, 1
  br label %head
run:
  %all = call ptr @__tensorops_impl_matmul2d_op_cooperative_destination_tensor_get_element_pointer(i32 32, i32 48, i32 -1, i8 0, i8 1, i8 0, i32 1, ptr %sums, i16 zeroext -1, i32 268435472, i32 268435472, i32 268435488)
  call void @__tensorops_impl_matmul2d_op_run_cooperative_dv_f16_dv_f16_f32(ptr %d, ptr %x, i32 2, ptr %y, i32 2, ptr %all, i32 128)
  call void @__tensorops_impl_matmul2d_op_cooperative_destination_tensor_store_dv_f32(i32 32, i32 48, i32 -1, i8 0, i8 1, i8 0, i32 1, ptr %sums, ptr %part, i32 2, i32 268435472, i32 268435472, i32 128)
  ret void
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @air.get_simdgroup_size.i32()
declare i16 @air.get_descriptor_size_tensor(i16, i16)
declare void @air.init_strided_private_tensor.i32.global(ptr nocapture writeonly, i16, ptr addrspace(1) readnone, ptr nocapture readonly, ptr nocapture readonly, i8)
declare void @air.slice_private_tensor_private_tensor.s.i32(ptr nocapture writeonly, ptr nocapture readonly, i16, ptr nocapture readonly, ptr nocapture readonly)
declare void @__tensorops_impl_matmul2d_op_run_cooperative_dv_f16_dv_f16_f32(ptr, ptr, i32, ptr, i32, ptr, i32) convergent section "air.externally_defined"
declare i64 @__tensorops_impl_matmul2d_op_cooperative_destination_data_size(i32, i32, i32, i8, i8, i8, i32, i32, i32, i32, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_matmul2d_op_cooperative_destination_tensor_init(i32, i32, i32, i8, i8, i8, i32, ptr, i32, i32, i32, i32) convergent section "air.externally_defined"
declare ptr @__tensorops_impl_matmul2d_op_cooperative_destination_tensor_get_element_pointer(i32, i32, i32, i8, i8, i8, i32, ptr, i16 zeroext, i32, i32, i32) convergent section "air.externally_defined"
declare zeroext i16 @__tensorops_impl_matmul2d_op_cooperative_destination_tensor_get_element_index(i32, i32, i32, i8, i8, i8, i32, ptr, ptr, i32, i32, i32) convergent section "air.externally_defined"
declare zeroext i16 @__tensorops_impl_matmul2d_op_cooperative_destination_tensor_num_elements(i32, i32, i32, i8, i8, i8, i32, ptr, i32, i32, i32) convergent section "air.externally_defined"
declare zeroext i1 @__tensorops_impl_matmul2d_op_cooperative_destination_tensor_is_valid_element(i32, i32, i32, i8, i8, i8, i32, ptr, i16 zeroext, i32, i32, i32, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_matmul2d_op_cooperative_destination_tensor_get_coordinate(i32, i32, i32, i8, i8, i8, i32, ptr, i16 zeroext, ptr, i32, i32, i32, i32, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_matmul2d_op_cooperative_destination_tensor_load_dv_f32(i32, i32, i32, i8, i8, i8, i32, ptr, ptr, i32, i32, i32, i32, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_matmul2d_op_cooperative_destination_tensor_store_dv_f32(i32, i32, i32, i8, i8, i8, i32, ptr, ptr, i32, i32, i32, i32) convergent section "air.externally_defined"

!air.kernel = !{!5}
!0 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 2, !"air.arg_type_align_size", i32 2, !"air.arg_type_name", !"half", !"air.arg_name", !"b0"}
!1 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 2, !"air.arg_type_align_size", i32 2, !"air.arg_type_name", !"half", !"air.arg_name", !"b1"}
!2 = !{i32 2, !"air.buffer", !"air.location_index", i32 2, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b2"}
!3 = !{!0, !1, !2}
!4 = !{}
!5 = !{ptr @in_memory, !4, !3}

