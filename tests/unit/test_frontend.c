/* The rewriter on its own: Metal in (as if preprocessed), C++ or an error out. No clang runs. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "compiler/frontend/frontend.h"
#include "compiler/frontend/msl/clang.h"
#include "compiler/frontend/msl/macros.h"
#include "compiler/frontend/msl/message_words.h"
#include "compiler/frontend/msl/tokens.h"

#define DEVICE         "__attribute__((opencl_global))"
#define THREADGROUP    "__attribute__((opencl_local))"
#define IS_PLAIN(name) "static_assert(::__ingot_is_plain<decltype(" name ")>,"
#define CONSTANT       "const __attribute__((opencl_global_host))"

struct rewrite_case {
    const char *source;
    const char *expected;   /* a fragment of the result, white space squeezed; or of the error */
    const char *unexpected; /* a fragment that must not be there; NULL = anything goes */
    const char *kernel;     /* only this one; NULL = all */
};

static const struct rewrite_case rewrites[] = {
    /* kernels */
    {"kernel void f(device float *x [[buffer(2)]]) {}",
     "__attribute__((used, annotate(\"ingot.kernel:f\"))) void f(" DEVICE " float * ) {" DEVICE
     " float *x = __ingot_parameter<decltype(x), 0, (2) + __ingot_in_buffer>(\"x\");",
     "[[", NULL},
    {"[[kernel]] void f(constant Args &a, uint i [[thread_position_in_grid]]) { g(i); }",
     CONSTANT " Args &a = __ingot_parameter<decltype(a), 0, ~0u>(\"a\"); uint i = "
              "__ingot_builtin_thread_position_in_grid<decltype(i)>(); g(i); }",
     NULL, NULL},
    {"kernel void f(device float *x [[buffer(0), function_constant(flag)]]) {}",
     "__ingot_parameter_if<decltype(x), 0, (0) + __ingot_in_buffer>(\"x\", (flag));", NULL, NULL},
    {"kernel void f(constant float (&x)[4] [[buffer(N + 1)]]) {}",
     CONSTANT
     " float (&x)[4] = __ingot_parameter<decltype(x), 0, (N + 1) + __ingot_in_buffer>(\"x\");",
     NULL, NULL},
    {"kernel void f(threadgroup float x[32] [[threadgroup(1)]]) {}",
     THREADGROUP
     " float *x = __ingot_parameter<decltype(x), 0, (1) + __ingot_in_threadgroup>(\"x\");",
     NULL, NULL},
    {"kernel void f(uint [[thread_position_in_grid]]) {}", "uint __ingot_unnamed_0 =", NULL, NULL},
    {"kernel void f(void) { g(); }", "void f(void) { g(); }", NULL, NULL},
    {"kernel void f() {\n#pragma METAL fp math_mode(safe)\n g(); }",
     "{ #pragma clang fp reassociate(off) reciprocal(off) contract(on)", "METAL", NULL},
    {"[[host_name(\"a\" \"b\")]] kernel void f() {}", "annotate(\"ingot.kernel:ab\")", NULL, NULL},
    {"kernel [[max_total_threads_per_threadgroup(64)]] void f() {}",
     "void f() {__ingot_max_threads(64); }", "[[", NULL},
    {"template <int N> [[kernel, max_total_threads_per_threadgroup(N * 32)]] void f() {}\n"
     "template [[host_name(\"f4\")]] kernel void f<4>();",
     "__ingot_max_threads(N * 32);", NULL, NULL},
    {"kernel void f(device float *x);\nkernel void f(device float *x) {}", "void f(", "kernel void",
     NULL},
    /* instantiations */
    {"template <typename T> kernel void f(device T *x) {}\n"
     "template [[host_name(\"f_float\")]] [[kernel]] void f<float>(device float *x [[buffer(0)]]);",
     "template __attribute__((used, annotate(\"ingot.kernel:f_float\"))) void f<float>(" DEVICE
     " float *x );",
     NULL, NULL},
    {"template <typename T> kernel void f(device T *x) {}\n"
     "typedef decltype(f<float>) t;\ntemplate [[host_name(\"x\")]] kernel t f<half>;",
     "template __attribute__((used, annotate(\"ingot.kernel:x\"))) t f<half>;", NULL, NULL},
    {"template <typename T> kernel void f(device T *x) {}\ntemplate void f<float>(device float *);",
     "annotate(\"ingot.kernel:f<float>\")", NULL, NULL},
    {"template <typename T> kernel void f(device T *x) { g(); }\n"
     "template [[host_name(\"a\")]] kernel void f<int>(device int *);\n"
     "template [[host_name(\"b\")]] kernel void f<float>(device float *);\n",
     "annotate(\"ingot.kernel:b\")", "ingot.kernel:a", "b"},
    {"template <typename T> kernel void f(device T *x) { g(); }\nkernel void k() { h(); }", "h();",
     "g();", "k"},
    {"kernel void a() { first(); }\nkernel void b() { second(); }", "second();", "first", "b"},
    {"vertex float4 v(uint i [[vertex_id]]) { return 0; }\nkernel void k() {}", "void k()", "v(",
     NULL},
    {"kernel void f(texture2d<float> t [[texture(0)]]) {}\nkernel void k() {}", "void k()",
     "texture", "k"},
    /* function constants */
    {"constant bool flag [[function_constant(3)]];",
     "extern " CONSTANT " bool flag __asm(\"__ingot_fc_3\");", NULL, NULL},
    {"constant int a [[function_constant(1)]]; constant bool b = is_function_constant_defined(a);",
     "bool b = __ingot_constant_defined(1u);", NULL, NULL},
    {"constant int base = 4; constant int a [[function_constant(base * 2 + (1))]];",
     "__asm(\"__ingot_fc_9\")", NULL, NULL},
    /* address spaces */
    {"void f() { threadgroup float x[4], y; }",
     "{ static " THREADGROUP " float x[4], y; " IS_PLAIN("x"), NULL, NULL},
    {"void f() { threadgroup float x = 2; }",
     "{ static " THREADGROUP " float x ; x = 2; " IS_PLAIN("x"), NULL, NULL},
    {"typedef bfloat b16; b16 f(half x) { return b16(x); }", "return __ingot_c_cast<b16>(x);", NULL,
     NULL},
    {"template <typename T> T f(int x) { return (T)x + T(x) + T(1); }",
     "return __ingot_c_cast<T>(x) + __ingot_c_cast<T>(x) + T(1);", NULL, NULL},
    {"void f() { threadgroup float *p = q; }", "{ " THREADGROUP " float *p = q; }", "static", NULL},
    {"void f(threadgroup float x[2][3], device const int y[]) {}",
     "void f(" THREADGROUP " float (*x)[3], " DEVICE " const int *y) {}", NULL, NULL},
    {"thread float &f(thread float &x);", "float &f( float &x);", "thread", NULL},
    {"constant char *name = \"x\";", "const char *name", "opencl", NULL},
    {"coherent(system) device float *x;", DEVICE " float *x;", "coherent", NULL},
    {"struct A { int device_count; }; int x = a.device;", "a.device;", NULL, NULL},
    {"struct A { device float *x [[id(0)]]; };", DEVICE " float *x ;", "[[", NULL},
    {"[[maybe_unused]] int x;", "[[maybe_unused]] int x;", NULL, NULL},
    /* members */
    {"struct S { int get() const device { return 1; } int get() const thread { return 1; } };",
     "int get() const { return 1; }", "device", NULL},
    {"struct S { int f(int x) device { return 1; } int f(int x) threadgroup { return 2; } };",
     "int f(this " THREADGROUP " S &__self, int x) { return __self.__ingot_threadgroup_", NULL,
     NULL},
    {"struct S { float v; const threadgroup float &get() const threadgroup { return v; } };",
     "const float &__ingot_threadgroup_6() const { return v; } const " THREADGROUP
     " float & get(this const " THREADGROUP " S &__self) { return "
     "__ingot_respaced(&__self.__ingot_threadgroup_6()); }",
     NULL, NULL},
    {"struct S { thread float *at(int i) thread { return v + i; } float v[2]; };",
     "float *at(int i) { return v + i; }", "opencl", NULL},
    {"struct S { template <class T> if_a<T> f(T x) thread { return 1; }\n"
     "template <class T> if_b<T> f(T x) thread { return 2; } };",
     "template <class T> if_a<T> f(T x) { return 1; } template <class T> if_b<T> f(T x) { return "
     "2; }",
     "this", NULL},
    {"struct S { S() = default; S() threadgroup = default; };", "struct S { S() = default; };",
     "threadgroup", NULL},
    /* expressions */
    {"float x = 1.5 + 2e3 + 0x1.8p1 + 3.f + 4;", "1.5f + 2e3f + 0x1.8p1f + 3.f + 4;", NULL, NULL},
    {"half x = 1.5h + 2H; bfloat y = 1.5bf;", "1.5f16 + 2.0f16; bfloat y = ((__bf16)1.5f);", NULL,
     NULL},
    {"uint x = 0x1f + 0xeh + 10u;", "0x1f + 0xeh + 10u;", "f16", NULL},
    {"half x = static_cast<half>(y);", "half x = __ingot_cast<half>(y);", NULL, NULL},
    {"x = c ? p[i] : T(0);", "c ? __ingot_rvalue(p[i]) : T(0);", NULL, NULL},
    {"x = c ? a + b : *p;", "c ? a + b : __ingot_rvalue(*p);", NULL, NULL},
    {"device T &x = c ? a : b;", "c ? a : b;", "rvalue", NULL},
    {"array<int, c ? A : B> x;", ": B> x;", NULL, NULL},
    {"x = a ? b : c ? d : e;",
     "a ? __ingot_rvalue(b) : c ? __ingot_rvalue(d) : "
     "__ingot_rvalue(e);",
     NULL, NULL},
};

static const struct rewrite_case errors[] = {
    {"kernel void f(texture2d<float> t [[texture(0)]]) {}",
     "t.metal:1:15: error: kernel \"f\" has a texture2d parameter; textures and samplers are not "
     "supported",
     NULL, NULL},
    {"kernel void f(float x [[frobnicate]]) {}", "unknown attribute [[frobnicate]]", NULL, NULL},
    {"kernel void f(device float *x [[buffer]]) {}", "[[buffer]] needs an index", NULL, NULL},
    {"constant int a [[function_constant(b)]];",
     "1:36: error: the index of function constant \"a\" is \"b\"; it must be an integer from 0 to "
     "65535",
     NULL, NULL},
    {"kernel void f() {\n  double x = 1;\n}",
     "t.metal:2:3: error: 'double' is not part of the Metal language", NULL, NULL},
    {"kernel void f() {}", "t.metal has no kernel named \"g\"", NULL, "g"},
};

/* Runs of white space become one space. */
static char *squeeze(const char *text) {
    char *copy = malloc(strlen(text) + 1), *out = copy;
    if (!copy) {
        return NULL;
    }
    for (const char *p = text; *p; p++) {
        char c = *p == '\n' || *p == '\t' ? ' ' : *p;
        if (c != ' ' || (out > copy && out[-1] != ' ')) {
            *out++ = c;
        }
    }
    *out = 0;
    return copy;
}

static ingot_status rewrite(struct ig_arena *arena, const char *source, const char *kernel,
                            const char **cpp, struct igc_source *opened, struct ig_error *error) {
    struct igc_options options = {.source_name = "t.metal", .msl_version = 320};
    size_t size;
    ingot_status status =
        igc_source_open(arena, &options, source, strlen(source), true, opened, error);
    if (status != INGOT_OK) {
        return status;
    }
    return igc_source_rewrite(opened, kernel ? &kernel : NULL, kernel ? 1 : 0, cpp, &size, error);
}

static void check_rewrites(void) {
    for (size_t i = 0; i < sizeof rewrites / sizeof *rewrites; i++) {
        const struct rewrite_case *test = &rewrites[i];
        struct ig_arena arena = {0};
        struct ig_error error = {0};
        struct igc_source opened;
        const char *cpp = "";
        bool ok = rewrite(&arena, test->source, test->kernel, &cpp, &opened, &error) == INGOT_OK;
        char *got = squeeze(cpp), *expected = squeeze(test->expected);
        ok = ok && got && expected && strstr(got, expected) &&
             !(test->unexpected && strstr(strchr(got, '"'), test->unexpected));
        if (!ok) {
            fprintf(stderr, "source:   %s\nexpected: %s\nwithout:  %s\ngot:      %s\n%s\n",
                    test->source, test->expected, test->unexpected ? test->unexpected : "", got,
                    ig_error_text(&error));
        }
        CHECK(ok);
        free(got);
        free(expected);
        ig_error_clear(&error);
        ig_arena_free(&arena);
    }
}

static void check_errors(void) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        struct ig_arena arena = {0};
        struct ig_error error = {0};
        struct igc_source opened;
        const char *cpp;
        bool failed =
            rewrite(&arena, errors[i].source, errors[i].kernel, &cpp, &opened, &error) != INGOT_OK;
        bool ok = failed && strstr(ig_error_text(&error), errors[i].expected);
        if (!ok) {
            fprintf(stderr, "source: %s\nexpected: %s\ngot: %s\n", errors[i].source,
                    errors[i].expected, ig_error_text(&error));
        }
        CHECK(ok);
        ig_error_clear(&error);
        ig_arena_free(&arena);
    }
}

static size_t count_lines(const char *text) {
    size_t count = 0;
    for (; *text; text++) {
        count += *text == '\n';
    }
    return count;
}

/* Lines stay: two come in front, one goes at the end. */
static void check_lines(void) {
    const char *source = "kernel void a(device float *x\n  [[buffer(0)]],\n uint i\n "
                         "[[thread_position_in_grid]])\n{\n}\nkernel void b()\n{\n g();\n}\n";
    struct ig_arena arena = {0};
    struct ig_error error = {0};
    struct igc_source opened;
    const char *cpp = "";
    CHECK(rewrite(&arena, source, "a", &cpp, &opened, &error) == INGOT_OK);
    CHECK(count_lines(cpp) == count_lines(source) + 4);
    CHECK(opened.kernel_count == 2 && strcmp(opened.kernels[1], "b") == 0);
    ig_error_clear(&error);
    ig_arena_free(&arena);
}

static void check_constants(void) {
    const char *source = "constant uint3 size [[function_constant(7)]];\n"
                         "constant bool flag [[function_constant(1)]];\n"
                         "constant half h [[function_constant(2)]];\n"
                         "constant bool f = is_function_constant_defined(flag) ? flag : true;\n";
    struct ig_arena arena = {0};
    struct ig_error error = {0};
    struct igc_source opened;
    const char *cpp = "";
    CHECK(rewrite(&arena, source, NULL, &cpp, &opened, &error) == INGOT_OK);
    CHECK(opened.constant_count == 3);
    if (opened.constant_count == 3) {
        CHECK(strcmp(opened.constants[0].name, "size") == 0 && opened.constants[0].index == 7);
        CHECK(opened.constants[0].scalar == INGOT_SCALAR_U32);
        CHECK(opened.constants[0].components == 3 && opened.constants[0].size == 16);
        CHECK(opened.constants[0].required == 1 && opened.constants[1].required == 0);
        CHECK(opened.constants[2].scalar == INGOT_SCALAR_F16 && opened.constants[2].size == 2);
    }
    ig_error_clear(&error);
    ig_arena_free(&arena);
}

/* Whatever comes in, printing the tokens gives it back, and nothing crashes. */
static void check_odd_input(void) {
    static const char *const inputs[] = {
        "",
        "(",
        ")]}",
        "\"abc",
        "'x",
        "R\"(abc",
        "/* abc",
        "// abc",
        "#",
        "# 5 \"abc",
        "kernel",
        "kernel void",
        "kernel void f(",
        "[[",
        "[[kernel]]",
        "template",
        "template <",
        "template <> kernel void f<",
        "a ? b",
        "a ? b : ",
        "x[[y]]",
        "struct S { int f() device",
        "constant int x [[function_constant(",
        "constant int x [[function_constant(x = x)]];",
        "1.",
        ".5e",
        "0x",
        "\\",
        "kernel void f(,,,) {}",
        "kernel kernel kernel void f() {}",
        "{{{{((((",
        "}}}}))))",
        "threadgroup",
        "?:?:?:",
        "is_function_constant_defined(",
    };
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        struct ig_arena arena = {0};
        struct ig_error error = {0};
        struct igc_tokens tokens;
        struct igc_source opened;
        const char *cpp;
        CHECK(igc_lex(&arena, inputs[i], strlen(inputs[i]), "t.metal", &tokens, &error) ==
              INGOT_OK);
        size_t size = 0;
        for (size_t k = 0; k <= tokens.count; k++) {
            size += tokens.items[k].space + tokens.items[k].size;
        }
        CHECK(size == strlen(inputs[i]));
        rewrite(&arena, inputs[i], NULL, &cpp, &opened, &error);
        ig_error_clear(&error);
        ig_arena_free(&arena);
    }
}

static void check_macros(void) {
    static const char *const definitions[] = {"#define N 4",
                                              "#define MIN(a, b) ((a) < (b) ? (a) : (b))",
                                              "#define LOOP LOOP", "#define M N + N"};
    struct igc_macros macros = {0};
    struct ig_text out = {0};
    for (size_t i = 0; i < 4; i++) {
        igc_macro_define(&macros, definitions[i], definitions[i] + strlen(definitions[i]));
    }
    const char *line = "#pragma unroll(MIN(N, M)) LOOP MIN";
    igc_macro_expand(&macros, line, line + strlen(line), &out);
    CHECK(strcmp(ig_text_string(&out),
                 "#pragma unroll(((4) < (4 + 4) ? (4) : (4 + 4))) LOOP MIN") == 0);
    ig_text_free(&out);
    igc_macros_free(&macros);
}

/* Macros that expand to nothing, 40 times in each other: the expansion ends all the same. */
static void check_empty_macros(void) {
    enum { DEEP = 7, WIDE = 40 };
    struct igc_macros macros = {0};
    struct ig_text definitions[DEEP + 1] = {0}, out = {0};
    for (int i = 0; i <= DEEP; i++) {
        ig_text_printf(&definitions[i], "#define M%d(x) ", i);
        for (int k = 0; k < WIDE && i < DEEP; k++) {
            ig_text_printf(&definitions[i], "M%d(x)", i + 1);
        }
        const char *text = ig_text_string(&definitions[i]);
        igc_macro_define(&macros, text, text + definitions[i].size);
    }
    const char *line = "#pragma unroll(2 M0(1))";
    igc_macro_expand(&macros, line, line + strlen(line), &out);
    CHECK(!strncmp(ig_text_string(&out), "#pragma unroll(2 ", 17) && out.size < 4096);
    ig_text_free(&out);
    for (int i = 0; i <= DEEP; i++) {
        ig_text_free(&definitions[i]);
    }
    igc_macros_free(&macros);
}

static void check_words(void) {
    static const char *const cases[][2] = {
        {"cannot convert '__global float *' to '__local _Float16 *'",
         "cannot convert 'device float *' to 'threadgroup half *'"},
        {"'const __global_host metal::vec<unsigned int, 3>'", "'constant uint3'"},
        {"from 'vec<[...], 3>' to '__ingot_vec<_Float16 __attribute__((ext_vector_type(2)))>'",
         "from 'vec<[...], 3>' to 'half2'"},
        {"'S<__ingot_vec<T>, __ingot_vec<float __attribute__((ext_vector_type(",
         "'S<vec<T>, vec<float __attribute__((ext_vector_type("},
        {"unknown type name 'texture2d'",
         "unknown type name 'texture2d'; textures and samplers are not supported"},
        {"x__global", "x__global"},
        {"from 'half' (aka '_Float16') to 'T' (aka '__bf16')", "from 'half' to 'T' (aka 'bfloat')"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ig_text out = {0};
        igc_message_words(cases[i][0], strlen(cases[i][0]), &out);
        CHECK(strcmp(ig_text_string(&out), cases[i][1]) == 0);
        ig_text_free(&out);
    }
}

/* Line markers of a text that an archive keeps: files below the prelude and the root are named from
 * there, all others as they were, and so is what only looks like a marker. */
static void check_kept_source(void) {
    static const char text[] =
        "# 1 \"/opt/ingot/prelude/metal_stdlib\" 1 3\n"
        "# 1 \"/home/a/tree/kernels/rows.h\" 1\nint x;\n"
        "#line 7 \"/home/a/tree//inner/b.h\"\n"
        "# 2 \"/home/a/treehouse.h\" 2\n# 3 \"/home/a/tree\"\n# 4\n"
        "#pragma unroll\n x = \"# 1 \\\"/home/a/tree/no\\\"\";\n# 9 \"own.metal\"";
    static const char kept[] =
        "# 1 \"<prelude/metal_stdlib>\" 1 3\n"
        "# 1 \"<kernels/rows.h>\" 1\nint x;\n"
        "#line 7 \"<inner/b.h>\"\n"
        "# 2 \"/home/a/treehouse.h\" 2\n# 3 \"/home/a/tree\"\n# 4\n"
        "#pragma unroll\n x = \"# 1 \\\"/home/a/tree/no\\\"\";\n# 9 \"own.metal\"";
    struct ig_arena arena = {0};
    struct igc_options options = {.prelude_dir = "/opt/ingot/prelude", .root = "/home/a/tree/"};
    const char *made = igc_kept_source(&arena, &options, text, sizeof text - 1);
    CHECK(made && !strcmp(made, kept));
    options = (struct igc_options){.prelude_dir = "/nowhere"};
    made = igc_kept_source(&arena, &options, text, sizeof text - 1);
    CHECK(made && !strcmp(made, text));
    made = igc_kept_source(&arena, &options, "", 0);
    CHECK(made && !*made);
    ig_arena_free(&arena);
}

int main(void) {
    check_rewrites();
    check_errors();
    check_lines();
    check_constants();
    check_odd_input();
    check_macros();
    check_empty_macros();
    check_words();
    check_kept_source();
    return check_report();
}
