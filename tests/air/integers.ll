; Functions of integers, and conversions between all kinds of numbers.
; // RUN: kernel=integers threads=4 group=4
; // ARG 0: u32 [7 4096 4294967295 1]
; // ARG 1: u32[28]
; // EXPECT 1: u32 [29 19 0 31  3 1 32 1  4294967288 4294963199 0 4294967294  3 2048 2147483647 0  7 4096 127 1  7 4096 4294967168 1  1 1 1 1]
; ModuleID = 'integers'
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
target triple = "air64_v28-apple-macosx26.0.0"


define void @integers(ptr addrspace(1) %a, ptr addrspace(1) %o, i32 %i) {
  %w = zext i32 %i to i64
  %p = getelementptr inbounds i32, ptr addrspace(1) %a, i64 %w
  %x = load i32, ptr addrspace(1) %p, align 4
  %r0 = call i32 @air.clz.i32(i32 %x, i1 false)
  %i0 = add i64 %w, 0
  %q0 = getelementptr inbounds i32, ptr addrspace(1) %o, i64 %i0
  store i32 %r0, ptr addrspace(1) %q0, align 4
  %r1 = call i32 @air.popcount.i32(i32 %x)
  %i1 = add i64 %w, 4
  %q1 = getelementptr inbounds i32, ptr addrspace(1) %o, i64 %i1
  store i32 %r1, ptr addrspace(1) %q1, align 4
  %r2 = xor i32 %x, -1
  %i2 = add i64 %w, 8
  %q2 = getelementptr inbounds i32, ptr addrspace(1) %o, i64 %i2
  store i32 %r2, ptr addrspace(1) %q2, align 4
  %r3 = call i32 @air.mul_hi.u.i32(i32 %x, i32 -2147483648)
  %i3 = add i64 %w, 12
  %q3 = getelementptr inbounds i32, ptr addrspace(1) %o, i64 %i3
  store i32 %r3, ptr addrspace(1) %q3, align 4
  %s4 = trunc i32 %x to i16
  %m4 = call i16 @air.min.s.i16(i16 %s4, i16 4096)
  %f4 = call float @air.convert.f.f32.s.i16(i16 %m4)
  %g4 = call float @air.fabs.f32(float %f4)
  %u4 = call i32 @air.convert.u.i32.f.f32(float %g4)
  %k4 = icmp eq i32 %x, -1
  %r4 = select i1 %k4, i32 127, i32 %u4
  %i4 = add i64 %w, 16
  %q4 = getelementptr inbounds i32, ptr addrspace(1) %o, i64 %i4
  store i32 %r4, ptr addrspace(1) %q4, align 4
  %d5 = call float @air.convert.f.f32.u.i32(i32 %x)
  %c5 = call i8 @air.convert.s.i8.u.i32(i32 %x)
  %k5 = icmp eq i32 %x, -1
  %e5 = sext i8 -128 to i32
  %v5 = call i32 @air.convert.u.i32.f.f32(float %d5)
  %z5 = sext i8 %c5 to i32
  %n5 = icmp eq i32 %z5, -1
  %b5 = and i1 %k5, %n5
  %r5 = select i1 %b5, i32 %e5, i32 %v5
  %i5 = add i64 %w, 20
  %q5 = getelementptr inbounds i32, ptr addrspace(1) %o, i64 %i5
  store i32 %r5, ptr addrspace(1) %q5, align 4
  %b6 = call i1 @air.convert.u.i1.u.i32(i32 %x)
  %r6 = call i32 @air.convert.u.i32.u.i1(i1 %b6)
  %i6 = add i64 %w, 24
  %q6 = getelementptr inbounds i32, ptr addrspace(1) %o, i64 %i6
  store i32 %r6, ptr addrspace(1) %q6, align 4
  ret void
}

declare i32 @air.clz.i32(i32, i1)
declare i32 @air.popcount.i32(i32)
declare i32 @air.mul_hi.u.i32(i32, i32)
declare i16 @air.min.s.i16(i16, i16)
declare float @air.convert.f.f32.s.i16(i16)
declare float @air.fabs.f32(float)
declare i32 @air.convert.u.i32.f.f32(float)
declare float @air.convert.f.f32.u.i32(i32)
declare i8 @air.convert.s.i8.u.i32(i32)
declare i1 @air.convert.u.i1.u.i32(i32)
declare i32 @air.convert.u.i32.u.i1(i1)

!air.kernel = !{!5}
!0 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"uint", !"air.arg_name", !"b0"}
!1 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"uint", !"air.arg_name", !"b1"}
!2 = !{i32 2, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"p2"}
!3 = !{!0, !1, !2}
!4 = !{}
!5 = !{ptr @integers, !4, !3}
