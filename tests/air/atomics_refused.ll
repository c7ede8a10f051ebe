; Atomics that Metal does not have are refused by name, whatever a file declares.
; // RUN: kernel=bitwise threads=1 group=1
; // ARG 0: f32[1]
; // EXPECT-ERROR: air.atomic.global.and.f32
; ModuleID = 'atomics_refused'
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
target triple = "air64_v28-apple-macosx26.0.0"

define void @bitwise(ptr addrspace(1) %f) {
  %x = call float @air.atomic.global.and.f32(ptr addrspace(1) %f, float 1.0, i32 0, i32 2, i1 true)
  ret void
}

declare float @air.atomic.global.and.f32(ptr addrspace(1), float, i32, i32, i1)

!air.kernel = !{!3}
!0 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"atomic_float", !"air.arg_name", !"b0"}
!1 = !{!0}
!2 = !{}
!3 = !{ptr @bitwise, !2, !1}
