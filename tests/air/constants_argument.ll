; An argument that is there only if a function constant says so, by the constant's own variable.
; // RUN: kernel=direct threads=4 group=4
; // ARG 0: f32[4] = i
; // ARG 1: f32 [100 200 300 400]
; // CONST has_bias: bool = 1
; // EXPECT 0: f32 [100 201 302 403]
; // RUN: kernel=direct threads=4 group=4
; // ARG 0: f32[4] = i
; // CONST has_bias: bool = 0
; // EXPECT 0: f32 [0 1 2 3]
; ModuleID = 'constants_argument'
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
target triple = "air64_v28-apple-macosx26.0.0"

@has_bias = internal addrspace(2) externally_initialized constant i8 undef, section "air.fc.init", align 1

define void @direct(ptr addrspace(1) %a, ptr addrspace(1) %bias, i32 %i) {
entry:
  %w = zext i32 %i to i64
  %p = getelementptr inbounds float, ptr addrspace(1) %a, i64 %w
  %x = load float, ptr addrspace(1) %p, align 4
  %h = load i8, ptr addrspace(2) @has_bias, align 1
  %t = icmp ne i8 %h, 0
  br i1 %t, label %with, label %end
with:
  %q = getelementptr inbounds float, ptr addrspace(1) %bias, i64 %w
  %b = load float, ptr addrspace(1) %q, align 4
  br label %end
end:
  %add = phi float [ 0.0, %entry ], [ %b, %with ]
  %z = fadd float %x, %add
  store float %z, ptr addrspace(1) %p, align 4
  ret void
}

!air.kernel = !{!6}
!air.function_constants = !{!7}
!0 = !{ptr addrspace(2) @has_bias, !"bool"}
!1 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b0"}
!2 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b1", !"air.function_constant", !0}
!3 = !{i32 2, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"p2"}
!4 = !{!1, !2, !3}
!5 = !{}
!6 = !{ptr @direct, !5, !4}
!7 = !{ptr addrspace(2) @has_bias, !"bool", !"has_bias", i32 8}
