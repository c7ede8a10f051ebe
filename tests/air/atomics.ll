; Atomics on device and threadgroup memory: integers, floats, compare and exchange; min and max of 64 bits, which give
; nothing back.
; // RUN: kernel=atomics threads=64 group=64
; // ARG 0: u32 [0 1000 0 5 0]
; // ARG 1: f32 [0.5]
; // EXPECT 0: u32 [64 0 63 69 2016]
; // EXPECT 1: f32 [64.5]
; // ARG 2: u64 [7000000000 7000000000 3]
; // EXPECT 2: u64 [7000000063 7000000000 1075838976]
; ModuleID = 'atomics'
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
target triple = "air64_v28-apple-macosx26.0.0"

@count = internal unnamed_addr addrspace(3) global i32 undef, align 4

define void @atomics(ptr addrspace(1) %u, ptr addrspace(1) %f, ptr addrspace(1) %w, i32 %i) {
entry:
  %old = alloca i32, align 4
  %first = icmp eq i32 %i, 0
  br i1 %first, label %zero, label %go
zero:
  call void @air.atomic.local.store.i32(ptr addrspace(3) @count, i32 0, i32 0, i32 1, i1 true)
  br label %go
go:
  call void @air.wg.barrier(i32 2, i32 1)
  %a = call i32 @air.atomic.global.add.u.i32(ptr addrspace(1) %u, i32 1, i32 0, i32 2, i1 true)
  %p1 = getelementptr inbounds i32, ptr addrspace(1) %u, i64 1
  %b = call i32 @air.atomic.global.min.u.i32(ptr addrspace(1) %p1, i32 %i, i32 0, i32 2, i1 true)
  %p2 = getelementptr inbounds i32, ptr addrspace(1) %u, i64 2
  %c = call i32 @air.atomic.global.max.s.i32(ptr addrspace(1) %p2, i32 %i, i32 0, i32 2, i1 true)
  %l = call i32 @air.atomic.local.add.s.i32(ptr addrspace(3) @count, i32 %i, i32 0, i32 1, i1 true)
  %fa = call float @air.atomic.global.add.f32(ptr addrspace(1) %f, float 1.0, i32 0, i32 2, i1 true)
  %wide = zext i32 %i to i64
  %far = add i64 %wide, 7000000000
  call void @air.atomic.global.max.u.i64(ptr addrspace(1) %w, i64 %far, i32 0, i32 2, i1 true)
  %w1 = getelementptr inbounds i64, ptr addrspace(1) %w, i64 1
  call void @air.atomic.global.min.u.i64(ptr addrspace(1) %w1, i64 %far, i32 0, i32 2, i1 true)
  %w2 = getelementptr inbounds i64, ptr addrspace(1) %w, i64 2
  %x = call float @air.atomic.global.xchg.f32(ptr addrspace(1) %w2, float 2.5, i32 0, i32 2, i1 true)
  %p3 = getelementptr inbounds i32, ptr addrspace(1) %u, i64 3
  %start = call i32 @air.atomic.global.load.i32(ptr addrspace(1) %p3, i32 0, i32 2, i1 true)
  store i32 %start, ptr %old, align 4
  br label %try
try:
  %expected = load i32, ptr %old, align 4
  %more = add i32 %expected, 1
  %got = call i32 @air.atomic.global.cmpxchg.weak.i32(ptr addrspace(1) %p3, ptr %old, i32 %more, i32 0, i32 0, i32 2, i1 true)
  %won = icmp eq i32 %got, %expected
  br i1 %won, label %end, label %try
end:
  call void @air.wg.barrier(i32 2, i32 1)
  br i1 %first, label %last, label %done
last:
  %total = call i32 @air.atomic.local.load.i32(ptr addrspace(3) @count, i32 0, i32 1, i1 true)
  %p4 = getelementptr inbounds i32, ptr addrspace(1) %u, i64 4
  call void @air.atomic.global.store.i32(ptr addrspace(1) %p4, i32 %total, i32 0, i32 2, i1 true)
  br label %done
done:
  ret void
}

declare i32 @air.atomic.global.load.i32(ptr addrspace(1), i32, i32, i1)
declare void @air.atomic.global.store.i32(ptr addrspace(1), i32, i32, i32, i1)
declare i32 @air.atomic.local.load.i32(ptr addrspace(3), i32, i32, i1)
declare void @air.atomic.local.store.i32(ptr addrspace(3), i32, i32, i32, i1)
declare i32 @air.atomic.global.add.u.i32(ptr addrspace(1), i32, i32, i32, i1)
declare i32 @air.atomic.global.min.u.i32(ptr addrspace(1), i32, i32, i32, i1)
declare i32 @air.atomic.global.max.s.i32(ptr addrspace(1), i32, i32, i32, i1)
declare i32 @air.atomic.local.add.s.i32(ptr addrspace(3), i32, i32, i32, i1)
declare void @air.atomic.global.max.u.i64(ptr addrspace(1), i64, i32, i32, i1)
declare void @air.atomic.global.min.u.i64(ptr addrspace(1), i64, i32, i32, i1)
declare float @air.atomic.global.xchg.f32(ptr addrspace(1), float, i32, i32, i1)
declare float @air.atomic.global.add.f32(ptr addrspace(1), float, i32, i32, i1)
declare i32 @air.atomic.global.cmpxchg.weak.i32(ptr addrspace(1), ptr, i32, i32, i32, i32, i1)
declare void @air.wg.barrier(i32, i32) convergent nounwind

!air.kernel = !{!5}
!0 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"atomic_uint", !"air.arg_name", !"b0"}
!1 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"atomic_float", !"air.arg_name", !"b1"}
!2 = !{i32 3, !"air.thread_index_in_threadgroup", !"air.arg_type_name", !"uint", !"air.arg_name", !"p3"}
!6 = !{i32 2, !"air.buffer", !"air.location_index", i32 2, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 8, !"air.arg_type_align_size", i32 8, !"air.arg_type_name", !"atomic_ulong", !"air.arg_name", !"b2"}
!3 = !{!0, !1, !6, !2}
!4 = !{}
!5 = !{ptr @atomics, !4, !3}
