; Function constants: a value, one that an initialiser derives, and an argument that is there only if a constant says so.
; // RUN: kernel=scaled threads=4 group=4
; // ARG 0: f32[4] = i
; // ARG 1: f32 [100 200 300 400]
; // CONST factor: f32 = 3
; // CONST has_bias: bool = 1
; // EXPECT 0: f32 [100 206 312 418]
; // RUN: kernel=scaled threads=4 group=4
; // ARG 0: f32[4] = i
; // CONST 7: f32 = 3
; // CONST has_bias: bool = 0
; // EXPECT 0: f32 [0 6 12 18]
; // RUN: kernel=scaled threads=4 group=4
; // ARG 0: f32[4] = i
; // EXPECT-ERROR: needs function constant
; ModuleID = 'constants'
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
target triple = "air64_v28-apple-macosx26.0.0"

@factor = internal addrspace(2) externally_initialized constant float undef, section "air.fc.init", align 4
@has_bias = internal addrspace(2) externally_initialized constant i8 undef, section "air.fc.init", align 1
@twice = internal addrspace(2) global float undef, align 4
@__metal_implicit_fc_pred_0 = internal addrspace(2) global i8 undef, align 1
@llvm.global_ctors = appending global [2 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @init_twice, ptr null }, { i32, ptr, ptr } { i32 65535, ptr @init_pred, ptr null }]

define internal void @init_twice() section "air.static_init" {
  %x = load float, ptr addrspace(2) @factor, align 4
  %y = fmul float %x, 2.0
  store float %y, ptr addrspace(2) @twice, align 4
  ret void
}

define internal void @init_pred() section "air.fc_initializer" {
  %x = load i8, ptr addrspace(2) @has_bias, align 1
  %y = call i8 @air.normalize_function_constant_predicate.i8(i8 %x)
  store i8 %y, ptr addrspace(2) @__metal_implicit_fc_pred_0, align 1
  ret void
}

define void @scaled(ptr addrspace(1) %a, ptr addrspace(1) %bias, i32 %i) {
entry:
  %w = zext i32 %i to i64
  %p = getelementptr inbounds float, ptr addrspace(1) %a, i64 %w
  %x = load float, ptr addrspace(1) %p, align 4
  %s = load float, ptr addrspace(2) @twice, align 4
  %y = fmul float %x, %s
  %h = load i8, ptr addrspace(2) @has_bias, align 1
  %t = icmp ne i8 %h, 0
  br i1 %t, label %with, label %end
with:
  %q = getelementptr inbounds float, ptr addrspace(1) %bias, i64 %w
  %b = load float, ptr addrspace(1) %q, align 4
  br label %end
end:
  %add = phi float [ 0.0, %entry ], [ %b, %with ]
  %z = fadd float %y, %add
  store float %z, ptr addrspace(1) %p, align 4
  ret void
}

declare i8 @air.normalize_function_constant_predicate.i8(i8)

!air.kernel = !{!6}
!air.function_constants = !{!7, !8}
!0 = !{ptr addrspace(2) @__metal_implicit_fc_pred_0, !"bool"}
!1 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b0"}
!2 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b1", !"air.function_constant", !0}
!3 = !{i32 2, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"p2"}
!4 = !{!1, !2, !3}
!5 = !{}
!6 = !{ptr @scaled, !5, !4}
!7 = !{ptr addrspace(2) @factor, !"float", !"factor", i32 7}
!8 = !{ptr addrspace(2) @has_bias, !"bool", !"has_bias", i32 8}
