/* The front end with clang behind it: bitcode for what is right, messages for what is wrong. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "check.h"
#include "compiler/frontend/frontend.h"

struct compile_case {
    const char *name;
    const char *source;
    const char *expected; /* NULL: it compiles; else a fragment of the message */
};

#define HEADER "#include <metal_stdlib>\nusing namespace metal;\n"

static const struct compile_case cases[] = {
    {"plain",
     HEADER "kernel void f(device float *x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }",
     NULL},
    {"no include", "kernel void f(device float *x) { x[0] = metal::exp(x[1]); }", NULL},
    {"template",
     HEADER
     "template <typename T, int N> [[kernel, max_total_threads_per_threadgroup(N * 32)]] void "
     "f(device T *x, constant T &y, threadgroup T *z [[threadgroup(0)]]) { x[0] = y + z[N]; }\n"
     "template [[host_name(\"a\")]] kernel void f<float, 4>(device float *, constant float &, "
     "threadgroup float *);\n"
     "template [[host_name(\"b\")]] kernel decltype(f<half, 2>) f<half, 2>;\n",
     NULL},
    {"differing twins",
     HEADER
     "struct S { float v; float get() const device { return v; } float get() const threadgroup "
     "{ return -v; } };\nkernel void f(device S *a, threadgroup S *b, device float *o) "
     "{ o[0] = a->get() + b->get(); }",
     NULL},
    {"function constants",
     HEADER "constant int n [[function_constant(0)]];\n"
            "constant int m = is_function_constant_defined(n) ? n : 3;\n"
            "kernel void f(device float *x, device float *y [[function_constant(n)]]) "
            "{ x[0] = m + y[0]; }",
     NULL},
    {"half and bfloat casts",
     HEADER "template <typename A, typename B> void c(device A *a, device B *b) "
            "{ a[0] = A(b[0]); a[1] = (A)b[1]; a[2] = static_cast<A>(b[2]); }\n"
            "kernel void f(device half *a, device bfloat *b) { c(a, b); c(b, a); }",
     NULL},
    {"unroll with a macro",
     HEADER
     "#define MIN(a, b) ((a) < (b) ? (a) : (b))\n#define N 4\nkernel void f(device float *x) "
     "{\n#pragma unroll(MIN(N, 8))\n for (int i = 0; i < N; i++) x[i] = i;\n}",
     NULL},
    {"syntax error", HEADER "kernel void f(device float *x) {\n    x[0] = ;\n}\n",
     "t.metal:4:12: error: expected expression\n    x[0] = ;\n           ^"},
    {"unknown name", HEADER "kernel void f(device float *x) {\n\tx[0] = foo(1.0);\n}\n",
     "t.metal:4:9: error: use of undeclared identifier 'foo'\n\tx[0] = foo(1.0);\n\t       ^"},
    {"address spaces", HEADER "kernel void f(device float *x) {\n  threadgroup float *y = x;\n}\n",
     "t.metal:4:22: error: cannot initialize a variable of type 'threadgroup float *' with an "
     "lvalue of type 'device float *'"},
    {"error inside a template",
     HEADER "template <typename T> T g(T x) { return x.foo; }\nkernel void f(device float *x) {\n"
            "  x[0] = g(1.0f);\n}\n",
     "t.metal:3:42: error: member reference base type 'float' is not a structure or union"},
    {"missing include", HEADER "#include \"no_such_file.h\"\n",
     "t.metal:3:10: error: 'no_such_file.h' file not found\n#include \"no_such_file.h\"\n         "
     "^"},
    {"texture in a template",
     HEADER "template <int N> kernel void g(texture2d<float> t) {}\n"
            "template [[host_name(\"f\")]] kernel void g<1>(texture2d<float>);\n",
     "t.metal:4:46: error: kernel \"f\" has a texture2d parameter; textures and samplers are not "
     "supported"},
    {"half and bfloat mixed",
     HEADER "kernel void f(device half *a, device bfloat *b) {\n  a[0] = a[1] + b[1];\n}\n",
     "t.metal:4:1: error: one operand is half and the other bfloat; convert one of them"},
    {"bad parameter line",
     HEADER "kernel void f(device float *x,\n              device Missing *y) {}\n",
     "t.metal:4:22: error: unknown type name 'Missing'\n              device Missing *y) {}\n"},
};

static char *prelude_folder(void) {
    const char *chosen = getenv("INGOT_PRELUDE");
    return strdup(chosen && *chosen ? chosen : INGOT_SOURCE_FOLDER "/prelude");
}

static void run_case(const struct compile_case *test, const struct igc_options *options) {
    struct ig_arena arena = {0};
    struct ig_error error = {0};
    struct igc_source source;
    struct igc_compiled made = {.size = 0};
    ingot_status status = igc_source_open(&arena, options, test->source, strlen(test->source),
                                          false, &source, &error);
    if (status == INGOT_OK) {
        status = igc_source_compile(&source, options, NULL, 0, &made, &error);
    }
    bool ok =
        test->expected
            ? status == INGOT_COMPILE_ERROR && strstr(ig_error_text(&error), test->expected) != NULL
            : status == INGOT_OK && made.size > 4 && memcmp(made.bitcode, "BC", 2) == 0;
    if (!ok) {
        fprintf(stderr, "%s: expected %s, got status %d:\n%s\n", test->name,
                test->expected ? test->expected : "no error", (int)status, ig_error_text(&error));
    }
    CHECK(ok);
    ig_error_clear(&error);
    ig_arena_free(&arena);
}

/* What an archive stores can be compiled again, without the user's files. */
static void check_second_compilation(const struct igc_options *options) {
    struct ig_arena arena = {0};
    struct ig_error error = {0};
    struct igc_source first, second;
    struct igc_compiled made = {.size = 0};
    const char *name = "b";
    const char *text =
        HEADER "#define K(n) kernel void n(device float *x) { x[0] = 1.5; }\nK(a) K(b)\n";
    CHECK(igc_source_open(&arena, options, text, strlen(text), false, &first, &error) == INGOT_OK);
    CHECK(first.kernel_count == 2);
    CHECK(igc_source_open(&arena, options, first.preprocessed, strlen(first.preprocessed), true,
                          &second, &error) == INGOT_OK);
    CHECK(second.kernel_count == 2);
    CHECK(igc_source_compile(&second, options, &name, 1, &made, &error) == INGOT_OK);
    CHECK(made.size > 0);
    ig_error_clear(&error);
    ig_arena_free(&arena);
}

/* Another process may empty the cache at any time, also between a look at the precompiled header
 * and its use: a clang that finds it gone, once for each file `remove`. */
static void check_removed_header(const struct igc_options *options, const char *folder) {
    struct igc_options wrapped = *options;
    char *script = NULL, *clang = NULL, *sign = NULL;
    CHECK(asprintf(&clang, "%s/clang", folder) > 0 && asprintf(&sign, "%s/remove", folder) > 0);
    int size = asprintf(&script,
                        "#!/bin/sh\nfor word; do\n"
                        "[ \"$last\" = -include-pch ] && rm '%s' && rm \"$word\"\nlast=$word\n"
                        "done 2>/dev/null\nexec '%s' \"$@\"\n",
                        sign, options->clang);
    CHECK(size > 0 && !ig_file_write(clang, script, (size_t)size, NULL) && !chmod(clang, 0700));
    wrapped.clang = clang;
    for (int fresh = 1; fresh >= 0; fresh--) {
        if (!fresh) {
            run_case(&cases[0], &wrapped); /* makes the header, which is there the next time */
        }
        CHECK(!ig_file_write(sign, "", 0, NULL));
        run_case(&cases[0], &wrapped);
        CHECK(access(sign, F_OK) != 0); /* it was removed */
    }
    free(script);
    free(clang);
    free(sign);
}

static void check_missing_clang(struct ig_arena *arena) {
    struct ig_error error = {0};
    const char *clang;
    setenv("INGOT_CLANG", "/nonexistent/clang", 1);
    CHECK(igc_find_clang(arena, &clang, &error) == INGOT_NO_COMPILER);
    CHECK(strstr(ig_error_text(&error), "/nonexistent/clang") != NULL);
    unsetenv("INGOT_CLANG");
    ig_error_clear(&error);
}

int main(void) {
    struct ig_arena arena = {0};
    struct ig_error error = {0};
    char *prelude = prelude_folder(), *folder = NULL;
    struct igc_options options = {.source_name = "t.metal", .msl_version = 320};
    check_missing_clang(&arena);
    options.prelude_dir = prelude;
    if (!prelude || igc_find_clang(&arena, &options.clang, &error) != INGOT_OK ||
        ig_folder_temporary(&folder, &error) != INGOT_OK) {
        fprintf(stderr, "%s\n", ig_error_text(&error));
        return 1;
    }
    options.cache_dir = folder;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_case(&cases[i], &options);
    }
    check_second_compilation(&options);
    check_removed_header(&options, folder);
    options.cache_dir = ""; /* works without, only slower */
    run_case(&cases[0], &options);
    options.cache_dir = "/proc/no/such/folder";
    run_case(&cases[0], &options);
    ig_folder_remove(folder);
    free(folder);
    free(prelude);
    ig_arena_free(&arena);
    return check_report();
}
