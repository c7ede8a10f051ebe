; A constant array whose length is stated (`constant long strides[3]`): its size in bytes is more than its type's, and
; all of them are the kernel's.
; // RUN: kernel=strided threads=6 group=6
; // ARG 0: f32[64] = i
; // ARG 1: f32[6]
; // ARG 2: i64 [1 10 30]
; // EXPECT 1: f32 [41 42 43 44 45 46]
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
target triple = "air64_v28-apple-macosx26.0.0"

define void @strided(ptr addrspace(1) %a, ptr addrspace(1) %o, ptr addrspace(2) %s, i32 %i) {
  %w = zext i32 %i to i64
  %x = load i64, ptr addrspace(2) %s, align 8
  %s1 = getelementptr inbounds i64, ptr addrspace(2) %s, i64 1
  %y = load i64, ptr addrspace(2) %s1, align 8
  %s2 = getelementptr inbounds i64, ptr addrspace(2) %s, i64 2
  %z = load i64, ptr addrspace(2) %s2, align 8
  %across = mul i64 %w, %x
  %sum = add i64 %y, %z
  %more = add i64 %across, %sum
  %at = add i64 %more, 1
  %p = getelementptr inbounds float, ptr addrspace(1) %a, i64 %at
  %v = load float, ptr addrspace(1) %p, align 4
  %q = getelementptr inbounds float, ptr addrspace(1) %o, i64 %w
  store float %v, ptr addrspace(1) %q, align 4
  ret void
}

!air.kernel = !{!6}
!0 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b0"}
!1 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b1"}
!2 = !{i32 2, !"air.buffer", !"air.buffer_size", i32 24, !"air.location_index", i32 2, i32 1, !"air.read", !"air.address_space", i32 2, !"air.arg_type_size", i32 8, !"air.arg_type_align_size", i32 8, !"air.arg_type_name", !"long", !"air.arg_name", !"strides"}
!3 = !{i32 3, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"p3"}
!4 = !{!0, !1, !2, !3}
!5 = !{}
!6 = !{ptr @strided, !5, !4}
