; A function constant that is two variables of different types.
; // RUN: kernel=k threads=1 group=1
; // ARG 0: f32[1]
; // EXPECT-ERROR: function constant 0 has two types
; ModuleID = 'constants'
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
target triple = "air64_v28-apple-macosx26.0.0"

@a = internal addrspace(2) externally_initialized constant float undef, section "air.fc.init", align 4
@b = internal addrspace(2) externally_initialized constant i8 undef, section "air.fc.init", align 1

define void @k(ptr addrspace(1) %o) {
  %x = load float, ptr addrspace(2) @a, align 4
  store float %x, ptr addrspace(1) %o, align 4
  ret void
}

!air.kernel = !{!0}
!air.function_constants = !{!4, !5}
!0 = !{ptr @k, !1, !2}
!1 = !{}
!2 = !{!3}
!3 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"o"}
!4 = !{ptr addrspace(2) @a, !"float", !"a", i32 0}
!5 = !{ptr addrspace(2) @b, !"bool", !"b", i32 0}
