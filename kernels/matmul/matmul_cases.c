/* The cases of matmul: sizes, layouts, epilogues; the reference is three loops in double. */
#include <math.h>

#include "harness/harness.h"

enum { A, B, BIAS, OUT };
enum { BATCH, M, N, K, GAP };
enum {
    TURN_A = 1, /* a is [k, m] */
    TURN_B = 2, /* b is [n, k] */
    WITH_BIAS = 4,
    ONE_A = 8, /* one a for the whole batch */
    ONE_B = 16,
    VIEW_A = 32, /* a is a transposed view: its strides say so, the descriptor does not */
    FAR = 64,    /* the batch of a is 2^31 elements apart */
    ODD = 128,   /* all matrices begin at their buffer's second element */
};

#define NONE      INGOT_EPILOGUE_NONE
#define RELU      INGOT_EPILOGUE_RELU
#define SILU      INGOT_EPILOGUE_SILU
#define GELU      INGOT_EPILOGUE_GELU
#define GELU_TANH INGOT_EPILOGUE_GELU_TANH
#define TUNED     (IGH_BENCH | IGH_TUNE)

static const struct igh_case cases[] = {
    {.name = "1x1x1", .n = {1, 1, 1, 1}},
    {.name = "0 rows", .n = {1, 0, 5, 3}},
    {.name = "0 columns", .n = {1, 4, 0, 3}},
    {.name = "k = 0", .n = {1, 5, 37, 0}},
    {.name = "k = 0, bias and gelu", .n = {1, 5, 37, 0}, .f = {GELU}, .flags = WITH_BIAS},
    {.name = "batch of 0", .n = {0, 4, 5, 6}},
    {.name = "8x8x8", .n = {1, 8, 8, 8}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "7x9x11", .n = {1, 7, 9, 11}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "7x9x11 tt", .n = {1, 7, 9, 11}, .flags = TURN_A | TURN_B},
    {.name = "33x65x31", .n = {1, 33, 65, 31}},
    {.name = "33x65x31 tn", .n = {1, 33, 65, 31}, .flags = TURN_A},
    {.name = "33x65x31 nt", .n = {1, 33, 65, 31}, .flags = TURN_B},
    {.name = "33x65x31 tt", .n = {1, 33, 65, 31}, .flags = TURN_A | TURN_B},
    {.name = "128x96x64", .n = {1, 128, 96, 64}},
    {.name = "256x192x128", .n = {1, 256, 192, 128}},
    {.name = "300x200x150", .n = {1, 300, 200, 150}, .flags = WITH_BIAS},
    {.name = "300x200x150 tn", .n = {1, 300, 200, 150}, .flags = TURN_A},
    {.name = "300x200x150 nt silu",
     .n = {1, 300, 200, 150},
     .f = {SILU},
     .flags = TURN_B | WITH_BIAS},
    {.name = "300x200x150 tt", .n = {1, 300, 200, 150}, .flags = TURN_A | TURN_B},
    {.name = "300x500x129 relu", .n = {1, 300, 500, 129}, .f = {RELU}, .flags = TURN_B},
    {.name = "130x500x130 gelu", .n = {1, 130, 500, 130}, .f = {GELU}, .flags = WITH_BIAS},
    {.name = "257x289x65 gelu_tanh", .n = {1, 257, 289, 65}, .f = {GELU_TANH}, .flags = WITH_BIAS},
    {.name = "60x1700x40",
     .n = {1, 60, 1700, 40},
     .flags = WITH_BIAS,
     .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "60x1700x41 nt silu", .n = {1, 60, 1700, 41}, .f = {SILU}, .flags = TURN_B},
    {.name = "57x1701x43 tt", .n = {1, 57, 1701, 43}, .flags = TURN_A | TURN_B},
    {.name = "64x70x1100 tn", .n = {1, 64, 70, 1100}, .flags = TURN_A},
    {.name = "200x13x90", .n = {1, 200, 13, 90}, .flags = WITH_BIAS},
    {.name = "13x200x90 nt gelu", .n = {1, 13, 200, 90}, .f = {GELU}, .flags = TURN_B | WITH_BIAS},
    {.name = "40x200x90 nt",
     .n = {1, 40, 200, 90},
     .flags = TURN_B | WITH_BIAS,
     .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "16x250x9000 nt, in parts", .n = {1, 16, 250, 9000}, .flags = TURN_B | WITH_BIAS},
    {.name = "100x101x2100, in parts", .n = {1, 100, 101, 2100}, .f = {RELU}, .flags = WITH_BIAS},
    {.name = "batch of 3, 100x110x70", .n = {3, 100, 110, 70}},
    {.name = "batch of 3, 100x110x70, one a, nt", .n = {3, 100, 110, 70}, .flags = ONE_A | TURN_B},
    {.name = "batch of 3, 100x110x70, one b, tn", .n = {3, 100, 110, 70}, .flags = ONE_B | TURN_A},
    {.name = "batch of 32, 264x136x136", .n = {32, 264, 136, 136}, .flags = WITH_BIAS},
    {.name = "batch of 32, 264x136x136 tt", .n = {32, 264, 136, 136}, .flags = TURN_A | TURN_B},
    {.name = "136x264x328",
     .n = {1, 136, 264, 328},
     .flags = WITH_BIAS,
     .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "136x264x328 tn", .n = {1, 136, 264, 328}, .flags = TURN_A},
    {.name = "136x264x328 nt", .n = {1, 136, 264, 328}, .flags = TURN_B},
    {.name = "136x264x328 tt", .n = {1, 136, 264, 328}, .flags = TURN_A | TURN_B},
    {.name = "rows with gaps", .n = {1, 70, 130, 90, 3}},
    {.name = "rows with gaps, nt", .n = {1, 70, 130, 90, 5}, .flags = TURN_B},
    {.name = "a as a view", .n = {1, 70, 130, 90}, .flags = VIEW_A},
    {.name = "batch of 5", .n = {5, 33, 17, 40}},
    {.name = "batch of 5 tn", .n = {5, 33, 17, 40}, .flags = TURN_A | WITH_BIAS},
    {.name = "batch of 5, one a", .n = {5, 33, 17, 40}, .flags = ONE_A},
    {.name = "batch of 5, one b", .n = {5, 33, 17, 40}, .flags = ONE_B},
    {.name = "batch of 5, one b, a transposed", .n = {5, 33, 17, 40}, .flags = ONE_B | TURN_A},
    {.name = "batch of 3, gaps", .n = {3, 20, 50, 60, 7}, .flags = TURN_B},
    {.name = "batch far apart", .n = {2, 9, 10, 33}, .flags = FAR},
    {.name = "batch of 4, 1 row", .n = {4, 1, 100, 77}},
    {.name = "1x300x200", .n = {1, 1, 300, 200}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "1x300x203 nt", .n = {1, 1, 300, 203}, .flags = TURN_B | WITH_BIAS},
    {.name = "1x301x200 tt silu", .n = {1, 1, 301, 200}, .f = {SILU}, .flags = TURN_A | TURN_B},
    {.name = "3x300x200", .n = {1, 3, 300, 200}, .flags = WITH_BIAS},
    {.name = "3x301x203 nt", .n = {1, 3, 301, 203}, .flags = TURN_B},
    {.name = "2x301x203 nt", .n = {1, 2, 301, 203}, .flags = TURN_B | WITH_BIAS},
    {.name = "2x129x65 tt", .n = {1, 2, 129, 65}, .flags = TURN_A | TURN_B},
    {.name = "6x129x65 nt", .n = {1, 6, 129, 65}, .flags = TURN_B},
    {.name = "15x140x70 tt", .n = {1, 15, 140, 70}, .flags = TURN_A | TURN_B},
    {.name = "11x300x70 tn", .n = {1, 11, 300, 70}, .flags = TURN_A | WITH_BIAS},
    {.name = "4x129x65 tt", .n = {1, 4, 129, 65}, .flags = TURN_A | TURN_B},
    {.name = "2x129x65 tn", .n = {1, 2, 129, 65}, .flags = TURN_A},
    {.name = "3x2100x70", .n = {1, 3, 2100, 70}, .flags = WITH_BIAS},
    {.name = "2 of 1x1030x33 tn silu", .n = {2, 1, 1030, 33}, .f = {SILU}, .flags = TURN_A},
    {.name = "6x210x75 tn", .n = {1, 6, 210, 75}, .flags = TURN_A},
    {.name = "210x6x75 tt", .n = {1, 210, 6, 75}, .flags = TURN_A | TURN_B},
    {.name = "300x1x200", .n = {1, 300, 1, 200}, .flags = WITH_BIAS},
    {.name = "300x1x200 tn", .n = {1, 300, 1, 200}, .flags = TURN_A},
    {.name = "300x1x203 nt", .n = {1, 300, 1, 203}, .flags = TURN_B},
    {.name = "5x300x77", .n = {1, 5, 300, 77}},
    {.name = "20x30x9000, in parts", .n = {1, 20, 30, 9000}, .flags = WITH_BIAS},
    {.name = "20x30x9001 tn, in parts", .n = {2, 20, 30, 9001}, .f = {GELU}, .flags = TURN_A},
    {.name = "1x30x9001 nt, in parts", .n = {1, 1, 30, 9001}, .flags = TURN_B},
    {.name = "2x30x9000, in parts", .n = {1, 2, 30, 9000}},
    {.name = "300x272x288", .n = {1, 300, 272, 288}},
    {.name = "2 of 260x312x256 nt", .n = {2, 260, 312, 256}, .flags = TURN_B},
    {.name = "530x264x320 gelu", .n = {1, 530, 264, 320}, .f = {GELU}, .flags = WITH_BIAS},
    {.name = "270x264x328 nt", .n = {1, 270, 264, 328}, .flags = TURN_B},
    {.name = "264x280x200 tn", .n = {1, 264, 280, 200}, .flags = TURN_A | WITH_BIAS},
    {.name = "3 of 136x200x320 tt", .n = {3, 136, 200, 320}, .flags = TURN_A | TURN_B},
    {.name = "16x72x520 nt", .n = {1, 16, 72, 520}, .flags = TURN_B | WITH_BIAS},
    {.name = "9x72x520", .n = {1, 9, 72, 520}, .f = {SILU}, .flags = WITH_BIAS},
    {.name = "16x40x520 tn", .n = {1, 16, 40, 520}, .flags = TURN_A},
    {.name = "8x40x264 tt", .n = {1, 8, 40, 264}, .flags = TURN_A | TURN_B},
    {.name = "16x40x2304 nt, in parts", .n = {1, 16, 40, 2304}, .f = {RELU}, .flags = TURN_B},
    {.name = "25x72x264 nt", .n = {1, 25, 72, 264}, .flags = TURN_B},
    {.name = "32x40x328 tt", .n = {1, 32, 40, 328}, .flags = TURN_A | TURN_B},
    {.name = "12x530x70", .n = {1, 12, 530, 70}},
    {.name = "6x1100x37 tn", .n = {1, 6, 1100, 37}, .flags = TURN_A | WITH_BIAS},
    {.name = "2 of 5x70x9", .n = {2, 5, 70, 9}, .f = {RELU}},
    {.name = "3x70x45 nt", .n = {1, 3, 70, 45}, .flags = TURN_B | WITH_BIAS},
    {.name = "2x9x83 nt", .n = {1, 2, 9, 83}, .flags = TURN_B},
    {.name = "4x33x18 tt", .n = {1, 4, 33, 18}, .flags = TURN_A | TURN_B},
    {.name = "40x200x13 tn", .n = {1, 40, 200, 13}, .flags = TURN_A},
    {.name = "56x72x136 tn", .n = {1, 56, 72, 136}, .flags = TURN_A},
    {.name = "64x136x328 nt", .n = {1, 64, 136, 328}, .f = {GELU}, .flags = TURN_B | WITH_BIAS},
    {.name = "2 of 50x5128x72", .n = {2, 50, 5128, 72}},
    {.name = "136x16x328 nt", .n = {1, 136, 16, 328}, .f = {GELU}, .flags = TURN_B | WITH_BIAS},
    {.name = "136x40x328 tn", .n = {1, 136, 40, 328}, .flags = TURN_A | WITH_BIAS},
    {.name = "3 of 136x24x72", .n = {3, 136, 24, 72}},
    {.name = "136x1x328 nt", .n = {1, 136, 1, 328}, .flags = TURN_B | WITH_BIAS},
    {.name = "odd start, 16x72x136 nt", .n = {1, 16, 72, 136}, .flags = ODD | TURN_B | WITH_BIAS},
    {.name = "odd start, 5x72x136", .n = {1, 5, 72, 136}, .flags = ODD},
    {.name = "odd start, 24x40x136 tn", .n = {1, 24, 40, 136}, .flags = ODD | TURN_A},
    {.name = "odd start, 2 of 40x72x72 tt", .n = {2, 40, 72, 72}, .flags = ODD | TURN_A | TURN_B},
    {.name = "odd start, 136x264x328", .n = {1, 136, 264, 328}, .flags = ODD | WITH_BIAS},
    {.name = "odd start, 136x264x328 nt", .n = {1, 136, 264, 328}, .flags = ODD | TURN_B},
    {.name = "odd start, 1x72x136 nt", .n = {1, 1, 72, 136}, .flags = ODD | TURN_B},
    {.name = "21x131x1031 nt, in parts", .n = {1, 21, 131, 1031}, .flags = TURN_B | WITH_BIAS},
    {.name = "261x263x517", .n = {1, 261, 263, 517}, .f = {SILU}, .flags = WITH_BIAS},
    {.name = "261x263x517 tn", .n = {1, 261, 263, 517}, .flags = TURN_A},
    {.name = "261x263x517 nt", .n = {1, 261, 263, 517}, .flags = TURN_B},
    {.name = "261x263x517 tt", .n = {1, 261, 263, 517}, .flags = TURN_A | TURN_B},
    /* little of k: blocks that go out as they are, and what is left over beside and below them */
    {.name = "201x131x23", .n = {1, 201, 131, 23}},
    {.name = "201x131x23 nt", .n = {1, 201, 131, 23}, .flags = TURN_B},
    {.name = "201x131x39 tt", .n = {1, 201, 131, 39}, .flags = TURN_A | TURN_B},
    {.name = "3 of 104x64x49 nt, gaps", .n = {3, 104, 64, 49, 5}, .flags = TURN_B},
    {.name = "104x64x49 bias", .n = {1, 104, 64, 49}, .flags = WITH_BIAS},
    {.name = "257x272x2112, in parts", .n = {1, 257, 272, 2112}, .f = {RELU}, .flags = WITH_BIAS},

    {.name = "128", .n = {1, 128, 128, 128}, .uses = TUNED},
    {.name = "512", .n = {1, 512, 512, 512}, .uses = TUNED},
    {.name = "1024", .n = {1, 1024, 1024, 1024}, .uses = TUNED},
    {.name = "1024 nt", .n = {1, 1024, 1024, 1024}, .flags = TURN_B, .uses = IGH_BENCH},
    {.name = "2048", .n = {1, 2048, 2048, 2048}, .uses = IGH_BENCH},
    {.name = "128x4096x4096 nt", .n = {1, 128, 4096, 4096}, .flags = TURN_B, .uses = TUNED},
    {.name = "128x4096x4096 nt silu",
     .n = {1, 128, 4096, 4096},
     .f = {SILU},
     .flags = TURN_B | WITH_BIAS,
     .uses = IGH_BENCH},
    {.name = "1x4096x4096", .n = {1, 1, 4096, 4096}, .uses = TUNED},
    {.name = "1x4096x4096 nt", .n = {1, 1, 4096, 4096}, .flags = TURN_B, .uses = TUNED},
    {.name = "4x4096x4096 nt", .n = {1, 4, 4096, 4096}, .flags = TURN_B, .uses = IGH_BENCH},
    {.name = "16x4096x4096 nt", .n = {1, 16, 4096, 4096}, .flags = TURN_B, .uses = TUNED},
    {.name = "32 of 128x128x64 nt", .n = {32, 128, 128, 64}, .flags = TURN_B, .uses = IGH_BENCH},
    {.name = "64x64x65536", .n = {1, 64, 64, 65536}, .uses = TUNED},
    {.name = "large 4096", .n = {1, 4096, 4096, 4096}, .uses = IGH_LARGE, .types = IGH_F32_BF16},
    {.name = "large 4096 nt",
     .n = {1, 4096, 4096, 4096},
     .flags = TURN_B,
     .uses = IGH_LARGE,
     .types = IGH_F32_BF16},
    {.name = "large 8192",
     .n = {1, 8192, 8192, 8192},
     .uses = IGH_LARGE,
     .types = IGH_TYPE(INGOT_SCALAR_BF16)},
    {.name = "large 1x16384x16384 nt",
     .n = {1, 1, 16384, 16384},
     .flags = TURN_B,
     .uses = IGH_LARGE,
     .types = IGH_F32_BF16},
};

static bool has(const struct igh_run *run, uint32_t flag) {
    return (run->test->flags & flag) != 0;
}

/* [batch, rows, columns] with rows `gap` further apart than they must be. */
static void declare_matrix(struct igh_run *run, int slot, const char *name, int64_t batch,
                           int64_t rows, int64_t columns, double deviation) {
    const int64_t gap = run->test->n[GAP], shape[] = {batch, rows, columns};
    const bool single = run->test->n[BATCH] == 1;
    const int64_t strides[] = {rows * (columns + gap) + gap, columns + gap, 1};
    const uint32_t rank = single ? 2 : 3;
    if (slot == OUT) {
        igh_output(run, slot, name, run->type, rank, shape + 3 - rank);
    } else {
        igh_input(run, slot, name, run->type, rank, shape + 3 - rank,
                  (struct igh_fill){IGH_NORMAL, 0, deviation});
    }
    if (gap || has(run, ODD)) {
        igh_strides(run, slot, strides + 3 - rank, gap ? gap : 1);
    }
}

static void declare(struct igh_run *run) {
    const int64_t *n = run->test->n, m = n[M], k = n[K];
    const bool turn_a = has(run, TURN_A), turn_b = has(run, TURN_B);
    declare_matrix(run, A, "a", has(run, ONE_A) ? 1 : n[BATCH], turn_a ? k : m, turn_a ? m : k, 1);
    declare_matrix(run, B, "b", has(run, ONE_B) ? 1 : n[BATCH], turn_b ? n[N] : k,
                   turn_b ? k : n[N], 1);
    if (has(run, WITH_BIAS)) {
        igh_input(run, BIAS, "bias", run->type, 1, &n[N], (struct igh_fill){IGH_NORMAL, 0, 1});
    }
    declare_matrix(run, OUT, "out", n[BATCH], m, n[N], 0);
    if (has(run, VIEW_A)) {
        igh_strides(run, A, (const int64_t[]){1, m}, 0);
    }
    if (has(run, FAR)) {
        igh_strides(run, A, (const int64_t[]){(1ll << 31) + 8, k, 1}, 0);
    }
}

static ingot_status launch(struct igh_run *run) {
    const ingot_matmul_desc desc = {.a = igh_tensor(run, A),
                                    .b = igh_tensor(run, B),
                                    .bias = igh_tensor(run, BIAS),
                                    .out = igh_tensor(run, OUT),
                                    .transpose_a = has(run, TURN_A),
                                    .transpose_b = has(run, TURN_B),
                                    .epilogue = (ingot_epilogue)run->test->f[0]};
    return ingot_op_matmul(run->ops, run->stream, &desc);
}

static double finish(double x, ingot_epilogue which) {
    switch (which) {
    case INGOT_EPILOGUE_RELU:
        return x < 0 ? 0 : x;
    case INGOT_EPILOGUE_SILU:
        return x / (1 + exp(-x));
    case INGOT_EPILOGUE_GELU:
        return x * 0.5 * erfc(-x * 0.70710678118654752);
    case INGOT_EPILOGUE_GELU_TANH:
        return x / (1 + exp(-2 * 0.79788456080286536 * (x + 0.044715 * x * x * x)));
    default:
        return x;
    }
}

enum { SUMS = 4 }; /* at once, since each addition waits for the one before it */

struct line {
    const double *at;
    int64_t step;
};

/* The sums of k products of a row with each of `count` columns, in the order of k. */
static void add_products(struct line row, struct line column, int64_t to_next, int64_t k,
                         int64_t count, double sums[SUMS]) {
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    const double *b = column.at;
    if (count == SUMS) {
        for (int64_t l = 0; l < k; l++, b += column.step) {
            const double a = row.at[l * row.step];
            s0 += a * b[0];
            s1 += a * b[to_next];
            s2 += a * b[2 * to_next];
            s3 += a * b[3 * to_next];
        }
        sums[0] = s0;
        sums[1] = s1;
        sums[2] = s2;
        sums[3] = s3;
        return;
    }
    for (int64_t c = 0; c < count; c++) {
        sums[c] = 0;
        for (int64_t l = 0; l < k; l++) {
            sums[c] += row.at[l * row.step] * b[l * column.step + c * to_next];
        }
    }
}

static void reference(struct igh_run *run) {
    const int64_t *size = run->test->n, m = size[M], n = size[N], k = size[K];
    const double *bias = has(run, WITH_BIAS) ? igh_values(run, BIAS) : NULL;
    const int64_t a_row = has(run, TURN_A) ? 1 : k, a_step = has(run, TURN_A) ? m : 1;
    const int64_t b_step = has(run, TURN_B) ? 1 : n, b_column = has(run, TURN_B) ? k : 1;
    for (int64_t batch = 0; batch < size[BATCH]; batch++) {
        const double *a = igh_values(run, A) + (has(run, ONE_A) ? 0 : batch * m * k);
        const double *b = igh_values(run, B) + (has(run, ONE_B) ? 0 : batch * k * n);
        double *out = igh_expected(run, OUT) + batch * m * n;
        for (int64_t i = 0; i < m; i++) {
            const struct line row = {a + i * a_row, a_step};
            for (int64_t j = 0; j < n; j += SUMS) {
                const int64_t count = n - j < SUMS ? n - j : SUMS;
                double sums[SUMS];
                add_products(row, (struct line){b + j * b_column, b_step}, b_column, k, count,
                             sums);
                for (int64_t c = 0; c < count; c++) {
                    out[i * n + j + c] =
                        finish(sums[c] + (bias ? bias[j + c] : 0), (ingot_epilogue)run->test->f[0]);
                }
            }
        }
    }
}

/* Sums of k products of numbers around 1: an error of the order of eps per product, far below
 * sqrt(k) times eps of the sum of the magnitudes. */
static struct igh_bound bound(const struct igh_run *run, int slot) {
    (void)slot;
    return (struct igh_bound){.ulps = run->type == INGOT_SCALAR_F32 ? 4 : 1,
                              .absolute = 0x1p-24 * (8.0 + 3.0 * (double)run->test->n[K])};
}

static void cost(const struct igh_run *run, double *bytes, double *flops) {
    const int64_t *n = run->test->n;
    const double element = run->type == INGOT_SCALAR_F32 ? 4 : 2;
    *bytes = element * (double)(igh_count(run, A) + igh_count(run, B) + igh_count(run, OUT));
    *flops = 2.0 * (double)n[BATCH] * (double)n[M] * (double)n[N] * (double)n[K];
}

static const struct igh_suite matmul = {
    .operation = "matmul",
    .types = IGH_FLOATS,
    IGH_CASES(cases),
    .size_names = (const char *const[]){"batch", "m", "n", "k", "gap", NULL},
    .number_names = (const char *const[]){"epilogue", NULL},
    .flag_names = (const char *const[]){"transpose_a", "transpose_b", "bias", "one_a", "one_b",
                                        "view_a", "far", "odd_start", NULL},
    .declare = declare,
    .launch = launch,
    .reference = reference,
    .bound = bound,
    .cost = cost,
};

static const struct igh_suite *const suites[] = {&matmul};
const struct igh_suites igh_suites_matmul = {suites, 1};
