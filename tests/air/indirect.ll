; An argument buffer: a struct of pointers in device memory; constant data by reference; a constant table.
; // RUN: kernel=indirect threads=8 group=8
; // ARG 0: bytes = addr:20 addr:21
; // ARG 20: f32[8] = i
; // ARG 21: f32[8]
; // ARG 1: f32 = 2
; // EXPECT 21: f32[8] = 2 * i + (i % 4 == 3 ? 40 : 10 * (i % 4 + 1))
; ModuleID = 'indirect'
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
target triple = "air64_v28-apple-macosx26.0.0"

@table = internal unnamed_addr addrspace(2) constant [4 x float] [float 10.0, float 20.0, float 30.0, float 40.0], align 4

define void @indirect(ptr addrspace(2) dereferenceable(16) %args, ptr addrspace(2) dereferenceable(4) %by, i32 %i) {
  %w = zext i32 %i to i64
  %in = load ptr addrspace(1), ptr addrspace(2) %args, align 8
  %second = getelementptr inbounds { ptr addrspace(1), ptr addrspace(1) }, ptr addrspace(2) %args, i64 0, i32 1
  %out = load ptr addrspace(1), ptr addrspace(2) %second, align 8
  %f = load float, ptr addrspace(2) %by, align 4
  %p = getelementptr inbounds float, ptr addrspace(1) %in, i64 %w
  %x = load float, ptr addrspace(1) %p, align 4
  %m = and i64 %w, 3
  %tp = getelementptr inbounds [4 x float], ptr addrspace(2) @table, i64 0, i64 %m
  %t = load float, ptr addrspace(2) %tp, align 4
  %y = call float @llvm.fmuladd.f32(float %x, float %f, float %t)
  %q = getelementptr inbounds float, ptr addrspace(1) %out, i64 %w
  store float %y, ptr addrspace(1) %q, align 4
  ret void
}

declare float @llvm.fmuladd.f32(float, float, float)

!air.kernel = !{!5}
!0 = !{i32 0, !"air.indirect_buffer", !"air.buffer_size", i32 16, !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 2, !"air.arg_type_size", i32 16, !"air.arg_type_align_size", i32 16, !"air.arg_type_name", !"Arguments", !"air.arg_name", !"b0"}
!1 = !{i32 1, !"air.buffer", !"air.buffer_size", i32 4, !"air.location_index", i32 1, i32 1, !"air.read", !"air.address_space", i32 2, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"b1"}
!2 = !{i32 2, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"p2"}
!3 = !{!0, !1, !2}
!4 = !{}
!5 = !{ptr @indirect, !4, !3}
