/*
 * Positions, simdgroup_matrix tiles, barriers and logs against their definitions.
 */
#include "lower_harness.h"

/* ---- positions ------------------------------------------------------------------------------ */
static const char positions_text[] =
    "declare ptr addrspace(1) @__ingot_arg_device(i32) memory(none)\n"
    "declare i32 @__ingot_thread_index_in_simdgroup() memory(none)\n"
    "declare i32 @__ingot_thread_position_in_grid(i32) memory(none)\n"
    "declare i32 @__ingot_thread_position_in_threadgroup(i32) memory(none)\n"
    "declare i32 @__ingot_threads_per_grid(i32) memory(none)\n"
    "define void @kernel() {\n"
    "  %out = call ptr addrspace(1) @__ingot_arg_device(i32 1)\n"
    "  %lane = call i32 @__ingot_thread_index_in_simdgroup()\n"
    "  %x = call i32 @__ingot_thread_position_in_grid(i32 0)\n"
    "  %y = call i32 @__ingot_thread_position_in_grid(i32 1)\n"
    "  %z = call i32 @__ingot_thread_position_in_grid(i32 2)\n"
    "  %tx = call i32 @__ingot_thread_position_in_threadgroup(i32 0)\n"
    "  %ty = call i32 @__ingot_thread_position_in_threadgroup(i32 1)\n"
    "  %tz = call i32 @__ingot_thread_position_in_threadgroup(i32 2)\n"
    "  %n = call i32 @__ingot_threads_per_grid(i32 0)\n"
    "  %a1 = mul i32 %x, 3\n %a2 = mul i32 %y, 500\n %a3 = mul i32 %z, 70000\n"
    "  %a4 = mul i32 %tx, 11\n %a5 = mul i32 %ty, 13000\n %a6 = mul i32 %tz, 1700000\n"
    "  %b1 = add i32 %a1, %a2\n %b2 = add i32 %a3, %a4\n %b3 = add i32 %a5, %a6\n"
    "  %b4 = add i32 %b1, %b2\n %b5 = add i32 %b3, %b4\n %b6 = add i32 %b5, %n\n"
    "  %wide = zext i32 %lane to i64\n"
    "  %p = getelementptr i32, ptr addrspace(1) %out, i64 %wide\n"
    "  store i32 %b6, ptr addrspace(1) %p\n"
    "  ret void\n"
    "}\n";

static void run_positions(const struct igv_target *target, enum ingot_cpu_ids ids, uint32_t sx,
                          uint32_t sy, uint32_t sz) {
    struct code code = {0};
    struct ingot_cpu_group group = one_simdgroup();
    uint32_t *table = calloc(3 * 1024, sizeof *table);
    if (!table || !build("positions", positions_text, target, ids, true, &code)) {
        free(table);
        code_free(&code);
        return;
    }
    const uint32_t size[3] = {sx, sy, sz}, position[3] = {2, 1, 3};
    memcpy(group.group_size, size, sizeof size);
    memcpy(group.full_group_size, size, sizeof size);
    memcpy(group.group_position, position, sizeof position);
    group.threads_per_grid[0] = 777;
    group.thread_count = sx * sy * sz;
    group.simdgroup_count = (group.thread_count + 31) / 32;
    group.lane_positions = table;
    group.lane_stride = 1024;
    for (uint32_t t = 0; t < group.thread_count; t++) {
        table[t] = t % sx;
        table[1024 + t] = t / sx % sy;
        table[2048 + t] = t / sx / sy;
    }
    bool same = true;
    for (uint32_t s = 0; s < group.simdgroup_count; s++) {
        code.function(&group, s, ~0u);
        for (uint32_t i = 0; i < LANES && s * 32 + i < group.thread_count; i++) {
            uint32_t t = s * 32 + i, got;
            uint32_t tx = t % sx, ty = t / sx % sy, tz = t / sx / sy;
            uint32_t wanted = (2 * sx + tx) * 3 + (sy + ty) * 500 + (3 * sz + tz) * 70000 +
                              tx * 11 + ty * 13000 + tz * 1700000 + 777;
            memcpy(&got, memory[1] + 4 * i, sizeof got);
            if (got != wanted && same) {
                fprintf(stderr,
                        "positions, %s, variant %d, group %u %u %u, thread %u: %u, not %u\n",
                        target->common.name, (int)ids, sx, sy, sz, t, got, wanted);
            }
            same = same && got == wanted;
        }
    }
    CHECK(same);
    free(table);
    code_free(&code);
}

static void test_positions(const struct igv_target *target) {
    static const uint32_t aligned[][3] = {{32, 1, 1}, {1024, 1, 1}, {32, 32, 1}, {96, 5, 2},
                                          {64, 4, 4}, {32, 1, 32},  {480, 2, 1}, {32, 3, 10}};
    for (size_t i = 0; i < sizeof aligned / sizeof *aligned; i++) {
        run_positions(target, INGOT_CPU_IDS_ALIGNED, aligned[i][0], aligned[i][1], aligned[i][2]);
        run_positions(target, INGOT_CPU_IDS_LINEAR, aligned[i][0], aligned[i][1], aligned[i][2]);
    }
    run_positions(target, INGOT_CPU_IDS_LINEAR, 1000, 1, 1);
    run_positions(target, INGOT_CPU_IDS_LINEAR, 7, 1, 1);
    run_positions(target, INGOT_CPU_IDS_GENERAL, 7, 5, 3);
    run_positions(target, INGOT_CPU_IDS_GENERAL, 1, 1, 64);
}

/* ---- matrices -------------------------------------------------------------------------------- */
static const char matrix_text[] =
    "declare ptr addrspace(1) @__ingot_arg_device(i32) memory(none)\n"
    "declare ptr addrspace(3) @__ingot_arg_threadgroup(i32) memory(none)\n"
    "declare i32 @__ingot_simdgroup_load_device_b32(ptr addrspace(1), i64, i1, i32)\n"
    "declare i32 @__ingot_simdgroup_load_threadgroup_b32(ptr addrspace(3), i64, i1, i32)\n"
    "declare void @__ingot_simdgroup_store_device_b32(ptr addrspace(1), i64, i1, i32, i32)\n"
    "declare void @__ingot_simdgroup_store_threadgroup_b32(ptr addrspace(3), i64, i1, i32, i32)\n"
    "declare float @__ingot_simdgroup_mma(float, float, float, float, float, i32)\n"
    "define void @kernel() {\n"
    "  %a = call ptr addrspace(1) @__ingot_arg_device(i32 0)\n"
    "  %d = call ptr addrspace(1) @__ingot_arg_device(i32 1)\n"
    "  %b = call ptr addrspace(1) @__ingot_arg_device(i32 2)\n"
    "  %flags = call ptr addrspace(1) @__ingot_arg_device(i32 3)\n"
    "  %t = call ptr addrspace(3) @__ingot_arg_threadgroup(i32 0)\n"
    "  %flag32 = load i32, ptr addrspace(1) %flags\n"
    "  %flag = icmp ne i32 %flag32, 0\n"
    "  %a0 = call i32 @__ingot_simdgroup_load_device_b32(ptr addrspace(1) %a, i64 12, i1 false, "
    "i32 0)\n"
    "  %a1 = call i32 @__ingot_simdgroup_load_device_b32(ptr addrspace(1) %a, i64 12, i1 false, "
    "i32 1)\n"
    "  %b0 = call i32 @__ingot_simdgroup_load_device_b32(ptr addrspace(1) %b, i64 9, i1 TB, i32 "
    "0)\n"
    "  %b1 = call i32 @__ingot_simdgroup_load_device_b32(ptr addrspace(1) %b, i64 9, i1 TB, i32 "
    "1)\n"
    "  %fa0 = bitcast i32 %a0 to float\n %fa1 = bitcast i32 %a1 to float\n"
    "  %fb0 = bitcast i32 %b0 to float\n %fb1 = bitcast i32 %b1 to float\n"
    "  %d0 = call float @__ingot_simdgroup_mma(float %fa0, float %fa1, float %fb0, float %fb1, "
    "float %fa0, i32 0)\n"
    "  %d1 = call float @__ingot_simdgroup_mma(float %fa0, float %fa1, float %fb0, float %fb1, "
    "float %fa1, i32 1)\n"
    "  %i0 = bitcast float %d0 to i32\n %i1 = bitcast float %d1 to i32\n"
    "  call void @__ingot_simdgroup_store_threadgroup_b32(ptr addrspace(3) %t, i64 8, i1 TD, i32 "
    "%i0, i32 %i1)\n"
    "  %e0 = call i32 @__ingot_simdgroup_load_threadgroup_b32(ptr addrspace(3) %t, i64 8, i1 TD, "
    "i32 0)\n"
    "  %e1 = call i32 @__ingot_simdgroup_load_threadgroup_b32(ptr addrspace(3) %t, i64 8, i1 TD, "
    "i32 1)\n"
    "  call void @__ingot_simdgroup_store_device_b32(ptr addrspace(1) %d, i64 10, i1 TD, i32 %e0, "
    "i32 %e1)\n"
    "  ret void\n"
    "}\n";

/* Replaces TB and TD by the spellings of the two transpositions. */
static void spell(const char *text, const char *tb, const char *td, char *out, size_t size) {
    size_t used = 0;
    while (*text && used + 8 < size) {
        const char *word = !strncmp(text, "TB", 2) ? tb : !strncmp(text, "TD", 2) ? td : NULL;
        if (word) {
            used += (size_t)snprintf(out + used, size - used, "%s", word);
            text += 2;
        } else {
            out[used++] = *text++;
        }
    }
    out[used] = 0;
}

static void run_matrix(const struct igv_target *target, const char *tb, const char *td,
                       uint32_t flag) {
    char text[8192];
    struct code code = {0};
    spell(matrix_text, tb, td, text, sizeof text);
    if (!build("matrix", text, target, INGOT_CPU_IDS_ALIGNED, true, &code)) {
        code_free(&code);
        return;
    }
    float *a = (float *)memory[0], *d = (float *)memory[1], *b = (float *)memory[2];
    for (int i = 0; i < 200; i++) {
        a[i] = (float)(i * 7 % 23) - 11;
        b[i] = (float)(i * 5 % 17) - 8;
        d[i] = -1234;
    }
    memcpy(memory[3], &flag, sizeof flag);
    struct ingot_cpu_group group = one_simdgroup();
    code.function(&group, 0, ~0u);
    bool same = true, flip_b = tb[0] == 't' || (tb[0] == '%' && flag);
    bool flip_d = td[0] == 't' || (td[0] == '%' && flag);
    for (int row = 0; row < 8; row++) {
        for (int column = 0; column < 8; column++) {
            float sum = a[row * 12 + column];
            for (int k = 0; k < 8; k++) {
                sum += a[row * 12 + k] * (flip_b ? b[column * 9 + k] : b[k * 9 + column]);
            }
            same = same && sum == (flip_d ? d[column * 10 + row] : d[row * 10 + column]);
        }
    }
    for (int row = 0; row < 7; row++) {
        same = same && d[row * 10 + 8] == -1234 && d[row * 10 + 9] == -1234;
    }
    if (!same) {
        fprintf(stderr, "matrix, %s, transpose %s, %s, flag %u\n", target->common.name, tb, td,
                flag);
    }
    CHECK(same);
    code_free(&code);
}

static const char half_matrix_text[] =
    "declare ptr addrspace(1) @__ingot_arg_device(i32) memory(none)\n"
    "declare i16 @__ingot_simdgroup_load_device_b16(ptr addrspace(1), i64, i1, i32)\n"
    "declare void @__ingot_simdgroup_store_device_b16(ptr addrspace(1), i64, i1, i16, i16)\n"
    "define void @kernel() {\n"
    "  %a = call ptr addrspace(1) @__ingot_arg_device(i32 0)\n"
    "  %d = call ptr addrspace(1) @__ingot_arg_device(i32 1)\n"
    "  %a0 = call i16 @__ingot_simdgroup_load_device_b16(ptr addrspace(1) %a, i64 11, i1 TB, i32 "
    "0)\n"
    "  %a1 = call i16 @__ingot_simdgroup_load_device_b16(ptr addrspace(1) %a, i64 11, i1 TB, i32 "
    "1)\n"
    "  call void @__ingot_simdgroup_store_device_b16(ptr addrspace(1) %d, i64 8, i1 TD, i16 %a0, "
    "i16 %a1)\n"
    "  ret void\n"
    "}\n";

static void run_half_matrix(const struct igv_target *target, const char *tb, const char *td) {
    char text[4096];
    struct code code = {0};
    spell(half_matrix_text, tb, td, text, sizeof text);
    if (!build("half matrix", text, target, INGOT_CPU_IDS_ALIGNED, true, &code)) {
        code_free(&code);
        return;
    }
    uint16_t *a = (uint16_t *)memory[0], *d = (uint16_t *)memory[1];
    for (int i = 0; i < 100; i++) {
        a[i] = (uint16_t)(i * 311);
    }
    struct ingot_cpu_group group = one_simdgroup();
    code.function(&group, 0, ~0u);
    bool same = true, flip = strcmp(tb, td) != 0;
    for (int i = 0; i < 64; i++) {
        same = same && d[i] == (flip ? a[i % 8 * 11 + i / 8] : a[i / 8 * 11 + i % 8]);
    }
    CHECK(same);
    code_free(&code);
}

static void test_matrices(const struct igv_target *target) {
    static const char *const spellings[] = {"false", "true", "%flag"};
    for (int b = 0; b < 3; b++) {
        for (int d = 0; d < 3; d++) {
            for (uint32_t flag = 0; flag <= (b == 2 || d == 2); flag++) {
                run_matrix(target, spellings[b], spellings[d], flag);
            }
        }
    }
    for (int b = 0; b < 2; b++) {
        for (int d = 0; d < 2; d++) {
            run_half_matrix(target, spellings[b], spellings[d]);
        }
    }
}

/* ---- barriers and logs -------------------------------------------------------------------------
 */
static const char service_text[] =
    "declare ptr addrspace(1) @__ingot_arg_device(i32) memory(none)\n"
    "declare i32 @__ingot_thread_index_in_simdgroup() memory(none)\n"
    "declare void @__ingot_barrier(i32, i32)\n"
    "declare void @__ingot_fence(i32, i32, i32)\n"
    "declare void @__ingot_log(i32, ptr, i32, ptr)\n"
    "@text = private constant [3 x i8] c\"%d\\00\"\n"
    "define void @kernel() {\n"
    "  %args = alloca [2 x i64]\n"
    "  %lane = call i32 @__ingot_thread_index_in_simdgroup()\n"
    "  %wide = zext i32 %lane to i64\n"
    "  store i64 %wide, ptr %args\n"
    "  call void @__ingot_barrier(i32 1, i32 3)\n"
    "  call void @__ingot_fence(i32 1, i32 5, i32 2)\n"
    "  call void @__ingot_log(i32 4, ptr @text, i32 1, ptr %args)\n"
    "  call void @__ingot_barrier(i32 2, i32 3)\n"
    "  ret void\n"
    "}\n";

static void test_services(const struct igv_target *target) {
    struct code code = {0};
    struct ingot_cpu_group group = one_simdgroup();
    if (build("services", service_text, target, INGOT_CPU_IDS_ALIGNED, false, &code)) {
        log_count = 0;
        code.function(&group, 0, 0x00ff0f08u);
        CHECK(barrier_mask == 0x00ff0f08u);
        CHECK(log_count == 13);
        CHECK(log_first == 1000 + 400 + 3);
        CHECK(log_last == 1000 + 400 + 23);
    }
    code_free(&code);
}

static void test_all(const struct igv_target *target) {
    test_positions(target);
    test_matrices(target);
    test_services(target);
}

int main(void) {
    return run_for_targets(test_all);
}
