/* The cases of convert. The operation converts from the run's type to the type f[0] names (0 =
 * float32, 1 = float16, 2 = bfloat16). n[0] to n[3] = shape (n[4] dimensions); flags say how the
 * two sides lie. */
#include "harness/harness.h"

enum { FROM, TO };
enum {
    FROM_TRANSPOSED = 1, /* the last two dimensions exchanged */
    TO_TRANSPOSED = 2,
    FROM_GAPS = 4, /* every second element of rows that are longer */
    FROM_BROADCAST = 8,
    HUGE_STRIDE = 16, /* the outermost stride of `from` passes 2^31 elements */
};

static const struct igh_case cases[] = {
    {.name = "0 to f16", .n = {3, 0, 1, 1, 2}, .f = {1}},
    {.name = "1 to bf16", .n = {1, 1, 1, 1, 1}, .f = {2}},
    {.name = "1027 to f32", .n = {1027, 1, 1, 1, 1}, .f = {0}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "1027 to f16", .n = {1027, 1, 1, 1, 1}, .f = {1}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "1027 to bf16", .n = {1027, 1, 1, 1, 1}, .f = {2}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "5x33x65 from transposed to f32",
     .n = {5, 33, 65, 1, 3},
     .f = {0},
     .flags = FROM_TRANSPOSED},
    {.name = "5x33x65 to transposed bf16",
     .n = {5, 33, 65, 1, 3},
     .f = {2},
     .flags = TO_TRANSPOSED},
    {.name = "3x4x5x7 gaps to f16", .n = {3, 4, 5, 7, 4}, .f = {1}, .flags = FROM_GAPS},
    {.name = "17x100 broadcast to f32", .n = {17, 100, 1, 1, 2}, .flags = FROM_BROADCAST},
    {.name = "2x64 far apart to f32", .n = {2, 64, 1, 1, 2}, .flags = HUGE_STRIDE},
    {.name = "1M to f32", .n = {1 << 20, 1, 1, 1, 1}, .uses = IGH_CHECK | IGH_BENCH | IGH_TUNE},
    {.name = "1M to bf16", .n = {1 << 20, 1, 1, 1, 1}, .f = {2}, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "1024x1024 from transposed to f32",
     .n = {1024, 1024, 1, 1, 2},
     .flags = FROM_TRANSPOSED,
     .uses = IGH_CHECK | IGH_BENCH | IGH_TUNE},
};

static ingot_scalar_type target_type(const struct igh_run *run) {
    static const ingot_scalar_type types[] = {INGOT_SCALAR_F32, INGOT_SCALAR_F16,
                                              INGOT_SCALAR_BF16};
    return types[(int)run->test->f[0]];
}

/* Dense strides of the shape, with the last two dimensions laid out the other way round. */
static void transposed_strides(const int64_t *shape, uint32_t rank, int64_t *strides) {
    strides[rank - 2] = 1;
    strides[rank - 1] = shape[rank - 2];
    int64_t stride = shape[rank - 1] * shape[rank - 2];
    for (uint32_t i = rank - 2; i-- > 0; stride *= shape[i]) {
        strides[i] = stride;
    }
}

static void declare(struct igh_run *run) {
    const struct igh_case *c = run->test;
    const uint32_t rank = (uint32_t)c->n[4];
    int64_t strides[4];
    igh_input(run, FROM, "from", run->type, rank, c->n, (struct igh_fill){IGH_NORMAL, 0, 1});
    igh_output(run, TO, "to", target_type(run), rank, c->n);
    if (c->flags & (FROM_TRANSPOSED | TO_TRANSPOSED)) {
        transposed_strides(c->n, rank, strides);
        igh_strides(run, c->flags & FROM_TRANSPOSED ? FROM : TO, strides, 3);
    }
    if (c->flags & FROM_GAPS) {
        int64_t stride = 2;
        for (uint32_t i = rank; i-- > 0; stride *= c->n[i] + 1) {
            strides[i] = stride;
        }
        igh_strides(run, FROM, strides, 5);
    }
    if (c->flags & FROM_BROADCAST) {
        igh_strides(run, FROM, (const int64_t[]){0, 1}, 0);
    }
    if (c->flags & HUGE_STRIDE) {
        igh_strides(run, FROM, (const int64_t[]){((int64_t)1 << 31) + 5, 1}, 1);
    }
}

static ingot_status launch(struct igh_run *run) {
    const ingot_convert_desc desc = {.from = igh_tensor(run, FROM), .to = igh_tensor(run, TO)};
    return ingot_op_convert(run->ops, run->stream, &desc);
}

static void reference(struct igh_run *run) {
    const double *from = igh_values(run, FROM);
    double *to = igh_expected(run, TO);
    const int64_t n = igh_count(run, TO);
    /* Rows that are the same memory hold what was put there last. */
    const int64_t row = run->test->flags & FROM_BROADCAST ? run->test->n[1] : n;
    for (int64_t i = 0; i < n; i++) {
        to[i] = from[n - row + i % row];
    }
}

static void cost(const struct igh_run *run, double *bytes, double *flops) {
    *bytes = (double)igh_count(run, TO) * ((run->type == INGOT_SCALAR_F32 ? 4 : 2) +
                                           (target_type(run) == INGOT_SCALAR_F32 ? 4 : 2));
    *flops = 0;
}

static const struct igh_suite convert = {
    .operation = "convert",
    .types = IGH_FLOATS,
    IGH_CASES(cases),
    .size_names = (const char *const[]){"n0", "n1", "n2", "n3", "rank", NULL},
    .number_names = (const char *const[]){"target", NULL},
    .flag_names = (const char *const[]){"from transposed", "to transposed", "gaps", "broadcast",
                                        "huge stride", NULL},
    .declare = declare,
    .launch = launch,
    .reference = reference,
    .cost = cost,
};

static const struct igh_suite *const suites[] = {&convert};
const struct igh_suites igh_suites_convert = {suites, 1};
