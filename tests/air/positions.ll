; Every position and size that a kernel may ask for, as 16 and 32 bits, scalars and vectors.
; // RUN: kernel=positions threads=128 group=64
; // ARG 0: u32[2048]
; // EXPECT 0: u32[2048] = i < 128 ? i % 128 : i < 256 ? (i % 128) % 64 : i < 384 ? idiv(i % 128, 64) : i < 512 ? 64 : i < 640 ? 128 : i < 768 ? 2 : i < 896 ? (i % 128) % 64 : i < 1024 ? (i % 128) % 32 : i < 1152 ? idiv((i % 128) % 64, 32) : i < 1280 ? 2 : i < 1408 ? 32 : i < 1536 ? i % 4 : i < 1664 ? idiv((i % 128) % 32, 4) : i < 1792 ? idiv((i % 128) % 64, 4) : i < 1920 ? 64 : 0
; ModuleID = 'positions'
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
target triple = "air64_v28-apple-macosx26.0.0"


define void @positions(ptr addrspace(1) %o, <3 x i32> %v0, <2 x i16> %v1, <3 x i32> %v2, <2 x i16> %v3, <3 x i32> %v4, <2 x i16> %v5, i32 %v6, i16 %v7, i32 %v8, i16 %v9, i32 %v10, i16 %v11, i32 %v12, i16 %v13, <3 x i32> %v14, <2 x i16> %v15) {
  %me = extractelement <3 x i32> %v0, i64 0
  %w = zext i32 %me to i64
  %e0 = extractelement <3 x i32> %v0, i64 0
  %a0 = add i64 %w, 0
  %q0 = getelementptr inbounds i32, ptr addrspace(1) %o, i64 %a0
  store i32 %e0, ptr addrspace(1) %q0, align 4
  %e1 = extractelement <2 x i16> %v1, i64 0
  %z1 = zext i16 %e1 to i32
  %a1 = add i64 %w, 128
  %q1 = getelementptr inbounds i32, ptr addrspace(1) %o, i64 %a1
  store i32 %z1, ptr addrspace(1) %q1, align 4
  %e2 = extractelement <3 x i32> %v2, i64 0
  %a2 = add i64 %w, 256
  %q2 = getelementptr inbounds i32, ptr addrspace(1) %o, i64 %a2
  store i32 %e2, ptr addrspace(1) %q2, align 4
  %e3 = extractelement <2 x i16> %v3, i64 0
  %z3 = zext i16 %e3 to i32
  %a3 = add i64 %w, 384
  %q3 = getelementptr inbounds i32, ptr addrspace(1) %o, i64 %a3
  store i32 %z3, ptr addrspace(1) %q3, align 4
  %e4 = extractelement <3 x i32> %v4, i64 0
  %a4 = add i64 %w, 512
  %q4 = getelementptr inbounds i32, ptr addrspace(1) %o, i64 %a4
  store i32 %e4, ptr addrspace(1) %q4, align 4
  %e5 = extractelement <2 x i16> %v5, i64 0
  %z5 = zext i16 %e5 to i32
  %a5 = add i64 %w, 640
  %q5 = getelementptr inbounds i32, ptr addrspace(1) %o, i64 %a5
  store i32 %z5, ptr addrspace(1) %q5, align 4
  %a6 = add i64 %w, 768
  %q6 = getelementptr inbounds i32, ptr addrspace(1) %o, i64 %a6
  store i32 %v6, ptr addrspace(1) %q6, align 4
  %z7 = zext i16 %v7 to i32
  %a7 = add i64 %w, 896
  %q7 = getelementptr inbounds i32, ptr addrspace(1) %o, i64 %a7
  store i32 %z7, ptr addrspace(1) %q7, align 4
  %a8 = add i64 %w, 1024
  %q8 = getelementptr inbounds i32, ptr addrspace(1) %o, i64 %a8
  store i32 %v8, ptr addrspace(1) %q8, align 4
  %z9 = zext i16 %v9 to i32
  %a9 = add i64 %w, 1152
  %q9 = getelementptr inbounds i32, ptr addrspace(1) %o, i64 %a9
  store i32 %z9, ptr addrspace(1) %q9, align 4
  %a10 = add i64 %w, 1280
  %q10 = getelementptr inbounds i32, ptr addrspace(1) %o, i64 %a10
  store i32 %v10, ptr addrspace(1) %q10, align 4
  %z11 = zext i16 %v11 to i32
  %a11 = add i64 %w, 1408
  %q11 = getelementptr inbounds i32, ptr addrspace(1) %o, i64 %a11
  store i32 %z11, ptr addrspace(1) %q11, align 4
  %a12 = add i64 %w, 1536
  %q12 = getelementptr inbounds i32, ptr addrspace(1) %o, i64 %a12
  store i32 %v12, ptr addrspace(1) %q12, align 4
  %z13 = zext i16 %v13 to i32
  %a13 = add i64 %w, 1664
  %q13 = getelementptr inbounds i32, ptr addrspace(1) %o, i64 %a13
  store i32 %z13, ptr addrspace(1) %q13, align 4
  %e14 = extractelement <3 x i32> %v14, i64 0
  %a14 = add i64 %w, 1792
  %q14 = getelementptr inbounds i32, ptr addrspace(1) %o, i64 %a14
  store i32 %e14, ptr addrspace(1) %q14, align 4
  %e15 = extractelement <2 x i16> %v15, i64 0
  %z15 = zext i16 %e15 to i32
  %a15 = add i64 %w, 1920
  %q15 = getelementptr inbounds i32, ptr addrspace(1) %o, i64 %a15
  store i32 %z15, ptr addrspace(1) %q15, align 4
  ret void
}


!air.kernel = !{!19}
!0 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"uint", !"air.arg_name", !"b0"}
!1 = !{i32 1, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint3", !"air.arg_name", !"p1"}
!2 = !{i32 2, !"air.thread_position_in_threadgroup", !"air.arg_type_name", !"uint3", !"air.arg_name", !"p2"}
!3 = !{i32 3, !"air.threadgroup_position_in_grid", !"air.arg_type_name", !"uint3", !"air.arg_name", !"p3"}
!4 = !{i32 4, !"air.threads_per_threadgroup", !"air.arg_type_name", !"uint3", !"air.arg_name", !"p4"}
!5 = !{i32 5, !"air.threads_per_grid", !"air.arg_type_name", !"uint3", !"air.arg_name", !"p5"}
!6 = !{i32 6, !"air.threadgroups_per_grid", !"air.arg_type_name", !"uint3", !"air.arg_name", !"p6"}
!7 = !{i32 7, !"air.thread_index_in_threadgroup", !"air.arg_type_name", !"uint", !"air.arg_name", !"p7"}
!8 = !{i32 8, !"air.thread_index_in_simdgroup", !"air.arg_type_name", !"uint", !"air.arg_name", !"p8"}
!9 = !{i32 9, !"air.simdgroup_index_in_threadgroup", !"air.arg_type_name", !"uint", !"air.arg_name", !"p9"}
!10 = !{i32 10, !"air.simdgroups_per_threadgroup", !"air.arg_type_name", !"uint", !"air.arg_name", !"p10"}
!11 = !{i32 11, !"air.threads_per_simdgroup", !"air.arg_type_name", !"uint", !"air.arg_name", !"p11"}
!12 = !{i32 12, !"air.thread_index_in_quadgroup", !"air.arg_type_name", !"uint", !"air.arg_name", !"p12"}
!13 = !{i32 13, !"air.quadgroup_index_in_simdgroup", !"air.arg_type_name", !"uint", !"air.arg_name", !"p13"}
!14 = !{i32 14, !"air.quadgroup_index_in_threadgroup", !"air.arg_type_name", !"uint", !"air.arg_name", !"p14"}
!15 = !{i32 15, !"air.dispatch_threads_per_threadgroup", !"air.arg_type_name", !"uint3", !"air.arg_name", !"p15"}
!16 = !{i32 16, !"air.grid_origin", !"air.arg_type_name", !"uint3", !"air.arg_name", !"p16"}
!17 = !{!0, !1, !2, !3, !4, !5, !6, !7, !8, !9, !10, !11, !12, !13, !14, !15, !16}
!18 = !{}
!19 = !{ptr @positions, !18, !17}
