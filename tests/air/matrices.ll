; simdgroup_matrix: loads and stores of both versions of AIR, products, filled and diagonal tiles.
; // RUN: kernel=product threads=32 group=32
; // ARG 0: f32[64] = i % 7 - 3
; // ARG 1: f32[64] = i % 5 - 2
; // ARG 2: f32[64]
; // EXPECT 2: f32[64] = sum(k, 0, 8, ((8 * idiv(i, 8) + k) % 7 - 3) * ((8 * k + i % 8) % 5 - 2)) + (idiv(i, 8) == i % 8 ? 2 : 0)
; // RUN: kernel=turned threads=32 group=32
; // ARG 0: f32[64] = i
; // ARG 2: f32[64]
; // EXPECT 2: f32[64] = 8 * (i % 8) + idiv(i, 8) + 0.5
; ModuleID = 'matrices'
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
target triple = "air64_v28-apple-macosx26.0.0"


define void @product(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) {
  %x = call <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(ptr addrspace(1) %a, <2 x i64> <i64 8, i64 8>, <2 x i64> <i64 1, i64 8>, <2 x i64> zeroinitializer)
  %y = call <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(ptr addrspace(1) %b, <2 x i64> <i64 8, i64 8>, <2 x i64> <i64 1, i64 8>, <2 x i64> zeroinitializer)
  %d = call <64 x float> @air.simdgroup_matrix_8x8_init_diag.v64f32.f32(float 2.0)
  %z = call <64 x float> @air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32(<64 x float> %x, <64 x float> %y, <64 x float> %d)
  call void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float> %z, ptr addrspace(1) %c, <2 x i64> <i64 8, i64 8>, <2 x i64> <i64 1, i64 8>, <2 x i64> zeroinitializer)
  ret void
}

define void @turned(ptr addrspace(1) %a, ptr addrspace(1) %c) {
  %x = call <64 x float> @air.simdgroup_matrix_8x8_load.v26.v64f32.p1f32(ptr addrspace(1) %a, i64 8, <2 x i64> zeroinitializer, i1 true)
  %f = call <64 x float> @air.simdgroup_matrix_8x8_init_filled.v64f32.f32(float 0.5)
  %e0 = extractelement <64 x float> %x, i64 0
  %e1 = extractelement <64 x float> %x, i64 1
  %f0 = extractelement <64 x float> %f, i64 0
  %s0 = fadd float %e0, %f0
  %s1 = fadd float %e1, %f0
  %t0 = insertelement <64 x float> undef, float %s0, i64 0
  %t1 = insertelement <64 x float> %t0, float %s1, i64 1
  call void @air.simdgroup_matrix_8x8_store.v26.v64f32.p1f32(<64 x float> %t1, ptr addrspace(1) %c, i64 8, <2 x i64> zeroinitializer, i1 false)
  ret void
}

declare <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(ptr addrspace(1), <2 x i64>, <2 x i64>, <2 x i64>) convergent nounwind
declare <64 x float> @air.simdgroup_matrix_8x8_load.v26.v64f32.p1f32(ptr addrspace(1), i64, <2 x i64>, i1) convergent nounwind
declare void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float>, ptr addrspace(1), <2 x i64>, <2 x i64>, <2 x i64>) convergent nounwind
declare void @air.simdgroup_matrix_8x8_store.v26.v64f32.p1f32(<64 x float>, ptr addrspace(1), i64, <2 x i64>, i1) convergent nounwind
declare <64 x float> @air.simdgroup_matrix_8x8_init_diag.v64f32.f32(float) convergent nounwind
declare <64 x float> @air.simdgroup_matrix_8x8_init_filled.v64f32.f32(float) convergent nounwind
declare <64 x float> @air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32(<64 x float>, <64 x float>, <64 x float>) convergent nounwind

!air.kernel = !{!5, !10}
!0 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b0"}
!1 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b1"}
!2 = !{i32 2, !"air.buffer", !"air.location_index", i32 2, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b2"}
!3 = !{!0, !1, !2}
!4 = !{}
!5 = !{ptr @product, !4, !3}
!6 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b0"}
!7 = !{i32 1, !"air.buffer", !"air.location_index", i32 2, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b2"}
!8 = !{!6, !7}
!9 = !{}
!10 = !{ptr @turned, !9, !8}
