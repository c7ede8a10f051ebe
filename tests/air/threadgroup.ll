; Threadgroup memory, static and as an argument; barriers; the largest threadgroup.
; // RUN: kernel=reverse threadgroups=2 group=64
; // ARG 0: f32[128] = i
; // TG 0: 256
; // ARG 1: f32[128]
; // EXPECT 1: f32[128] = i + (i < 64 ? 63 - i : 64 + 127 - i)
; // RUN: kernel=reverse threadgroups=1 group=96
; // ARG 0: f32[128] = i
; // TG 0: 384
; // ARG 1: f32[128]
; // EXPECT-ERROR: 64
; ModuleID = 'threadgroup'
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
target triple = "air64_v28-apple-macosx26.0.0"

@shared = internal unnamed_addr addrspace(3) global [64 x float] undef, align 4

define void @reverse(ptr addrspace(1) %a, ptr addrspace(1) %o, ptr addrspace(3) %t, i32 %l, <3 x i32> %g) {
  %g0 = extractelement <3 x i32> %g, i64 0
  %base = mul i32 %g0, 64
  %i = add i32 %base, %l
  %w = zext i32 %i to i64
  %lw = zext i32 %l to i64
  %p = getelementptr inbounds float, ptr addrspace(1) %a, i64 %w
  %x = load float, ptr addrspace(1) %p, align 4
  %s = getelementptr inbounds [64 x float], ptr addrspace(3) @shared, i64 0, i64 %lw
  store float %x, ptr addrspace(3) %s, align 4
  %d = getelementptr inbounds float, ptr addrspace(3) %t, i64 %lw
  store float %x, ptr addrspace(3) %d, align 4
  call void @air.wg.barrier(i32 2, i32 1)
  %rl = sub i32 63, %l
  %rw = zext i32 %rl to i64
  %rs = getelementptr inbounds [64 x float], ptr addrspace(3) @shared, i64 0, i64 %rw
  %y = load float, ptr addrspace(3) %rs, align 4
  %z = load float, ptr addrspace(3) %d, align 4
  %sum = fadd float %y, %z
  %q = getelementptr inbounds float, ptr addrspace(1) %o, i64 %w
  store float %sum, ptr addrspace(1) %q, align 4
  ret void
}

declare void @air.wg.barrier(i32, i32) convergent nounwind

!air.kernel = !{!8}
!0 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b0"}
!1 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b1"}
!2 = !{i32 2, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 3, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b0"}
!3 = !{i32 3, !"air.thread_index_in_threadgroup", !"air.arg_type_name", !"uint", !"air.arg_name", !"p3"}
!4 = !{i32 4, !"air.threadgroup_position_in_grid", !"air.arg_type_name", !"uint3", !"air.arg_name", !"p4"}
!5 = !{!0, !1, !2, !3, !4}
!6 = !{}
!7 = !{!"air.max_work_group_size", i32 64}
!8 = !{ptr @reverse, !6, !5, !7}
