; Operations between the lanes of a SIMD-group, and of a quad; under divergence too.
; // RUN: kernel=lanes threads=64 group=64
; // ARG 0: f32[64] = i
; // ARG 1: f32[448]
; // EXPECT 1: f32[448] = i < 64 ? (i < 32 ? 496 : 1520) : i < 128 ? (i - 64) - (i - 64) % 32 + ((i - 64) % 32 ^ 5) : i < 192 ? sum(j, 0, (i - 128) % 32 + 1, (i - 128) - (i - 128) % 32 + j) : i < 256 ? 4 * idiv(i - 192, 4) + 3 : i < 320 ? 1 : i < 384 ? 4 * (4 * idiv(i - 320, 4)) + 6 : (i - 384) % 2 ? sum(j, 0, 16, (i - 384) - (i - 384) % 32 + 2 * j + 1) : 0
; ModuleID = 'lanes'
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
target triple = "air64_v28-apple-macosx26.0.0"


define void @lanes(ptr addrspace(1) %a, ptr addrspace(1) %o, i32 %i) {
entry:
  %w = zext i32 %i to i64
  %p = getelementptr inbounds float, ptr addrspace(1) %a, i64 %w
  %x = load float, ptr addrspace(1) %p, align 4
  %r0 = call float @air.simd_sum.f32(float %x)
  %i0 = add i64 %w, 0
  %q0 = getelementptr inbounds float, ptr addrspace(1) %o, i64 %i0
  store float %r0, ptr addrspace(1) %q0, align 4
  %r1 = call float @air.simd_shuffle_xor.f32(float %x, i16 5)
  %i1 = add i64 %w, 64
  %q1 = getelementptr inbounds float, ptr addrspace(1) %o, i64 %i1
  store float %r1, ptr addrspace(1) %q1, align 4
  %r2 = call float @air.simd_prefix_inclusive_sum.f32(float %x)
  %i2 = add i64 %w, 128
  %q2 = getelementptr inbounds float, ptr addrspace(1) %o, i64 %i2
  store float %r2, ptr addrspace(1) %q2, align 4
  %r3 = call float @air.quad_max.f32(float %x)
  %i3 = add i64 %w, 192
  %q3 = getelementptr inbounds float, ptr addrspace(1) %o, i64 %i3
  store float %r3, ptr addrspace(1) %q3, align 4
  %n4 = fcmp oge float %x, 0.0
  %b4 = call i1 @air.simd_all(i1 %n4)
  %r4 = uitofp i1 %b4 to float
  %i4 = add i64 %w, 256
  %q4 = getelementptr inbounds float, ptr addrspace(1) %o, i64 %i4
  store float %r4, ptr addrspace(1) %q4, align 4
  %r5 = call float @air.quad_sum.f32(float %x)
  %i5 = add i64 %w, 320
  %q5 = getelementptr inbounds float, ptr addrspace(1) %o, i64 %i5
  store float %r5, ptr addrspace(1) %q5, align 4
  %odd = and i32 %i, 1
  %isodd = icmp ne i32 %odd, 0
  br i1 %isodd, label %then, label %done
then:
  %s = call float @air.simd_sum.f32(float %x)
  br label %done
done:
  %r6 = phi float [ 0.0, %entry ], [ %s, %then ]
  %i6 = add i64 %w, 384
  %q6 = getelementptr inbounds float, ptr addrspace(1) %o, i64 %i6
  store float %r6, ptr addrspace(1) %q6, align 4
  ret void
}

declare float @air.simd_sum.f32(float) convergent nounwind
declare float @air.simd_shuffle_xor.f32(float, i16) convergent nounwind
declare float @air.simd_prefix_inclusive_sum.f32(float) convergent nounwind
declare float @air.quad_max.f32(float) convergent nounwind
declare i1 @air.simd_all(i1) convergent nounwind
declare float @air.quad_sum.f32(float) convergent nounwind

!air.kernel = !{!5}
!0 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b0"}
!1 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b1"}
!2 = !{i32 2, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"p2"}
!3 = !{!0, !1, !2}
!4 = !{}
!5 = !{ptr @lanes, !4, !3}
