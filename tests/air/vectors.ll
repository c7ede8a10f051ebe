; Functions of vectors are made element by element; dot, all and any give one value.
; // RUN: kernel=vectors threads=4 group=4
; // ARG 0: f32[16] = i - 6
; // ARG 1: f32[24]
; // EXPECT 1: f32[24] = i < 16 ? abs(i - 6) : i < 20 ? sum(j, 0, 4, (4 * (i - 16) + j - 6) * (4 * (i - 16) + j - 6)) : i - 20 >= 2 ? 3 : i == 21 ? 2 : 0
; ModuleID = 'vectors'
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
target triple = "air64_v28-apple-macosx26.0.0"


define void @vectors(ptr addrspace(1) %a, ptr addrspace(1) %o, i32 %i) {
  %w = zext i32 %i to i64
  %p = getelementptr inbounds <4 x float>, ptr addrspace(1) %a, i64 %w
  %x = load <4 x float>, ptr addrspace(1) %p, align 16
  %y = call <4 x float> @air.fabs.v4f32(<4 x float> %x)
  %q = getelementptr inbounds <4 x float>, ptr addrspace(1) %o, i64 %w
  store <4 x float> %y, ptr addrspace(1) %q, align 16
  %d = call float @air.dot.v4f32(<4 x float> %x, <4 x float> %x)
  %i1 = add i64 %w, 16
  %q1 = getelementptr inbounds float, ptr addrspace(1) %o, i64 %i1
  store float %d, ptr addrspace(1) %q1, align 4
  %pos = fcmp ogt <4 x float> %x, zeroinitializer
  %all = call i1 @air.all.v4i1(<4 x i1> %pos)
  %any = call i1 @air.any.v4i1(<4 x i1> %pos)
  %al = select i1 %all, float 1.0, float 0.0
  %an = select i1 %any, float 2.0, float 0.0
  %both = fadd float %al, %an
  %i2 = add i64 %w, 20
  %q2 = getelementptr inbounds float, ptr addrspace(1) %o, i64 %i2
  store float %both, ptr addrspace(1) %q2, align 4
  ret void
}

declare <4 x float> @air.fabs.v4f32(<4 x float>)
declare float @air.dot.v4f32(<4 x float>, <4 x float>)
declare i1 @air.all.v4i1(<4 x i1>)
declare i1 @air.any.v4i1(<4 x i1>)

!air.kernel = !{!5}
!0 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 16, !"air.arg_type_align_size", i32 16, !"air.arg_type_name", !"float4", !"air.arg_name", !"b0"}
!1 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b1"}
!2 = !{i32 2, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"p2"}
!3 = !{!0, !1, !2}
!4 = !{}
!5 = !{ptr @vectors, !4, !3}
