/*
 * Products of four SIMD-groups (wgmma) are under way until they are waited for: tests/fake_cuda,
 * which executes their PTX, has other numbers in place of their sums until then, and notices when
 * what they read in registers is written.
 */
#include "runtime_cuda_support.h"

enum { WORDS = 64, MAX_CODE = 4096 };

/* Each thread stores %f9, as a whole number, at %rd4. Products add nothing to %f1 to %f4, which are
 * 3, and to %f5 to %f8, which are 4. */
static const char head[] =
    ".version 8.0\n"
    ".target sm_90a\n"
    ".address_size 64\n"
    ".visible .entry ingot_kernel(.param .align 16 .b8 block[64])\n"
    "{\n"
    ".reg .b32 %r<9>;\n"
    ".reg .f32 %f<10>;\n"
    ".reg .b64 %rd<8>;\n"
    ".shared .align 1024 .b8 place[1024];\n"
    "griddepcontrol.wait;\n"
    "ld.param.u64 %rd1, [block+56];\n"
    "cvta.to.global.u64 %rd2, %rd1;\n"
    "mov.u32 %r1, %tid.x;\n"
    "mul.wide.u32 %rd3, %r1, 4;\n"
    "add.s64 %rd4, %rd2, %rd3;\n"
    "mov.u32 %r2, place;\n"
    "shr.u32 %r2, %r2, 4;\n"
    "cvt.u64.u32 %rd5, %r2;\n"
    "mov.u64 %rd6, 4611686018427387904;\n" /* pieces of lines are permuted */
    "or.b64 %rd5, %rd5, %rd6;\n"
    "mov.u32 %r3, 0;\nmov.u32 %r4, 0;\nmov.u32 %r5, 0;\nmov.u32 %r6, 0;\n"
    "mov.f32 %f1, 0f40400000;\nmov.f32 %f2, %f1;\nmov.f32 %f3, %f1;\nmov.f32 %f4, %f1;\n"
    "mov.f32 %f5, 0f40800000;\nmov.f32 %f6, %f5;\nmov.f32 %f7, %f5;\nmov.f32 %f8, %f5;\n";
static const char tail[] = "cvt.rzi.u32.f32 %r7, %f9;\n"
                           "st.global.u32 [%rd4], %r7;\n"
                           "ret;\n"
                           "}\n";

#define PRODUCT(sums)                                                                              \
    "{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "    \
    "{" sums "}, {%r3, %r4, %r5, %r6}, %rd5, p, 1, 1, 0; }\n"
#define FIRST   PRODUCT("%f1, %f2, %f3, %f4")
#define SECOND  PRODUCT("%f5, %f6, %f7, %f8")
#define FENCE   "wgmma.fence.sync.aligned;\n"
#define COMMIT  "wgmma.commit_group.sync.aligned;\n"
#define WAIT(n) "wgmma.wait_group.sync.aligned " #n ";\n"
#define ADD     "add.f32 %f9, %f1, %f5;\n"
#define TAKE(f) "mov.f32 %f9, " f ";\n"

static const struct {
    const char *name, *middle;
    uint32_t result;
    bool right;
    const char *fault;
} products[] = {
    {"waits", FENCE FIRST COMMIT WAIT(0) ADD, 7, true, NULL},
    {"looks_before", FENCE FIRST COMMIT ADD WAIT(0), 7, false, NULL},
    {"adds_on", FENCE FIRST FIRST COMMIT WAIT(0) ADD, 7, true, NULL},
    {"adds_on_in_groups", FENCE FIRST COMMIT FIRST COMMIT WAIT(0) ADD, 7, true, NULL},
    {"another_adds", FENCE FIRST COMMIT FIRST COMMIT WAIT(1) ADD WAIT(0), 7, false, NULL},
    {"first_group", FENCE FIRST COMMIT SECOND COMMIT WAIT(1) TAKE("%f1") WAIT(0), 3, true, NULL},
    {"second_group", FENCE FIRST COMMIT SECOND COMMIT WAIT(1) TAKE("%f5") WAIT(0), 4, false, NULL},
    {"both_groups", FENCE FIRST COMMIT SECOND COMMIT WAIT(1) WAIT(0) ADD, 7, true, NULL},
    {"writes_left", FENCE FIRST COMMIT "mov.u32 %r6, 1;\n" WAIT(0) ADD, 7, false, "was written"},
    {"writes_left_later", FENCE FIRST COMMIT WAIT(0) "mov.u32 %r6, 1;\n" ADD, 7, true, NULL},
};
#define PRODUCTS (sizeof products / sizeof products[0])

static void make_products(void) {
    static char text[PRODUCTS][MAX_CODE];
    struct ig_variant variants[PRODUCTS] = {0};
    struct ig_code codes[PRODUCTS];
    const char *names[PRODUCTS];
    for (size_t i = 0; i < PRODUCTS; i++) {
        int size = snprintf(text[i], MAX_CODE, "%s%s%s", head, products[i].middle, tail);
        CHECK(size < MAX_CODE);
        names[i] = products[i].name;
        codes[i] = (struct ig_code){.target = "sm_90a", .bytes = text[i], .size = (size_t)size + 1};
        variants[i] = (struct ig_variant){.kernel = names[i],
                                          .constants = "",
                                          .max_threads = 1024,
                                          .static_threadgroup_bytes = 1024,
                                          .argument_count = 1,
                                          .arguments = one_argument,
                                          .code_count = 1,
                                          .codes = &codes[i]};
    }
    make_library_of(variants, names, PRODUCTS);
}

static size_t which; /* of the products */

static void product(void) {
    load_fake();
    OK(ingot_device_open("cuda", NULL, &device));
    make_products();
    OK(ingot_stream_create(device, &stream));
    ingot_buffer *data;
    ingot_kernel *kernel = kernel_named(products[which].name);
    OK(ingot_buffer_create(device, WORDS * 4, &data));
    OK(ingot_stream_fill(stream, data, 0, WORDS * 4, 0));
    OK(run_one(kernel, data, 0));
    if (products[which].fault) {
        FAILS(ingot_stream_wait(stream), INGOT_KERNEL_FAULT, products[which].name,
              products[which].fault);
    } else {
        uint32_t words[WORDS] = {0};
        OK(ingot_stream_download(stream, data, 0, words, sizeof words));
        CHECK((words[0] == products[which].result) == products[which].right);
    }
    ingot_kernel_release(kernel);
    ingot_buffer_release(data);
    close_all();
}

int main(void) {
    for (which = 0; which < PRODUCTS; which++) {
        run_group(product);
    }
    return check_report();
}
