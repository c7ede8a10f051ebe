/*
 * Built-ins across lanes, and atomics, each against a model in C: a small kernel in LLVM IR
 * runs on one SIMD-group with all lanes active and with some.
 */
#include <math.h>

#include "lower_harness.h"

union number {
    uint64_t bits;
    uint16_t b16;
    uint32_t u32;
    int32_t i32;
    uint64_t u64;
    int64_t i64;
    float f32;
};

/* What lanes get: x and index are each lane's inputs, y its result. */
typedef void model_fn(const union number *x, const uint32_t *index, uint32_t mask, union number *y);

struct test_case {
    const char *name;
    const char *type;    /* of x and y */
    const char *declare; /* the built-in */
    const char *body;    /* computes %y from %x, %index and %lane */
    model_fn *model;
};

static const char frame[] =
    "declare ptr addrspace(1) @__ingot_arg_device(i32) memory(none)\n"
    "declare ptr addrspace(6) @__ingot_arg_constant(i32) memory(none)\n"
    "declare ptr addrspace(3) @__ingot_arg_threadgroup(i32) memory(none)\n"
    "declare i32 @__ingot_thread_index_in_simdgroup() memory(none)\n"
    "%s\n"
    "define void @kernel() {\n"
    "entry:\n"
    "  %%in = call ptr addrspace(1) @__ingot_arg_device(i32 0)\n"
    "  %%out = call ptr addrspace(1) @__ingot_arg_device(i32 1)\n"
    "  %%indices = call ptr addrspace(6) @__ingot_arg_constant(i32 2)\n"
    "  %%lane = call i32 @__ingot_thread_index_in_simdgroup()\n"
    "  %%wide = zext i32 %%lane to i64\n"
    "  %%in.at = getelementptr %s, ptr addrspace(1) %%in, i64 %%wide\n"
    "  %%x = load %s, ptr addrspace(1) %%in.at\n"
    "  %%index.at = getelementptr i32, ptr addrspace(6) %%indices, i64 %%wide\n"
    "  %%index = load i32, ptr addrspace(6) %%index.at\n"
    "%s\n"
    "  %%out.at = getelementptr %s, ptr addrspace(1) %%out, i64 %%wide\n"
    "  store %s %%y, ptr addrspace(1) %%out.at\n"
    "  ret void\n"
    "}\n";

static size_t size_of(const char *type) {
    if (!strcmp(type, "i16")) {
        return 2;
    }
    return !strcmp(type, "i64") ? 8 : 4;
}

/* Floats small enough for exact sums and products, and a NaN where it is to be ignored. */
static void fill_inputs(const struct test_case *test, union number *x, uint32_t *index) {
    bool extremes = !strncmp(test->name, "min", 3) || !strncmp(test->name, "max", 3);
    bool product = !strncmp(test->name, "product", 7);
    for (unsigned i = 0; i < LANES; i++) {
        index[i] = (i * 7 + 3) ^ (i << 6);
        x[i].bits = (i * 2654435761u) ^ ((uint64_t)i << 40);
        x[i].bits |= product;
    }
    for (unsigned i = 0; i < LANES && !strcmp(test->type, "float"); i++) {
        x[i].bits = 0;
        x[i].f32 = (float)((int)(i * 37 % 19) - 9) * 0.75f;
        if (product) {
            x[i].f32 = i % 3 ? -2.0f : 0.25f;
        }
        if (extremes && i == 5) {
            x[i].f32 = NAN;
        }
    }
}

static uint32_t undefined; /* a model's lanes that read an inactive one */

static void run_case(const struct test_case *test, const struct igv_target *target, uint32_t mask,
                     bool full_mask) {
    char text[8192];
    snprintf(text, sizeof text, frame, test->declare, test->type, test->type, test->body,
             test->type, test->type);
    struct code code = {0};
    if (!build(test->name, text, target, INGOT_CPU_IDS_ALIGNED, full_mask, &code)) {
        code_free(&code);
        return;
    }
    union number x[LANES], wanted[LANES], got[LANES];
    uint32_t index[LANES];
    size_t size = size_of(test->type);
    memset(wanted, 0, sizeof wanted);
    memset(got, 0, sizeof got);
    fill_inputs(test, x, index);
    memset(memory, 0x5a, sizeof memory);
    memset(threadgroup_memory, 0, sizeof threadgroup_memory);
    for (unsigned i = 0; i < LANES; i++) {
        memcpy(memory[0] + i * size, &x[i], size);
    }
    memcpy(memory[2], index, sizeof index);
    memset(memory[3], 0, sizeof memory[3]);
    struct ingot_cpu_group group = one_simdgroup();
    code.function(&group, 0, mask);
    undefined = 0;
    test->model(x, index, mask, wanted);
    bool same = true;
    for (unsigned i = 0; i < LANES; i++) {
        memcpy(&got[i], memory[1] + i * size, size);
        union number untouched = {0};
        memset(&untouched, 0x5a, size);
        if (!(mask >> i & 1)) {
            wanted[i] = untouched;
        } else if (undefined >> i & 1) {
            continue;
        }
        uint64_t keep = size == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * size) - 1;
        bool both_nan = !strcmp(test->type, "float") && isnan(got[i].f32) && isnan(wanted[i].f32);
        if ((got[i].bits & keep) != (wanted[i].bits & keep) && !both_nan) {
            if (same) {
                fprintf(stderr, "%s, %s, mask %08x%s: lane %u holds %llx, not %llx\n", test->name,
                        target->common.name, mask, full_mask ? " (full)" : "", i,
                        (unsigned long long)(got[i].bits & keep),
                        (unsigned long long)(wanted[i].bits & keep));
            }
            same = false;
        }
    }
    CHECK(same);
    code_free(&code);
}

/* ---- models -------------------------------------------------------------------------------- */
static uint32_t from_lane(const uint32_t *index, unsigned lane) {
    return index[lane] % LANES;
}

static void read_lane(const union number *x, unsigned from, uint32_t mask, union number *y,
                      unsigned to) {
    y[to] = x[from];
    if (!(mask >> from & 1)) {
        undefined |= 1u << to;
    }
}

static void model_shuffle(const union number *x, const uint32_t *index, uint32_t mask,
                          union number *y) {
    for (unsigned i = 0; i < LANES; i++) {
        read_lane(x, from_lane(index, i), mask, y, i);
    }
}

static void model_shuffle_xor5(const union number *x, const uint32_t *index, uint32_t mask,
                               union number *y) {
    (void)index;
    for (unsigned i = 0; i < LANES; i++) {
        read_lane(x, i ^ 5, mask, y, i);
    }
}

static void model_shuffle_up3(const union number *x, const uint32_t *index, uint32_t mask,
                              union number *y) {
    (void)index;
    for (unsigned i = 0; i < LANES; i++) {
        read_lane(x, i < 3 ? i : i - 3, mask, y, i);
    }
}

static void model_broadcast21(const union number *x, const uint32_t *index, uint32_t mask,
                              union number *y) {
    (void)index;
    for (unsigned i = 0; i < LANES; i++) {
        read_lane(x, 21, mask, y, i);
    }
}

static void model_broadcast_first(const union number *x, const uint32_t *index, uint32_t mask,
                                  union number *y) {
    for (unsigned i = 0; i < LANES; i++) {
        read_lane(x, from_lane(index, 0), mask, y, i);
    }
}

static void model_ballot(const union number *x, const uint32_t *index, uint32_t mask,
                         union number *y) {
    (void)index;
    uint32_t bits = 0;
    for (unsigned i = 0; i < LANES; i++) {
        if ((mask >> i & 1) && x[i].i32 > 0) {
            bits |= 1u << i;
        }
    }
    for (unsigned i = 0; i < LANES; i++) {
        y[i].u32 = bits;
    }
}

static void model_active(const union number *x, const uint32_t *index, uint32_t mask,
                         union number *y) {
    (void)x;
    (void)index;
    for (unsigned i = 0; i < LANES; i++) {
        y[i].u32 = mask;
    }
}

#define REDUCE_MODEL(name, T, member, identity, expression)                                        \
    static void name(const union number *x, const uint32_t *index, uint32_t mask,                  \
                     union number *y) {                                                            \
        (void)index;                                                                               \
        T v[LANES];                                                                                \
        for (unsigned i = 0; i < LANES; i++)                                                       \
            v[i] = (mask >> i & 1) ? x[i].member : (identity);                                     \
        for (unsigned half = LANES / 2; half; half /= 2)                                           \
            for (unsigned i = 0; i < half; i++) {                                                  \
                T a = v[i], b = v[i + half];                                                       \
                v[i] = (expression);                                                               \
            }                                                                                      \
        for (unsigned i = 0; i < LANES; i++)                                                       \
            y[i].member = v[0];                                                                    \
    }

REDUCE_MODEL(model_sum_f32, float, f32, -0.0f, a + b)
REDUCE_MODEL(model_sum_u32, uint32_t, u32, 0, a + b)
REDUCE_MODEL(model_sum_u64, uint64_t, u64, 0, a + b)
REDUCE_MODEL(model_product_f32, float, f32, 1.0f, a *b)
REDUCE_MODEL(model_product_u32, uint32_t, u32, 1, a *b)
REDUCE_MODEL(model_product_u64, uint64_t, u64, 1, a *b)
REDUCE_MODEL(model_min_f32, float, f32, NAN, fminf(a, b))
REDUCE_MODEL(model_min_i32, int32_t, i32, INT32_MAX, a < b ? a : b)
REDUCE_MODEL(model_min_u32, uint32_t, u32, UINT32_MAX, a < b ? a : b)
REDUCE_MODEL(model_min_i64, int64_t, i64, INT64_MAX, a < b ? a : b)
REDUCE_MODEL(model_min_u64, uint64_t, u64, UINT64_MAX, a < b ? a : b)
REDUCE_MODEL(model_max_f32, float, f32, NAN, fmaxf(a, b))
REDUCE_MODEL(model_max_i32, int32_t, i32, INT32_MIN, a > b ? a : b)
REDUCE_MODEL(model_max_u32, uint32_t, u32, 0, a > b ? a : b)
REDUCE_MODEL(model_max_i64, int64_t, i64, INT64_MIN, a > b ? a : b)
REDUCE_MODEL(model_max_u64, uint64_t, u64, 0, a > b ? a : b)
REDUCE_MODEL(model_and_u32, uint32_t, u32, UINT32_MAX, a &b)
REDUCE_MODEL(model_or_u32, uint32_t, u32, 0, a | b)
REDUCE_MODEL(model_xor_u32, uint32_t, u32, 0, a ^ b)
REDUCE_MODEL(model_and_u64, uint64_t, u64, UINT64_MAX, a &b)
REDUCE_MODEL(model_or_u64, uint64_t, u64, 0, a | b)
REDUCE_MODEL(model_xor_u64, uint64_t, u64, 0, a ^ b)

/* The floats of fill_inputs are such that every order of additions is exact. */
#define SCAN_MODEL(name, T, member, identity, op, exclusive)                                       \
    static void name(const union number *x, const uint32_t *index, uint32_t mask,                  \
                     union number *y) {                                                            \
        (void)index;                                                                               \
        T sum = (identity);                                                                        \
        for (unsigned i = 0; i < LANES; i++) {                                                     \
            T before = sum;                                                                        \
            if (mask >> i & 1)                                                                     \
                sum = sum op x[i].member;                                                          \
            y[i].member = (exclusive) ? before : sum;                                              \
        }                                                                                          \
    }

SCAN_MODEL(model_inclusive_sum_f32, float, f32, 0, +, false)
SCAN_MODEL(model_exclusive_sum_f32, float, f32, 0, +, true)
SCAN_MODEL(model_inclusive_sum_u32, uint32_t, u32, 0, +, false)
SCAN_MODEL(model_exclusive_sum_u32, uint32_t, u32, 0, +, true)
SCAN_MODEL(model_inclusive_sum_u64, uint64_t, u64, 0, +, false)
SCAN_MODEL(model_exclusive_sum_u64, uint64_t, u64, 0, +, true)
SCAN_MODEL(model_inclusive_product_u32, uint32_t, u32, 1, *, false)
SCAN_MODEL(model_exclusive_product_u32, uint32_t, u32, 1, *, true)
SCAN_MODEL(model_inclusive_product_u64, uint64_t, u64, 1, *, false)
SCAN_MODEL(model_exclusive_product_u64, uint64_t, u64, 1, *, true)

/* Buffer 3 counts from 0: y is what a lane finds there, in ascending order. */
static void model_fetch_add(const union number *x, const uint32_t *index, uint32_t mask,
                            union number *y) {
    model_exclusive_sum_u32(x, index, mask, y);
}

static void model_fetch_sub(const union number *x, const uint32_t *index, uint32_t mask,
                            union number *y) {
    model_exclusive_sum_u32(x, index, mask, y);
    for (unsigned i = 0; i < LANES; i++) {
        y[i].u32 = 0u - y[i].u32;
    }
}

/* One of eight counters each, then what all lanes left in the counter. */
static void model_histogram(const union number *x, const uint32_t *index, uint32_t mask,
                            union number *y) {
    uint32_t counters[8] = {0};
    for (unsigned i = 0; i < LANES; i++) {
        if (mask >> i & 1) {
            counters[index[i] & 7] += x[i].u32;
        }
    }
    for (unsigned i = 0; i < LANES; i++) {
        y[i].u32 = counters[index[i] & 7];
    }
}

static void model_total_max(const union number *x, const uint32_t *index, uint32_t mask,
                            union number *y) {
    (void)index;
    int32_t largest = 0;
    for (unsigned i = 0; i < LANES; i++) {
        if ((mask >> i & 1) && x[i].i32 > largest) {
            largest = x[i].i32;
        }
    }
    for (unsigned i = 0; i < LANES; i++) {
        y[i].i32 = largest;
    }
}

/* Every lane tries to take an empty slot of four; y is 1 for those that got one. */
static void model_take(const union number *x, const uint32_t *index, uint32_t mask,
                       union number *y) {
    (void)x;
    bool taken[4] = {false};
    for (unsigned i = 0; i < LANES; i++) {
        y[i].u32 = !taken[index[i] & 3];
        if (mask >> i & 1) {
            taken[index[i] & 3] = true;
        }
    }
}

/* old is 1 where the slot was taken, so that y = success - old is 1 or -1. */
static void model_take_or_not(const union number *x, const uint32_t *index, uint32_t mask,
                              union number *y) {
    model_take(x, index, mask, y);
    for (unsigned i = 0; i < LANES; i++) {
        y[i].i32 = y[i].u32 ? 1 : -1;
    }
}

static void model_last_store(const union number *x, const uint32_t *index, uint32_t mask,
                             union number *y) {
    (void)index;
    unsigned last = 0;
    for (unsigned i = 0; i < LANES; i++) {
        if (mask >> i & 1) {
            last = i;
        }
    }
    for (unsigned i = 0; i < LANES; i++) {
        y[i] = x[last];
    }
}

static void model_copy(const union number *x, const uint32_t *index, uint32_t mask,
                       union number *y) {
    (void)index;
    (void)mask;
    memcpy(y, x, LANES * sizeof *y);
}

/* ---- cases ---------------------------------------------------------------------------------- */
#define SHUFFLE(suffix, type, index)                                                               \
    "declare " type " @__ingot_simd_shuffle_" suffix "(" type ", i32)",                            \
        "%y = call " type " @__ingot_simd_shuffle_" suffix "(" type " %x, i32 " index ")"
#define LANES_OF(suffix, type, compute)                                                            \
    "declare " type " @__ingot_simd_shuffle_" suffix "(" type ", i32)",                            \
        compute "\n%y = call " type " @__ingot_simd_shuffle_" suffix "(" type " %x, i32 %k)"
#define UNARY(name, type)                                                                          \
    {#name, type, "declare " type " @__ingot_simd_" #name "(" type ")",                            \
     "%y = call " type " @__ingot_simd_" #name "(" type " %x)", model_##name}
#define SCAN(name, type)                                                                           \
    {"prefix_" #name, type, "declare " type " @__ingot_simd_prefix_" #name "(" type ")",           \
     "%y = call " type " @__ingot_simd_prefix_" #name "(" type " %x)", model_##name}
#define XOR5 "%k = xor i32 %lane, 5"
#define UP3                                                                                        \
    "%low = icmp ult i32 %lane, 3\n %less = sub i32 %lane, 3\n"                                    \
    "%k = select i1 %low, i32 %lane, i32 %less"
#define FIRST_INDEX "%k = load i32, ptr addrspace(6) %indices"
#define COUNTERS    "%c = call ptr addrspace(1) @__ingot_arg_device(i32 3)\n"
#define SHARED      "%c = call ptr addrspace(3) @__ingot_arg_threadgroup(i32 1)\n"
#define COUNTER_OF(space)                                                                          \
    "%k = and i32 %index, 7\n %kw = zext i32 %k to i64\n"                                          \
    "%p = getelementptr i32, ptr addrspace(" space ") %c, i64 %kw\n"

static const struct test_case cases[] = {
    {"shuffle b16", "i16", SHUFFLE("b16", "i16", "%index"), model_shuffle},
    {"shuffle b32", "i32", SHUFFLE("b32", "i32", "%index"), model_shuffle},
    {"shuffle b64", "i64", SHUFFLE("b64", "i64", "%index"), model_shuffle},
    {"shuffle f32", "float", SHUFFLE("f32", "float", "%index"), model_shuffle},
    {"shuffle_xor b16", "i16", LANES_OF("b16", "i16", XOR5), model_shuffle_xor5},
    {"shuffle_xor f32", "float", LANES_OF("f32", "float", XOR5), model_shuffle_xor5},
    {"shuffle_xor b64", "i64", LANES_OF("b64", "i64", XOR5), model_shuffle_xor5},
    {"shuffle_up b32", "i32", LANES_OF("b32", "i32", UP3), model_shuffle_up3},
    {"shuffle_up f32", "float", LANES_OF("f32", "float", UP3), model_shuffle_up3},
    {"broadcast b32", "i32", SHUFFLE("b32", "i32", "21"), model_broadcast21},
    {"broadcast b16", "i16", SHUFFLE("b16", "i16", "21"), model_broadcast21},
    {"broadcast uniform f32", "float", LANES_OF("f32", "float", FIRST_INDEX),
     model_broadcast_first},
    {"broadcast uniform b64", "i64", LANES_OF("b64", "i64", FIRST_INDEX), model_broadcast_first},
    {"ballot", "i32", "declare i32 @__ingot_simd_ballot(i1)",
     "%f = icmp sgt i32 %x, 0\n %y = call i32 @__ingot_simd_ballot(i1 %f)", model_ballot},
    {"active mask", "i32", "declare i32 @__ingot_simd_ballot(i1)",
     "%y = call i32 @__ingot_simd_ballot(i1 true)", model_active},
    UNARY(sum_f32, "float"),
    UNARY(sum_u32, "i32"),
    UNARY(sum_u64, "i64"),
    UNARY(product_f32, "float"),
    UNARY(product_u32, "i32"),
    UNARY(product_u64, "i64"),
    UNARY(min_f32, "float"),
    UNARY(min_i32, "i32"),
    UNARY(min_u32, "i32"),
    UNARY(min_i64, "i64"),
    UNARY(min_u64, "i64"),
    UNARY(max_f32, "float"),
    UNARY(max_i32, "i32"),
    UNARY(max_u32, "i32"),
    UNARY(max_i64, "i64"),
    UNARY(max_u64, "i64"),
    UNARY(and_u32, "i32"),
    UNARY(or_u32, "i32"),
    UNARY(xor_u32, "i32"),
    UNARY(and_u64, "i64"),
    UNARY(or_u64, "i64"),
    UNARY(xor_u64, "i64"),
    SCAN(inclusive_sum_f32, "float"),
    SCAN(exclusive_sum_f32, "float"),
    SCAN(inclusive_sum_u32, "i32"),
    SCAN(exclusive_sum_u32, "i32"),
    SCAN(inclusive_sum_u64, "i64"),
    SCAN(exclusive_sum_u64, "i64"),
    SCAN(inclusive_product_u32, "i32"),
    SCAN(exclusive_product_u32, "i32"),
    SCAN(inclusive_product_u64, "i64"),
    SCAN(exclusive_product_u64, "i64"),
    {"fetch_add at one address", "i32", "",
     COUNTERS "%y = atomicrmw add ptr addrspace(1) %c, i32 %x monotonic", model_fetch_add},
    {"fetch_sub at one address", "i32", "",
     COUNTERS "%y = atomicrmw sub ptr addrspace(1) %c, i32 %x monotonic", model_fetch_sub},
    {"fetch_add at one threadgroup address", "i32", "",
     SHARED "%y = atomicrmw add ptr addrspace(3) %c, i32 %x monotonic", model_fetch_add},
    {"fetch_max at one address", "i32", "",
     COUNTERS "%old = atomicrmw max ptr addrspace(1) %c, i32 %x monotonic\n"
              "%y = load atomic i32, ptr addrspace(1) %c monotonic, align 4",
     model_total_max},
    {"device histogram", "i32", "",
     COUNTERS COUNTER_OF("1") "%old = atomicrmw add ptr addrspace(1) %p, i32 %x monotonic\n"
                              "%y = load atomic i32, ptr addrspace(1) %p monotonic, align 4",
     model_histogram},
    {"threadgroup histogram", "i32", "",
     SHARED COUNTER_OF("3") "%old = atomicrmw add ptr addrspace(3) %p, i32 %x monotonic\n"
                            "%y = load atomic i32, ptr addrspace(3) %p monotonic, align 4",
     model_histogram},
    {"ordered loads", "i32", "",
     COUNTERS COUNTER_OF("1") "%old = atomicrmw add ptr addrspace(1) %p, i32 %x seq_cst\n"
                              "fence seq_cst\n"
                              "%y = load atomic i32, ptr addrspace(1) %p seq_cst, align 4",
     model_histogram},
    {"compare-exchange", "i32", "",
     COUNTERS "%k = and i32 %index, 3\n %kw = zext i32 %k to i64\n"
              "%p = getelementptr i32, ptr addrspace(1) %c, i64 %kw\n"
              "%s = cmpxchg weak ptr addrspace(1) %p, i32 0, i32 1 monotonic monotonic\n"
              "%ok = extractvalue { i32, i1 } %s, 1\n %old = extractvalue { i32, i1 } %s, 0\n"
              "%got = zext i1 %ok to i32\n %y = sub i32 %got, %old\n"
              "%unused = add i32 %y, 0",
     model_take_or_not},
    {"threadgroup compare-exchange", "i32", "",
     SHARED "%k = and i32 %index, 3\n %kw = zext i32 %k to i64\n"
            "%p = getelementptr i32, ptr addrspace(3) %c, i64 %kw\n"
            "%s = cmpxchg ptr addrspace(3) %p, i32 0, i32 1 monotonic monotonic\n"
            "%ok = extractvalue { i32, i1 } %s, 1\n %y = zext i1 %ok to i32",
     model_take},
    {"store to one address", "i32", "",
     COUNTERS "store atomic i32 %x, ptr addrspace(1) %c monotonic, align 4\n"
              "%y = load atomic i32, ptr addrspace(1) %c monotonic, align 4",
     model_last_store},
    {"store to each lane's own", "float", "",
     COUNTERS "%p = getelementptr float, ptr addrspace(1) %c, i64 %wide\n"
              "store atomic float %x, ptr addrspace(1) %p monotonic, align 4\n"
              "%y = load atomic float, ptr addrspace(1) %p monotonic, align 4",
     model_copy},
};

static const char *only; /* the cases whose name contains this */

static void test_cases(const struct igv_target *target) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct test_case test = cases[i];
        if (only && !strstr(test.name, only)) {
            continue;
        }
        run_case(&test, target, ~0u, true);
        run_case(&test, target, ~0u, false);
        run_case(&test, target, 0xf00ff10eu, false);
        run_case(&test, target, 0x00000010u, false);
    }
}

int main(int argc, char **argv) {
    only = argc > 1 ? argv[1] : NULL;
    return run_for_targets(test_cases);
}
