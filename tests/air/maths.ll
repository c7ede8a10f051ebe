; Functions of one, two and three floats, precise and fast; halves.
; // RUN: kernel=maths threads=8 group=8
; // ARG 0: f32[8] = 0.5 + i
; // ARG 1: f32[48]
; // EXPECT 1: f32[48] = i < 8 ? sqrt(0.5 + i) : i < 16 ? exp(0.5 + i - 8) : i < 24 ? atan2(0.5 + i - 16, 2) : i < 32 ? 2 * (0.5 + i - 24) + 1 : i < 40 ? f16(sin(f16(0.5 + i - 32))) : min(max(0.5 + i - 40, 1), 3) ; rel=4e-6 tol=1e-3
; ModuleID = 'maths'
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
target triple = "air64_v28-apple-macosx26.0.0"


define void @maths(ptr addrspace(1) noundef "air-buffer-no-alias" %a, ptr addrspace(1) noundef "air-buffer-no-alias" %o, i32 noundef %i) {
  %w = zext i32 %i to i64
  %p = getelementptr inbounds float, ptr addrspace(1) %a, i64 %w
  %x = load float, ptr addrspace(1) %p, align 4
  %r0 = call float @air.sqrt.f32(float %x)
  %i0 = add i64 %w, 0
  %q0 = getelementptr inbounds float, ptr addrspace(1) %o, i64 %i0
  store float %r0, ptr addrspace(1) %q0, align 4
  %r1 = call float @air.fast_exp.f32(float %x)
  %i1 = add i64 %w, 8
  %q1 = getelementptr inbounds float, ptr addrspace(1) %o, i64 %i1
  store float %r1, ptr addrspace(1) %q1, align 4
  %r2 = call float @air.atan2.f32(float %x, float 2.0)
  %i2 = add i64 %w, 16
  %q2 = getelementptr inbounds float, ptr addrspace(1) %o, i64 %i2
  store float %r2, ptr addrspace(1) %q2, align 4
  %r3 = call float @llvm.fmuladd.f32(float %x, float 2.0, float 1.0)
  %i3 = add i64 %w, 24
  %q3 = getelementptr inbounds float, ptr addrspace(1) %o, i64 %i3
  store float %r3, ptr addrspace(1) %q3, align 4
  %h = fptrunc float %x to half
  %hs = call half @air.sin.f16(half %h)
  %r4 = fpext half %hs to float
  %i4 = add i64 %w, 32
  %q4 = getelementptr inbounds float, ptr addrspace(1) %o, i64 %i4
  store float %r4, ptr addrspace(1) %q4, align 4
  %r5 = call float @air.clamp.f32(float %x, float 1.0, float 3.0)
  %i5 = add i64 %w, 40
  %q5 = getelementptr inbounds float, ptr addrspace(1) %o, i64 %i5
  store float %r5, ptr addrspace(1) %q5, align 4
  ret void
}

declare float @air.sqrt.f32(float)
declare float @air.fast_exp.f32(float)
declare float @air.atan2.f32(float, float)
declare float @llvm.fmuladd.f32(float, float, float)
declare half @air.sin.f16(half)
declare float @air.clamp.f32(float, float, float)

!air.kernel = !{!5}
!0 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b0"}
!1 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b1"}
!2 = !{i32 2, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"p2"}
!3 = !{!0, !1, !2}
!4 = !{}
!5 = !{ptr @maths, !4, !3}
