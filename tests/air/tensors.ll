; Metal 4: tensors in memory and cooperative tensors, matmul2d and convolution2d.
; // RUN: kernel=in_memory threads=128 group=128
; // ARG 0: f16[580] = i % 7 - 3
; // ARG 1: f16[900] = i % 5 - 2
; // ARG 2: f32[1305]
; // EXPECT 2: f32[1305] = 1 + sum(k, 0, 20, ((20 * idiv(i, 45) + k) % 7 - 3) * ((20 * (i % 45) + k) % 5 - 2))
; // RUN: kernel=in_registers threads=32 group=32
; // ARG 0: f16[256] = i % 7 - 3
; // ARG 1: f32[512] = i % 5 - 2
; // ARG 2: f32[512]
; // EXPECT 2: f32[512] = sum(k, 0, 16, ((16 * k + idiv(i, 32)) % 7 - 3) * ((32 * k + i % 32) % 5 - 2))
; // RUN: kernel=in_registers threads=32 group=32
; // ARG 0: f16[256] = 1
; // ARG 1: f32[512] = idiv(i, 32) == 0 ? 16777216 : idiv(i, 32) == 2 ? 1 : idiv(i, 32) == 4 ? -16777216 : 0
; // ARG 2: f32[512]
; // EXPECT 2: f32[512] = 0
; // RUN: kernel=layout threads=32 group=32
; // ARG 0: f32[256] = i
; // ARG 2: f32[256]
; // EXPECT 2: f32[256] = 16 * (4 * (i >> 7 & 1) + (i >> 4 & 3) + 2 * (i & 4)) + 8 * (i >> 6 & 1) + 4 * (i >> 3 & 1) + (i & 3)
; // RUN: kernel=integers threads=64 group=64
; // ARG 0: i8[640] = i % 241 - 120
; // ARG 1: u8[640] = i % 255
; // ARG 2: i32[256]
; // EXPECT 2: i32[256] = sum(k, 0, 40, ((40 * idiv(i, 16) + k) % 241 - 120) * ((16 * k + i % 16) % 255))
; // RUN: kernel=convolution threads=64 group=64
; // ARG 0: f32[240] = i % 7 - 3
; // ARG 1: f32[480] = i % 5 - 2
; // ARG 2: f32[256]
; // EXPECT 2: f32[256] = sum(k, 0, 30, (2 * (idiv(i, 16) % 4) + idiv(k % 15, 5) - 1 < 0 || 2 * (idiv(i, 16) % 4) + idiv(k % 15, 5) - 1 >= 8 || idiv(i, 64) + idiv(k, 15) - 1 < 0) ? 0 : ((k % 5 + 5 * (2 * (idiv(i, 16) % 4) + idiv(k % 15, 5) - 1) + 40 * (idiv(i, 64) + idiv(k, 15) - 1)) % 7 - 3) * ((16 * k + i % 16) % 5 - 2))
; ModuleID = 'tensors'
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
target triple = "air64_v28-apple-macosx26.0.0"

@ragged = internal constant { i32, i32, i32, i8, i8, i8, i32 } { i32 32, i32 48, i32 -1, i8 0, i8 1, i8 0, i32 1 }
@turned = internal constant { i32, i32, i32, i8, i8, i8, i32 } { i32 16, i32 32, i32 16, i8 1, i8 0, i8 0, i32 0 }
@plain = internal constant { i32, i32, i32, i8, i8, i8, i32 } { i32 16, i32 16, i32 -1, i8 0, i8 0, i8 0, i32 0 }
@window = internal constant { <4 x i32>, <4 x i32>, <2 x i32>, i32, i32, <2 x i32>, <2 x i32>, i32, i8, i32 } { <4 x i32> <i32 16, i32 4, i32 4, i32 1>, <4 x i32> <i32 5, i32 8, i32 6, i32 1>, <2 x i32> <i32 3, i32 2>, i32 0, i32 0, <2 x i32> <i32 2, i32 1>, <2 x i32> <i32 1, i32 1>, i32 1, i8 1, i32 1 }

define internal fastcc i64 @tensor_size() convergent nounwind {
  %size = call i16 @air.get_descriptor_size_tensor(i16 2, i16 4)
  %wide = zext i16 %size to i64
  ret i64 %wide
}
define internal fastcc i64 @large_tensor_size() convergent nounwind {
  %size = call i16 @air.get_descriptor_size_tensor(i16 4, i16 4)
  %wide = zext i16 %size to i64
  ret i64 %wide
}
define internal fastcc i64 @ragged_size() convergent nounwind noinline {
  %size = call i32 @air.get_simdgroup_size.i32()
  %threads = shl i32 %size, 2
  %bytes = call i64 @__tensorops_impl_matmul2d_op_cooperative_tensor_data_size(i32 2, i32 32, i32 48, i32 -1, i8 0, i8 1, i8 0, i32 1, i32 268435472, i32 268435472, i32 268435488, i32 %threads)
  ret i64 %bytes
}
define internal fastcc i64 @left_size() convergent nounwind noinline {
  %size = call i32 @air.get_simdgroup_size.i32()
  %threads = shl i32 %size, 0
  %bytes = call i64 @__tensorops_impl_matmul2d_op_cooperative_tensor_data_size(i32 0, i32 16, i32 32, i32 16, i8 1, i8 0, i8 0, i32 0, i32 268435472, i32 268435488, i32 268435488, i32 %threads)
  ret i64 %bytes
}
define internal fastcc i64 @right_size() convergent nounwind noinline {
  %size = call i32 @air.get_simdgroup_size.i32()
  %threads = shl i32 %size, 0
  %bytes = call i64 @__tensorops_impl_matmul2d_op_cooperative_tensor_data_size(i32 1, i32 16, i32 32, i32 16, i8 1, i8 0, i8 0, i32 0, i32 268435472, i32 268435488, i32 268435488, i32 %threads)
  ret i64 %bytes
}
define internal fastcc i64 @result_size() convergent nounwind noinline {
  %size = call i32 @air.get_simdgroup_size.i32()
  %threads = shl i32 %size, 0
  %bytes = call i64 @__tensorops_impl_matmul2d_op_cooperative_tensor_data_size(i32 2, i32 16, i32 32, i32 16, i8 1, i8 0, i8 0, i32 0, i32 268435472, i32 268435488, i32 268435488, i32 %threads)
  ret i64 %bytes
}
define internal fastcc i64 @layout_size() convergent nounwind noinline {
  %size = call i32 @air.get_simdgroup_size.i32()
  %threads = shl i32 %size, 0
  %bytes = call i64 @__tensorops_impl_matmul2d_op_cooperative_tensor_data_size(i32 2, i32 16, i32 16, i32 16, i8 0, i8 0, i8 0, i32 0, i32 268435488, i32 268435488, i32 268435488, i32 %threads)
  ret i64 %bytes
}
define internal fastcc i64 @integer_size() convergent nounwind noinline {
  %size = call i32 @air.get_simdgroup_size.i32()
  %threads = shl i32 %size, 1
  %bytes = call i64 @__tensorops_impl_matmul2d_op_cooperative_tensor_data_size(i32 2, i32 16, i32 16, i32 -1, i8 0, i8 0, i8 0, i32 0, i32 536870920, i32 1610612744, i32 536870944, i32 %threads)
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
  call void @__tensorops_impl_matmul2d_op_cooperative_tensor_init(i32 2, i32 32, i32 48, i32 -1, i8 0, i8 1, i8 0, i32 1, ptr %sums, i32 268435472, i32 268435472, i32 268435488, i32 128)
  br label %head
head:
  %i = phi i16 [ 0, %0 ], [ %next, %body ]
  %count = call zeroext i16 @__tensorops_impl_matmul2d_op_cooperative_tensor_num_elements(i32 2, i32 32, i32 48, i32 -1, i8 0, i8 1, i8 0, i32 1, ptr %sums, i32 268435472, i32 268435472, i32 128)
  %more = icmp ult i16 %i, %count
  br i1 %more, label %body, label %run
body:
  %e = call ptr @__tensorops_impl_matmul2d_op_cooperative_tensor_get_element_pointer(i32 2, i32 32, i32 48, i32 -1, i8 0, i8 1, i8 0, i32 1, ptr %sums, i16 zeroext %i, i32 268435472, i32 268435472, i32 268435488)
  store float 1.0, ptr %e
  %next = add nuw i16 %i, 1
  br label %head
run:
  %all = call ptr @__tensorops_impl_matmul2d_op_cooperative_tensor_get_element_pointer(i32 2, i32 32, i32 48, i32 -1, i8 0, i8 1, i8 0, i32 1, ptr %sums, i16 zeroext -1, i32 268435472, i32 268435472, i32 268435488)
  call void @__tensorops_impl_matmul2d_op_run_cooperative_dv_f16_dv_f16_f32(ptr %d, ptr %x, i32 2, ptr %y, i32 2, ptr %all, i32 128)
  call void @__tensorops_impl_matmul2d_op_cooperative_tensor_store_dv_f32(i32 2, i32 32, i32 48, i32 -1, i8 0, i8 1, i8 0, i32 1, ptr %sums, ptr %part, i32 2, i32 268435472, i32 268435472, i32 268435488, i32 128)
  ret void
}

define void @in_registers(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) convergent {
  %x.size = call fastcc i64 @tensor_size()
  %x = alloca i8, i64 %x.size, align 8
  %y.size = call fastcc i64 @tensor_size()
  %y = alloca i8, i64 %y.size, align 8
  %left.size = call fastcc i64 @left_size()
  %left = alloca i8, i64 %left.size, align 8
  %right.size = call fastcc i64 @right_size()
  %right = alloca i8, i64 %right.size, align 8
  %sums.size = call fastcc i64 @result_size()
  %sums = alloca i8, i64 %sums.size, align 8
  %d = alloca { i32, i32, i32, i8, i8, i8, i32 }, align 4
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %d, ptr align 16 @turned, i64 20, i1 false)
  %at = alloca [2 x i32], align 4
  %x.e = alloca [4 x i32], align 4
  %x.s = alloca [4 x i32], align 4
  %x.e0.at = getelementptr inbounds [4 x i32], ptr %x.e, i64 0, i64 0
  store i32 16, ptr %x.e0.at
  %x.e1.at = getelementptr inbounds [4 x i32], ptr %x.e, i64 0, i64 1
  store i32 16, ptr %x.e1.at
  %x.s0.at = getelementptr inbounds [4 x i32], ptr %x.s, i64 0, i64 0
  store i32 1, ptr %x.s0.at
  %x.s1.at = getelementptr inbounds [4 x i32], ptr %x.s, i64 0, i64 1
  store i32 16, ptr %x.s1.at
  call void @air.init_strided_private_tensor.i32.global(ptr nocapture writeonly %x, i16 2, ptr addrspace(1) readnone %a, ptr nocapture readonly %x.e, ptr nocapture readonly %x.s, i8 1)
  %y.e = alloca [4 x i32], align 4
  %y.s = alloca [4 x i32], align 4
  %y.e0.at = getelementptr inbounds [4 x i32], ptr %y.e, i64 0, i64 0
  store i32 32, ptr %y.e0.at
  %y.e1.at = getelementptr inbounds [4 x i32], ptr %y.e, i64 0, i64 1
  store i32 16, ptr %y.e1.at
  %y.s0.at = getelementptr inbounds [4 x i32], ptr %y.s, i64 0, i64 0
  store i32 1, ptr %y.s0.at
  %y.s1.at = getelementptr inbounds [4 x i32], ptr %y.s, i64 0, i64 1
  store i32 32, ptr %y.s1.at
  call void @air.init_strided_private_tensor.i32.global(ptr nocapture writeonly %y, i16 2, ptr addrspace(1) readnone %b, ptr nocapture readonly %y.e, ptr nocapture readonly %y.s, i8 1)
  call void @__tensorops_impl_matmul2d_op_cooperative_tensor_load_dv_f16(i32 0, i32 16, i32 32, i32 16, i8 1, i8 0, i8 0, i32 0, ptr %left, ptr %x, i32 2, i32 2, i32 268435472, i32 268435488, i32 268435488, i32 32)
  call void @__tensorops_impl_matmul2d_op_cooperative_tensor_load_dv_f32(i32 1, i32 16, i32 32, i32 16, i8 1, i8 0, i8 0, i32 0, ptr %right, ptr %y, i32 2, i32 2, i32 268435472, i32 268435488, i32 268435488, i32 32)
  call void @__tensorops_impl_matmul2d_op_run_cooperative_f16_f32_f32(ptr %d, ptr %left, ptr %right, ptr %sums, i32 32)
  br label %head
head:
  %i = phi i16 [ 0, %0 ], [ %next, %more ]
  %valid = call zeroext i1 @__tensorops_impl_matmul2d_op_cooperative_tensor_is_valid_element(i32 2, i32 16, i32 32, i32 16, i8 1, i8 0, i8 0, i32 0, ptr %sums, i16 zeroext %i, i32 268435472, i32 268435488, i32 268435488, i32 32)
  br i1 %valid, label %put, label %more
put:
  call void @__tensorops_impl_matmul2d_op_cooperative_tensor_get_coordinate(i32 2, i32 16, i32 32, i32 16, i8 1, i8 0, i8 0, i32 0, ptr %sums, i16 zeroext %i, ptr %at, i32 536870944, i32 32, i32 268435472, i32 268435488, i32 268435488)
  %column = load i32, ptr %at
  %row.at = getelementptr inbounds [2 x i32], ptr %at, i64 0, i64 1
  %row = load i32, ptr %row.at
  %e = call ptr @__tensorops_impl_matmul2d_op_cooperative_tensor_get_element_pointer(i32 2, i32 16, i32 32, i32 16, i8 1, i8 0, i8 0, i32 0, ptr %sums, i16 zeroext %i, i32 268435472, i32 268435488, i32 268435488)
  %value = load float, ptr %e
  %first = shl i32 %row, 5
  %index = add i32 %first, %column
  %wide = sext i32 %index to i64
  %to = getelementptr inbounds float, ptr addrspace(1) %c, i64 %wide
  store float %value, ptr addrspace(1) %to
  br label %more
more:
  %next = add nuw i16 %i, 1
  %left.over = icmp ult i16 %next, 16
  br i1 %left.over, label %head, label %done
done:
  ret void
}

define void @layout(ptr addrspace(1) %a, ptr addrspace(1) %c, i32 %lane) convergent {
  %x.size = call fastcc i64 @tensor_size()
  %x = alloca i8, i64 %x.size, align 8
  %part.size = call fastcc i64 @layout_size()
  %part = alloca i8, i64 %part.size, align 8
  %x.e = alloca [4 x i32], align 4
  %x.s = alloca [4 x i32], align 4
  %x.e0.at = getelementptr inbounds [4 x i32], ptr %x.e, i64 0, i64 0
  store i32 16, ptr %x.e0.at
  %x.e1.at = getelementptr inbounds [4 x i32], ptr %x.e, i64 0, i64 1
  store i32 16, ptr %x.e1.at
  %x.s0.at = getelementptr inbounds [4 x i32], ptr %x.s, i64 0, i64 0
  store i32 1, ptr %x.s0.at
  %x.s1.at = getelementptr inbounds [4 x i32], ptr %x.s, i64 0, i64 1
  store i32 16, ptr %x.s1.at
  call void @air.init_strided_private_tensor.i32.global(ptr nocapture writeonly %x, i16 2, ptr addrspace(1) readnone %a, ptr nocapture readonly %x.e, ptr nocapture readonly %x.s, i8 1)
  call void @__tensorops_impl_matmul2d_op_cooperative_tensor_load_dv_f32(i32 2, i32 16, i32 16, i32 16, i8 0, i8 0, i8 0, i32 0, ptr %part, ptr %x, i32 2, i32 2, i32 268435488, i32 268435488, i32 268435488, i32 32)
  %first = shl i32 %lane, 3
  br label %head
head:
  %i = phi i16 [ 0, %0 ], [ %next, %head ]
  %e = call ptr @__tensorops_impl_matmul2d_op_cooperative_tensor_get_element_pointer(i32 2, i32 16, i32 16, i32 16, i8 0, i8 0, i8 0, i32 0, ptr %part, i16 zeroext %i, i32 268435488, i32 268435488, i32 268435488)
  %value = load float, ptr %e
  %j = zext i16 %i to i32
  %index = add i32 %first, %j
  %wide = sext i32 %index to i64
  %to = getelementptr inbounds float, ptr addrspace(1) %c, i64 %wide
  store float %value, ptr addrspace(1) %to
  %next = add nuw i16 %i, 1
  %more = icmp ult i16 %next, 8
  br i1 %more, label %head, label %done
done:
  ret void
}

define void @integers(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) convergent {
  %x.size = call fastcc i64 @tensor_size()
  %x = alloca i8, i64 %x.size, align 8
  %y.size = call fastcc i64 @tensor_size()
  %y = alloca i8, i64 %y.size, align 8
  %z.size = call fastcc i64 @tensor_size()
  %z = alloca i8, i64 %z.size, align 8
  %sums.size = call fastcc i64 @integer_size()
  %sums = alloca i8, i64 %sums.size, align 8
  %d = alloca { i32, i32, i32, i8, i8, i8, i32 }, align 4
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %d, ptr align 16 @plain, i64 20, i1 false)
  %x.e = alloca [4 x i32], align 4
  %x.s = alloca [4 x i32], align 4
  %x.e0.at = getelementptr inbounds [4 x i32], ptr %x.e, i64 0, i64 0
  store i32 40, ptr %x.e0.at
  %x.e1.at = getelementptr inbounds [4 x i32], ptr %x.e, i64 0, i64 1
  store i32 16, ptr %x.e1.at
  %x.s0.at = getelementptr inbounds [4 x i32], ptr %x.s, i64 0, i64 0
  store i32 1, ptr %x.s0.at
  %x.s1.at = getelementptr inbounds [4 x i32], ptr %x.s, i64 0, i64 1
  store i32 40, ptr %x.s1.at
  call void @air.init_strided_private_tensor.i32.global(ptr nocapture writeonly %x, i16 2, ptr addrspace(1) readnone %a, ptr nocapture readonly %x.e, ptr nocapture readonly %x.s, i8 1)
  %y.e = alloca [4 x i32], align 4
  %y.s = alloca [4 x i32], align 4
  %y.e0.at = getelementptr inbounds [4 x i32], ptr %y.e, i64 0, i64 0
  store i32 16, ptr %y.e0.at
  %y.e1.at = getelementptr inbounds [4 x i32], ptr %y.e, i64 0, i64 1
  store i32 40, ptr %y.e1.at
  %y.s0.at = getelementptr inbounds [4 x i32], ptr %y.s, i64 0, i64 0
  store i32 1, ptr %y.s0.at
  %y.s1.at = getelementptr inbounds [4 x i32], ptr %y.s, i64 0, i64 1
  store i32 16, ptr %y.s1.at
  call void @air.init_strided_private_tensor.i32.global(ptr nocapture writeonly %y, i16 2, ptr addrspace(1) readnone %b, ptr nocapture readonly %y.e, ptr nocapture readonly %y.s, i8 1)
  %z.e = alloca [4 x i32], align 4
  %z.s = alloca [4 x i32], align 4
  %z.e0.at = getelementptr inbounds [4 x i32], ptr %z.e, i64 0, i64 0
  store i32 16, ptr %z.e0.at
  %z.e1.at = getelementptr inbounds [4 x i32], ptr %z.e, i64 0, i64 1
  store i32 16, ptr %z.e1.at
  %z.s0.at = getelementptr inbounds [4 x i32], ptr %z.s, i64 0, i64 0
  store i32 1, ptr %z.s0.at
  %z.s1.at = getelementptr inbounds [4 x i32], ptr %z.s, i64 0, i64 1
  store i32 16, ptr %z.s1.at
  call void @air.init_strided_private_tensor.i32.global(ptr nocapture writeonly %z, i16 2, ptr addrspace(1) readnone %c, ptr nocapture readonly %z.e, ptr nocapture readonly %z.s, i8 1)
  call void @__tensorops_impl_matmul2d_op_run_cooperative_dv_i8_dv_u8_i32(ptr %d, ptr %x, i32 2, ptr %y, i32 2, ptr %sums, i32 64)
  call void @__tensorops_impl_matmul2d_op_cooperative_tensor_store_dv_i32(i32 2, i32 16, i32 16, i32 -1, i8 0, i8 0, i8 0, i32 0, ptr %sums, ptr %z, i32 2, i32 536870920, i32 1610612744, i32 536870944, i32 64)
  ret void
}

define internal fastcc i64 @convolution_size() convergent nounwind {
  %bytes = call i64 @__tensorops_impl_conv2d_cooperative_destination_data_size(ptr @window, i32 268435488, i32 268435488, i32 268435488, i32 64)
  ret i64 %bytes
}
define void @convolution(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) convergent {
  %x.size = call fastcc i64 @large_tensor_size()
  %x = alloca i8, i64 %x.size, align 8
  %y.size = call fastcc i64 @large_tensor_size()
  %y = alloca i8, i64 %y.size, align 8
  %sums.size = call fastcc i64 @convolution_size()
  %sums = alloca i8, i64 %sums.size, align 8
  %d = alloca { <4 x i32>, <4 x i32>, <2 x i32>, i32, i32, <2 x i32>, <2 x i32>, i32, i8, i32 }, align 16
  %at = alloca [4 x i32], align 4
  %offsets = alloca <2 x i32>, align 8
  store <2 x i32> zeroinitializer, ptr %offsets
  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %d, ptr align 16 @window, i64 80, i1 false)
  %x.e = alloca [4 x i32], align 4
  %x.s = alloca [4 x i32], align 4
  %x.e0.at = getelementptr inbounds [4 x i32], ptr %x.e, i64 0, i64 0
  store i32 5, ptr %x.e0.at
  %x.e1.at = getelementptr inbounds [4 x i32], ptr %x.e, i64 0, i64 1
  store i32 8, ptr %x.e1.at
  %x.e2.at = getelementptr inbounds [4 x i32], ptr %x.e, i64 0, i64 2
  store i32 6, ptr %x.e2.at
  %x.e3.at = getelementptr inbounds [4 x i32], ptr %x.e, i64 0, i64 3
  store i32 1, ptr %x.e3.at
  %x.s0.at = getelementptr inbounds [4 x i32], ptr %x.s, i64 0, i64 0
  store i32 1, ptr %x.s0.at
  %x.s1.at = getelementptr inbounds [4 x i32], ptr %x.s, i64 0, i64 1
  store i32 5, ptr %x.s1.at
  %x.s2.at = getelementptr inbounds [4 x i32], ptr %x.s, i64 0, i64 2
  store i32 40, ptr %x.s2.at
  %x.s3.at = getelementptr inbounds [4 x i32], ptr %x.s, i64 0, i64 3
  store i32 240, ptr %x.s3.at
  call void @air.init_strided_private_tensor.i32.global(ptr nocapture writeonly %x, i16 4, ptr addrspace(1) readnone %a, ptr nocapture readonly %x.e, ptr nocapture readonly %x.s, i8 1)
  %y.e = alloca [4 x i32], align 4
  %y.s = alloca [4 x i32], align 4
  %y.e0.at = getelementptr inbounds [4 x i32], ptr %y.e, i64 0, i64 0
  store i32 16, ptr %y.e0.at
  %y.e1.at = getelementptr inbounds [4 x i32], ptr %y.e, i64 0, i64 1
  store i32 5, ptr %y.e1.at
  %y.e2.at = getelementptr inbounds [4 x i32], ptr %y.e, i64 0, i64 2
  store i32 3, ptr %y.e2.at
  %y.e3.at = getelementptr inbounds [4 x i32], ptr %y.e, i64 0, i64 3
  store i32 2, ptr %y.e3.at
  %y.s0.at = getelementptr inbounds [4 x i32], ptr %y.s, i64 0, i64 0
  store i32 1, ptr %y.s0.at
  %y.s1.at = getelementptr inbounds [4 x i32], ptr %y.s, i64 0, i64 1
  store i32 16, ptr %y.s1.at
  %y.s2.at = getelementptr inbounds [4 x i32], ptr %y.s, i64 0, i64 2
  store i32 80, ptr %y.s2.at
  %y.s3.at = getelementptr inbounds [4 x i32], ptr %y.s, i64 0, i64 3
  store i32 240, ptr %y.s3.at
  call void @air.init_strided_private_tensor.i32.global(ptr nocapture writeonly %y, i16 4, ptr addrspace(1) readnone %b, ptr nocapture readonly %y.e, ptr nocapture readonly %y.s, i8 1)
  call void @__tensorops_impl_conv2d_cooperative_destination_tensor_init(ptr %sums, ptr @window, i32 268435488, i32 268435488, i32 268435488, i32 64)
  br label %clear
clear:
  %k = phi i16 [ 0, %0 ], [ %k.next, %cleared ]
  %count = call zeroext i16 @__tensorops_impl_conv2d_cooperative_destination_tensor_num_elements(ptr @window, ptr %sums, i32 268435488, i32 268435488, i32 268435488, i32 64)
  %more = icmp ult i16 %k, %count
  br i1 %more, label %cleared, label %run
cleared:
  %zero.at = call ptr @__tensorops_impl_conv2d_cooperative_destination_tensor_elements(ptr %sums, i16 zeroext %k, i32 268435488, i32 64)
  store float 0.0, ptr %zero.at
  %k.next = add nuw i16 %k, 1
  br label %clear
run:
  %all = call ptr @__tensorops_impl_conv2d_cooperative_destination_tensor_elements(ptr %sums, i16 zeroext -1, i32 268435488, i32 64)
  call void @__tensorops_impl_convolution2d_op_run_cooperative_dv_f32_dv_f32_f32(ptr %d, ptr %x, i32 2, ptr %y, i32 2, ptr %all, i32 64, ptr %offsets)
  br label %head
head:
  %i = phi i16 [ 0, %run ], [ %next, %skip ]
  %left.over = icmp ult i16 %i, %count
  br i1 %left.over, label %look, label %done
look:
  call void @__tensorops_impl_conv2d_cooperative_destination_tensor_get_coordinate(ptr @window, ptr %sums, i16 zeroext %i, i32 268435488, ptr %at, i32 536870944, i32 268435488, i32 268435488, i32 268435488, i32 64)
  %channel = load i32, ptr %at
  %inside = icmp slt i32 %channel, 16
  br i1 %inside, label %put, label %skip
put:
  %x.at = getelementptr inbounds [4 x i32], ptr %at, i64 0, i64 1
  %x.is = load i32, ptr %x.at
  %y.at = getelementptr inbounds [4 x i32], ptr %at, i64 0, i64 2
  %y.is = load i32, ptr %y.at
  %e = call ptr @__tensorops_impl_conv2d_cooperative_destination_tensor_elements(ptr %sums, i16 zeroext %i, i32 268435488, i32 64)
  %value = load float, ptr %e
  %rows = shl i32 %y.is, 2
  %pixel = add i32 %rows, %x.is
  %first = shl i32 %pixel, 4
  %index = add i32 %first, %channel
  %wide = sext i32 %index to i64
  %to = getelementptr inbounds float, ptr addrspace(1) %c, i64 %wide
  store float %value, ptr addrspace(1) %to
  br label %skip
skip:
  %next = add nuw i16 %i, 1
  br label %head
done:
  call void @__tensorops_impl_conv2d_cooperative_destination_tensor_destory(ptr %sums, ptr @window, i32 64)
  ret void
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @air.get_simdgroup_size.i32()
declare i16 @air.get_descriptor_size_tensor(i16, i16)
declare void @air.init_strided_private_tensor.i32.global(ptr nocapture writeonly, i16, ptr addrspace(1) readnone, ptr nocapture readonly, ptr nocapture readonly, i8)
declare void @air.slice_private_tensor_private_tensor.s.i32(ptr nocapture writeonly, ptr nocapture readonly, i16, ptr nocapture readonly, ptr nocapture readonly)
declare i64 @__tensorops_impl_matmul2d_op_cooperative_tensor_data_size(i32, i32, i32, i32, i8, i8, i8, i32, i32, i32, i32, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_matmul2d_op_cooperative_tensor_init(i32, i32, i32, i32, i8, i8, i8, i32, ptr, i32, i32, i32, i32) convergent section "air.externally_defined"
declare ptr @__tensorops_impl_matmul2d_op_cooperative_tensor_get_element_pointer(i32, i32, i32, i32, i8, i8, i8, i32, ptr, i16 zeroext, i32, i32, i32) convergent section "air.externally_defined"
declare zeroext i16 @__tensorops_impl_matmul2d_op_cooperative_tensor_num_elements(i32, i32, i32, i32, i8, i8, i8, i32, ptr, i32, i32, i32) convergent section "air.externally_defined"
declare zeroext i1 @__tensorops_impl_matmul2d_op_cooperative_tensor_is_valid_element(i32, i32, i32, i32, i8, i8, i8, i32, ptr, i16 zeroext, i32, i32, i32, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_matmul2d_op_cooperative_tensor_get_coordinate(i32, i32, i32, i32, i8, i8, i8, i32, ptr, i16 zeroext, ptr, i32, i32, i32, i32, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_matmul2d_op_cooperative_tensor_load_dv_f16(i32, i32, i32, i32, i8, i8, i8, i32, ptr, ptr, i32, i32, i32, i32, i32, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_matmul2d_op_cooperative_tensor_load_dv_f32(i32, i32, i32, i32, i8, i8, i8, i32, ptr, ptr, i32, i32, i32, i32, i32, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_matmul2d_op_cooperative_tensor_store_dv_f32(i32, i32, i32, i32, i8, i8, i8, i32, ptr, ptr, i32, i32, i32, i32, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_matmul2d_op_cooperative_tensor_store_dv_i32(i32, i32, i32, i32, i8, i8, i8, i32, ptr, ptr, i32, i32, i32, i32, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_matmul2d_op_run_cooperative_dv_f16_dv_f16_f32(ptr, ptr, i32, ptr, i32, ptr, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_matmul2d_op_run_cooperative_dv_i8_dv_u8_i32(ptr, ptr, i32, ptr, i32, ptr, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_matmul2d_op_run_cooperative_f16_f32_f32(ptr, ptr, ptr, ptr, i32) convergent section "air.externally_defined"
declare i64 @__tensorops_impl_conv2d_cooperative_destination_data_size(ptr, i32, i32, i32, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_conv2d_cooperative_destination_tensor_init(ptr, ptr, i32, i32, i32, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_conv2d_cooperative_destination_tensor_destory(ptr, ptr, i32) convergent section "air.externally_defined"
declare zeroext i16 @__tensorops_impl_conv2d_cooperative_destination_tensor_num_elements(ptr, ptr, i32, i32, i32, i32) convergent section "air.externally_defined"
declare ptr @__tensorops_impl_conv2d_cooperative_destination_tensor_elements(ptr, i16 zeroext, i32, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_conv2d_cooperative_destination_tensor_get_coordinate(ptr, ptr, i16 zeroext, i32, ptr, i32, i32, i32, i32, i32) convergent section "air.externally_defined"
declare void @__tensorops_impl_convolution2d_op_run_cooperative_dv_f32_dv_f32_f32(ptr, ptr, i32, ptr, i32, ptr, i32, ptr) convergent section "air.externally_defined"

!air.kernel = !{!5, !11, !17, !23, !29}
!0 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 2, !"air.arg_type_align_size", i32 2, !"air.arg_type_name", !"half", !"air.arg_name", !"b0"}
!1 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 2, !"air.arg_type_align_size", i32 2, !"air.arg_type_name", !"half", !"air.arg_name", !"b1"}
!2 = !{i32 2, !"air.buffer", !"air.location_index", i32 2, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b2"}
!3 = !{!0, !1, !2}
!4 = !{}
!5 = !{ptr @in_memory, !4, !3}
!6 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 2, !"air.arg_type_align_size", i32 2, !"air.arg_type_name", !"half", !"air.arg_name", !"b0"}
!7 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b1"}
!8 = !{i32 2, !"air.buffer", !"air.location_index", i32 2, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b2"}
!9 = !{!6, !7, !8}
!10 = !{}
!11 = !{ptr @in_registers, !10, !9}
!12 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b0"}
!13 = !{i32 1, !"air.buffer", !"air.location_index", i32 2, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b2"}
!14 = !{i32 2, !"air.thread_index_in_simdgroup", !"air.arg_type_name", !"uint", !"air.arg_name", !"lane"}
!15 = !{!12, !13, !14}
!16 = !{}
!17 = !{ptr @layout, !16, !15}
!18 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 1, !"air.arg_type_align_size", i32 1, !"air.arg_type_name", !"char", !"air.arg_name", !"b0"}
!19 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 1, !"air.arg_type_align_size", i32 1, !"air.arg_type_name", !"uchar", !"air.arg_name", !"b1"}
!20 = !{i32 2, !"air.buffer", !"air.location_index", i32 2, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"int", !"air.arg_name", !"b2"}
!21 = !{!18, !19, !20}
!22 = !{}
!23 = !{ptr @integers, !22, !21}
!24 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b0"}
!25 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b1"}
!26 = !{i32 2, !"air.buffer", !"air.location_index", i32 2, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b2"}
!27 = !{!24, !25, !26}
!28 = !{}
!29 = !{ptr @convolution, !28, !27}
