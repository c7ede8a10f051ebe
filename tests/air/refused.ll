; What is not there is named: a texture, a function of a newer compiler; a vertex function is listed, but is no kernel.
; // RUN: kernel=reads_texture threads=1 group=1
; // ARG 0: f32[4]
; // EXPECT-ERROR: textures and samplers are
; // RUN: kernel=calls_unknown threads=1 group=1
; // ARG 0: f32[4]
; // EXPECT-ERROR: air.frobnicate.f32
; // RUN: kernel=draws threads=1 group=1
; // ARG 0: f32[4]
; // EXPECT-ERROR: has no kernel "draws"
; ModuleID = 'refused'
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
target triple = "air64_v28-apple-macosx26.0.0"


define void @reads_texture(ptr addrspace(1) %o, ptr addrspace(1) %t) {
  ret void
}

define void @calls_unknown(ptr addrspace(1) %o) {
  %x = load float, ptr addrspace(1) %o, align 4
  %y = call float @air.frobnicate.f32(float %x)
  store float %y, ptr addrspace(1) %o, align 4
  ret void
}

define void @draws() {
  ret void
}

declare float @air.frobnicate.f32(float)

!air.kernel = !{!4, !8}
!air.vertex = !{!11}
!0 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b0"}
!1 = !{i32 1, !"air.texture", !"air.location_index", i32 0, i32 1, !"air.sample", !"air.arg_type_name", !"texture2d<float, sample>", !"air.arg_name", !"t"}
!2 = !{!0, !1}
!3 = !{}
!4 = !{ptr @reads_texture, !3, !2}
!5 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b0"}
!6 = !{!5}
!7 = !{}
!8 = !{ptr @calls_unknown, !7, !6}
!9 = !{}
!10 = !{}
!11 = !{ptr @draws, !10, !9}
