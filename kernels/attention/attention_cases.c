/* The cases of attention, forward. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attention/attention_cases.h"

#define TIMED (IGH_BENCH | IGH_TUNE)

static const struct igh_case cases[] = {
    {.name = "1x1", .n = {1, 1, 1, 1, 1, 1}, .flags = LSE},
    {.name = "no batch", .n = {0, 2, 2, 4, 4, 32}},
    {.name = "no queries", .n = {1, 2, 2, 0, 4, 32}, .flags = LSE},
    {.name = "no keys", .n = {1, 2, 2, 40, 0, 32}, .flags = LSE},
    {.name = "no keys, one query", .n = {1, 2, 2, 1, 0, 32}, .flags = LSE},
    {.name = "head size 0", .n = {1, 2, 2, 3, 4, 0, 8}},
    {.name = "33x65, d32", .n = {2, 2, 2, 33, 65, 32}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "40x40, d64 causal", .n = {1, 2, 2, 40, 40, 64}, .flags = CAUSAL | LSE | WHOLE_WINDOW},
    {.name = "17x100, d80 causal", .n = {1, 2, 1, 17, 100, 80}, .flags = CAUSAL | LSE},
    {.name = "70x20, d96 causal", .n = {1, 2, 2, 70, 20, 96}, .flags = CAUSAL | LSE},
    {.name = "170x20, d64 causal", .n = {1, 1, 1, 170, 20, 64}, .flags = CAUSAL | LSE},
    {.name = "270x140, d64 causal", .n = {1, 1, 1, 270, 140, 64}, .flags = CAUSAL | LSE},
    {.name = "65x130, d128", .n = {1, 2, 2, 65, 130, 128}, .flags = LSE | WHOLE_WINDOW},
    {.name = "50x77, d160", .n = {1, 1, 1, 50, 77, 160}, .flags = LSE},
    {.name = "50x77, d192 v128", .n = {1, 1, 1, 50, 77, 192, 128}, .flags = LSE},
    {.name = "50x77, d256", .n = {1, 2, 2, 50, 77, 256}, .flags = CAUSAL},
    {.name = "19x23, d7 v13", .n = {1, 2, 2, 19, 23, 7, 13}},
    {.name = "19x23, d129", .n = {1, 2, 2, 19, 23, 129}},
    {.name = "100x100, d64 window 16", .n = {1, 2, 2, 100, 100, 64, 0, 16}, .flags = LSE},
    {.name = "100x150, d64 causal window 16",
     .n = {1, 2, 2, 100, 150, 64, 0, 16},
     .flags = CAUSAL | LSE},
    {.name = "100x100, d64 window 1", .n = {1, 1, 1, 100, 100, 64, 0, 1}},
    {.name = "40x60, boolean mask", .n = {2, 2, 2, 40, 60, 64}, .flags = MASK_BOOL | LSE},
    {.name = "40x60, rows without keys",
     .n = {2, 2, 2, 40, 60, 64},
     .flags = MASK_BOOL | LSE | MASK_NONE_SEEN | MASK_ROWS},
    {.name = "40x60, float32 mask", .n = {2, 2, 2, 40, 60, 64}, .flags = MASK_F32 | LSE},
    {.name = "40x60, mask of the type",
     .n = {2, 4, 2, 40, 60, 64},
     .flags = MASK_SAME | MASK_ROWS | CAUSAL},
    {.name = "40x60, ALiBi", .n = {1, 4, 4, 40, 60, 64}, .flags = ALIBI | CAUSAL | LSE},
    {.name = "40x60, ALiBi both ways", .n = {1, 4, 4, 40, 60, 64}, .flags = ALIBI},
    {.name = "40x60, scale 2", .n = {1, 2, 2, 40, 60, 32}, .f = {2}, .flags = LSE},
    {.name = "150x211, d64 causal scale 2",
     .n = {1, 2, 2, 150, 211, 64},
     .f = {2},
     .flags = CAUSAL | LSE},
    {.name = "40x60, d64 scale -1", .n = {1, 2, 2, 40, 60, 64}, .f = {-1}, .flags = LSE},
    {.name = "200x333, d128 4/2 heads causal",
     .n = {1, 4, 2, 200, 333, 128},
     .flags = CAUSAL | LSE},
    {.name = "140x140, d128 window 40, strided",
     .n = {2, 2, 2, 140, 140, 128, 0, 40},
     .flags = STRIDED | LSE},
    {.name = "140x270, d128 causal, rows apart",
     .n = {1, 2, 2, 140, 270, 128},
     .flags = ROWS_APART | CAUSAL | LSE},
    {.name = "150x420, d128 window 150", .n = {1, 1, 1, 150, 420, 128, 0, 150}, .flags = LSE},
    {.name = "33x65, d64 words of q", .n = {1, 2, 2, 33, 65, 64}, .flags = WORDS_OF_Q | LSE},
    {.name = "48x48, 8/2 heads", .n = {2, 8, 2, 48, 48, 64}, .flags = CAUSAL | LSE},
    {.name = "48x48, 4/1 heads", .n = {2, 4, 1, 48, 48, 64}, .flags = CAUSAL | EXPANDED},
    {.name = "80x100, d8", .n = {1, 2, 2, 80, 100, 8}, .flags = LSE},
    {.name = "80x200, d32 causal", .n = {1, 2, 1, 80, 200, 32}, .flags = CAUSAL | LSE},
    {.name = "130x200, d40", .n = {1, 2, 2, 130, 200, 40}, .flags = LSE | WHOLE_WINDOW},
    {.name = "70x333, d72 4/2 heads causal", .n = {1, 4, 2, 70, 333, 72}, .flags = CAUSAL | LSE},
    {.name = "140x270, d88 window 40",
     .n = {1, 2, 2, 140, 270, 88, 0, 40},
     .flags = ROWS_APART | LSE},
    {.name = "130x131, d112 causal", .n = {2, 2, 2, 130, 131, 112}, .flags = CAUSAL | LSE},
    {.name = "130x300, d160 causal", .n = {1, 2, 1, 130, 300, 160}, .flags = CAUSAL | LSE},
    {.name = "100x200, d176 v40", .n = {1, 2, 2, 100, 200, 176, 40}, .flags = LSE},
    {.name = "130x210, d224 window 70", .n = {1, 2, 2, 130, 210, 224, 0, 70}, .flags = LSE},
    {.name = "140x260, d256 4/2 heads causal",
     .n = {1, 4, 2, 140, 260, 256},
     .flags = CAUSAL | LSE},
    {.name = "90x130, d80 boolean mask", .n = {1, 2, 2, 90, 130, 80}, .flags = MASK_BOOL | LSE},
    {.name = "70x101, d256 mask of the type, causal",
     .n = {2, 2, 1, 70, 101, 256},
     .flags = MASK_SAME | MASK_ROWS | CAUSAL},
    {.name = "70x101, d128 ALiBi and float32 mask",
     .n = {1, 4, 2, 70, 101, 128},
     .flags = MASK_F32 | ALIBI | LSE},
    {.name = "1x300, d32 8/2 heads", .n = {2, 8, 2, 1, 300, 32}, .flags = LSE | WHOLE_WINDOW},
    {.name = "1x300, d80 7/1 heads", .n = {1, 7, 1, 1, 300, 80}, .flags = EXPANDED},
    {.name = "1x333, d192 v128 8/1 heads", .n = {1, 8, 1, 1, 333, 192, 128}, .flags = LSE},
    {.name = "1x300, d256 8/1 heads", .n = {2, 8, 1, 1, 300, 256}, .flags = LSE},
    {.name = "2x90, d120 window 50", .n = {1, 4, 2, 2, 90, 120, 0, 50}, .flags = LSE | CAUSAL},
    {.name = "40x60, strided", .n = {2, 4, 2, 40, 60, 72}, .flags = STRIDED | CAUSAL | LSE},
    {.name = "33x3, far apart", .n = {1, 1, 1, 33, 3, 16}, .flags = FAR},
    {.name = "1x3, far apart", .n = {1, 1, 1, 1, 3, 16}, .flags = FAR},
    {.name = "1x700, d64", .n = {2, 2, 2, 1, 700, 64}, .flags = LSE | WHOLE_WINDOW},
    {.name = "1x333, d128 8/2 heads", .n = {2, 8, 2, 1, 333, 128}, .flags = LSE | CAUSAL},
    {.name = "1x600, d128 16/1 heads", .n = {1, 16, 1, 1, 600, 128}, .flags = EXPANDED},
    {.name = "3x600, d80 4/2 heads causal", .n = {1, 4, 2, 3, 600, 80}, .flags = LSE | CAUSAL},
    {.name = "8x300, d256 causal", .n = {1, 2, 1, 8, 300, 256}, .flags = LSE | CAUSAL},
    {.name = "5x40, d13 v50", .n = {1, 2, 2, 5, 40, 13, 50}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "8x3, causal", .n = {1, 2, 2, 8, 3, 64}, .flags = LSE | CAUSAL},
    {.name = "2x600, window 300", .n = {1, 2, 2, 2, 600, 64, 0, 300}, .flags = LSE | CAUSAL},
    {.name = "2x600, boolean mask",
     .n = {2, 2, 2, 2, 600, 64},
     .flags = MASK_BOOL | LSE | MASK_NONE_SEEN},
    {.name = "3x600, float32 mask", .n = {2, 2, 1, 3, 600, 64}, .flags = MASK_F32 | LSE},
    {.name = "3x600, ALiBi, mask of the type",
     .n = {2, 2, 1, 3, 600, 64},
     .flags = MASK_SAME | ALIBI | CAUSAL},
    {.name = "4x500, strided", .n = {2, 4, 2, 4, 500, 64}, .flags = STRIDED | CAUSAL | LSE},
    {.name = "1x8/8x1024x64", .n = {1, 8, 8, 1024, 1024, 64}, .uses = IGH_BENCH},
    {.name = "1x8/8x1024x64 causal",
     .n = {1, 8, 8, 1024, 1024, 64},
     .flags = CAUSAL,
     .uses = TIMED},
    {.name = "1x8/8x1024x128", .n = {1, 8, 8, 1024, 1024, 128}, .uses = IGH_BENCH},
    {.name = "1x8/8x1024x128 causal",
     .n = {1, 8, 8, 1024, 1024, 128},
     .flags = CAUSAL,
     .uses = IGH_BENCH},
    {.name = "1x32/8x512x128 causal",
     .n = {1, 32, 8, 512, 512, 128},
     .flags = CAUSAL,
     .uses = IGH_BENCH},
    {.name = "1x4/4x4096x128 causal",
     .n = {1, 4, 4, 4096, 4096, 128},
     .flags = CAUSAL,
     .uses = IGH_BENCH},
    {.name = "1x8/8x2048x64 causal window 256",
     .n = {1, 8, 8, 2048, 2048, 64, 0, 256},
     .flags = CAUSAL,
     .uses = IGH_BENCH},
    {.name = "1x12/12x256x64", .n = {1, 12, 12, 256, 256, 64}, .uses = TIMED},
    {.name = "1x32/8x1x4096x128", .n = {1, 32, 8, 1, 4096, 128}, .uses = TIMED},
    {.name = "1x32/8x1x32768x128", .n = {1, 32, 8, 1, 32768, 128}, .uses = IGH_BENCH},
    {.name = "1x8/8x1x4096x128", .n = {1, 8, 8, 1, 4096, 128}, .uses = TIMED},
    {.name = "4x16/16x1x1024x64", .n = {4, 16, 16, 1, 1024, 64}, .uses = TIMED},
    {.name = "large 4x32/32x4096x128 causal",
     .n = {4, 32, 32, 4096, 4096, 128},
     .flags = CAUSAL,
     .uses = IGH_LARGE,
     .types = IGH_F32_BF16},
    {.name = "large 4x32/8x4096x128 causal",
     .n = {4, 32, 8, 4096, 4096, 128},
     .flags = CAUSAL,
     .uses = IGH_LARGE,
     .types = IGH_F32_BF16},
    {.name = "large 8x32/8x1x32768x128",
     .n = {8, 32, 8, 1, 32768, 128},
     .uses = IGH_LARGE,
     .types = IGH_F32_BF16},
};

static void declare(struct igh_run *run) {
    const int64_t *n = run->test->n;
    attention_declare_inputs(run);
    const int64_t out[] = {n[N_BATCHES], n[N_HEADS], n[N_QUERIES],
                           n[N_VALUE_DEPTH] ? n[N_VALUE_DEPTH] : n[N_DEPTH]};
    igh_output(run, OUT, "out", run->type, 4, out);
    if (run->test->flags & STRIDED) {
        attention_swap_heads(run, OUT, 3);
    }
    if (run->test->flags & ROWS_APART) {
        attention_swap_heads(run, OUT, 8);
    }
    if (run->test->flags & LSE) {
        igh_output(run, LSE_OUT, "lse", INGOT_SCALAR_F32, 3, out);
    }
}

static ingot_status launch(struct igh_run *run) {
    const ingot_attention_desc desc = attention_desc_of(run);
    return ingot_op_attention(run->ops, run->stream, &desc);
}

static void reference(struct igh_run *run) {
    const struct attention_reference r = attention_reference_of(run);
    if (!attention_reference_forward(&r, igh_expected(run, OUT),
                                     igh_tensor(run, LSE_OUT) ? igh_expected(run, LSE_OUT)
                                                              : NULL)) {
        ig_fail(&run->error, INGOT_OUT_OF_MEMORY, "no memory for the reference");
    }
}

static struct igh_bound bound(const struct igh_run *run, int slot) {
    /* the rounding of scores, which have a deviation of `spread` */
    double spread =
        run->test->f[0] != 0 ? fabs(run->test->f[0]) * sqrt((double)run->test->n[N_DEPTH]) : 1;
    double weights = slot == OUT ? attention_rounding_of_weights(run, ingot_ops_last_variant()) : 0;
    return (struct igh_bound){.ulps = 1, .absolute = 2e-6 * spread + weights};
}

/* The same bits from another call that means the same. */
static void same_bits(struct igh_run *run, const ingot_attention_desc *desc, const char *name) {
    ingot_buffer *buffer = NULL;
    ingot_tensor out = *desc->out;
    ingot_attention_desc other = *desc;
    uint64_t length = ingot_buffer_length(out.buffer);
    ingot_status status = ingot_buffer_create(run->device, length, &buffer);
    out.buffer = buffer;
    other.out = &out;
    if (!status) {
        status = ingot_stream_fill(run->stream, buffer, 0, length, 0xff);
    }
    if (!status) {
        status = ingot_op_attention(run->ops, run->stream, &other);
    }
    if (!status) {
        status = ingot_stream_wait(run->stream);
    }
    char *got = malloc(2 * length + 1);
    if (!got) {
        status = INGOT_OUT_OF_MEMORY;
    }
    if (!status) {
        status = ingot_stream_download(run->stream, buffer, 0, got, length);
    }
    if (!status) {
        status = ingot_stream_download(run->stream, desc->out->buffer, 0, got + length, length);
    }
    if (status) {
        ig_fail(&run->error, status, "%s: %s", name, ingot_error_message());
    } else {
        igh_metric(run, name, memcmp(got, got + length, length) != 0, 0);
    }
    free(got);
    ingot_buffer_release(buffer);
}

static void verify(struct igh_run *run) {
    ingot_attention_desc desc = attention_desc_of(run);
    if (run->test->flags & WHOLE_WINDOW) {
        const int64_t *n = run->test->n;
        desc.window = (uint32_t)(n[N_QUERIES] > n[N_KEYS] ? n[N_QUERIES] : n[N_KEYS]);
        same_bits(run, &desc, "a window of the whole length differs");
        desc.window = 0;
    }
    if (run->test->flags & EXPANDED) {
        ingot_tensor k = *desc.k, v = *desc.v;
        k.shape[1] = v.shape[1] = desc.q->shape[1];
        k.strides[1] = v.strides[1] = 0;
        desc.k = &k;
        desc.v = &v;
        same_bits(run, &desc, "repeated heads differ");
    }
}

static void cost(const struct igh_run *run, double *bytes, double *flops) {
    double size = run->type == INGOT_SCALAR_F32 ? 4 : 2;
    double depths = (double)(igh_tensor(run, Q)->shape[3] + igh_tensor(run, V)->shape[3]);
    *bytes = size * (double)(igh_count(run, Q) + igh_count(run, K) + igh_count(run, V) +
                             igh_count(run, OUT));
    *flops = 2 * depths * attention_pairs(run);
}

static const struct igh_suite attention = {
    .operation = "attention",
    .types = IGH_FLOATS,
    IGH_CASES(cases),
    .size_names = attention_size_names,
    .number_names = attention_number_names,
    .flag_names = attention_flag_names,
    .declare = declare,
    .launch = launch,
    .reference = reference,
    .bound = bound,
    .verify = verify,
    .cost = cost,
};

static const struct igh_suite *const suites[] = {&attention};
const struct igh_suites igh_suites_attention = {suites, 1};
