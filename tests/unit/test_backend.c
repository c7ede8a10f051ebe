/*
 * How to add a back end, as an example that runs: a toy whose code is a text, one line per
 * instruction of the kernel. It has a target, a table of two passes and a mark, facts, code and
 * packaging; outside of this it needs a line in the list of back ends. That list is at the end, in
 * place of driver/backends.c. The tests go through the command line, so they show that the driver,
 * --variants,
 * --emit, --passes and the messages know the toy, though none of them names it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "check.h"
#include "compiler/cpu/cpu.h"
#include "compiler/driver/driver.h"
#include "compiler/ir/walk.h"
#include "compiler/nvptx/nvptx.h"

/* ---- the back end: this would be src/compiler/toy/ ---- */
extern const struct igc_backend toy_backend;

/* LLVM's passes still ask for costs: the toy has those of x86-64. */
static const struct igc_target toy_1 = {
    .name = "toy-1",
    .processor = {"x86_64-unknown-linux-gnu", "x86-64", ""},
    .backend = &toy_backend,
};
static const struct igc_target *const toy_targets[] = {&toy_1, NULL};

struct toy_facts {
    unsigned loads, stores;
};

static enum igc_result count_accesses(struct igc_kernel *kernel) {
    struct toy_facts *facts = kernel->facts;
    igi_each_instruction(in, kernel->function) {
        facts->loads += LLVMIsALoadInst(in) != NULL;
        facts->stores += LLVMIsAStoreInst(in) != NULL;
    }
    return IGC_UNCHANGED;
}

static bool has_stores(const struct igc_kernel *kernel) {
    const struct toy_facts *facts = kernel->facts;
    return facts->stores > 0;
}

static unsigned notes;

static enum igc_result note_stores(struct igc_kernel *kernel) {
    (void)kernel;
    notes++;
    return IGC_UNCHANGED;
}

static const struct igc_pass toy_passes[] = {
    {.name = "toy-control", .about = "branches, one return", .inner = igc_control_passes},
    {.name = "toy-count", .about = "counts loads and stores", .run = count_accesses},
    {.name = "toy-stores",
     .about = "for kernels that store",
     .run = note_stores,
     .when = has_stores},
    {.name = "toy-ready", .about = "what the text is made of"},
    {0},
};

static const char *opcode_name(LLVMValueRef in) {
    switch (LLVMGetInstructionOpcode(in)) {
    case LLVMLoad:
        return "load";
    case LLVMStore:
        return "store";
    case LLVMFAdd:
        return "fadd";
    case LLVMRet:
        return "ret";
    default:
        return "other";
    }
}

static ingot_status make_text(struct igc_kernel *kernel, struct igc_code *code) {
    const struct toy_facts *facts = kernel->facts;
    struct ig_text text = {0};
    ig_text_printf(&text, "kernel %s: %u loads, %u stores\n", kernel->name, facts->loads,
                   facts->stores);
    igi_each_instruction(in, kernel->function) {
        ig_text_printf(&text, "%s\n", opcode_name(in));
    }
    code->size = text.size;
    code->bytes = ig_arena_copy(kernel->arena, ig_text_string(&text), text.size);
    ig_text_free(&text);
    return code->bytes ? INGOT_OK : igc_out_of_memory(kernel);
}

static ingot_status add_heading(struct igc_kernel *kernel, struct igc_code *code) {
    char *text =
        ig_arena_printf(kernel->arena, "TOY1\n%.*s", (int)code->size, (const char *)code->bytes);
    code->bytes = text;
    code->size += strlen("TOY1\n");
    return text ? INGOT_OK : igc_out_of_memory(kernel);
}

const struct igc_backend toy_backend = {
    .name = "toy",
    .about = "text, for a test",
    .targets = toy_targets,
    .passes = toy_passes,
    .facts_size = sizeof(struct toy_facts),
    .make_code = make_text,
    .package = add_heading,
};

/* ---- what driver/backends.c would say ---- */
const struct igc_backend *const igc_backends[] = {&igv_backend, &igp_backend, &toy_backend, NULL};

/* ---- tests ---- */
static const char source[] = "#include <metal_stdlib>\n"
                             "kernel void add(device float *a, device const float *b, uint i "
                             "[[thread_position_in_grid]]) {\n"
                             "    a[i] += b[i];\n"
                             "}\n"
                             "kernel void nothing(device float *a) {}\n";

struct outcome {
    struct ig_arena arena;
    struct ig_error error;
    ingot_status status;
    char *bytes;
    size_t size;
};

static char folder[] = "/tmp/ingot-test-backend-XXXXXX";

static const char *in_folder(struct ig_arena *arena, const char *name) {
    return ig_arena_printf(arena, "%s/%s", folder, name);
}

/* Runs ingotc on the source above with these options, and reads what it writes. */
static struct outcome compile(const char *const *options) {
    struct outcome o = {0};
    char *arguments[24] = {(char *)"ingotc"};
    int count = 1;
    const char *warnings;
    struct igc_command command;
    const char *out = in_folder(&o.arena, "out");
    const char *fixed[] = {in_folder(&o.arena, "source.metal"), "-o", out};
    for (size_t i = 0; i < 3; i++) {
        arguments[count++] = (char *)(uintptr_t)fixed[i];
    }
    for (; *options; options++) {
        arguments[count++] = (char *)(uintptr_t)*options;
    }
    o.status = igc_command_parse(&o.arena, count, arguments, &command, &o.error);
    if (!o.status) {
        o.status = igc_run(&o.arena, &command, &warnings, &o.error);
    }
    if (!o.status) {
        o.status = ig_file_read(out, 0, &o.bytes, &o.size, &o.error);
    }
    if (o.status) {
        fprintf(stderr, "%s\n", ig_error_text(&o.error));
    }
    return o;
}

static void outcome_free(struct outcome *o) {
    free(o->bytes);
    ig_error_clear(&o->error);
    ig_arena_free(&o->arena);
}

/* The code of a kernel for a target in the archive, with a NUL behind it; NULL: there is none. */
static const char *code_for(struct outcome *o, const char *kernel, const char *target) {
    struct ig_archive archive;
    if (o->status || ig_archive_read(&o->arena, o->bytes, o->size, &archive, &o->error)) {
        return NULL;
    }
    for (uint32_t v = 0; v < archive.variant_count; v++) {
        const struct ig_variant *variant = &archive.variants[v];
        for (uint32_t c = 0; c < variant->code_count && !strcmp(variant->kernel, kernel); c++) {
            const struct ig_code *code = &variant->codes[c];
            if (code->target && !strcmp(code->target, target)) {
                return ig_arena_copy(&o->arena, code->bytes, code->size);
            }
        }
    }
    return NULL;
}

static void test_code(void) {
    struct outcome o = compile((const char *const[]){"--target", "toy-1", "--target", "x86-64-v3",
                                                     "--target", "sm_80", NULL});
    CHECK(!o.status);
    const char *toy = code_for(&o, "add", "toy-1"), *empty = code_for(&o, "nothing", "toy-1");
    CHECK(toy && strstr(toy, "TOY1\nkernel add: 2 loads, 1 stores\n") == toy);
    CHECK(toy && strstr(toy, "load\n") && strstr(toy, "fadd\nstore\nret\n"));
    CHECK(empty && !strcmp(empty, "TOY1\nkernel nothing: 0 loads, 0 stores\nret\n"));
    const char *elf = code_for(&o, "add", "x86-64-v3"), *ptx = code_for(&o, "add", "sm_80");
    CHECK(elf && !memcmp(elf, "\177ELF", 4));
    CHECK(ptx && strstr(ptx, ".target sm_80"));
    outcome_free(&o);
}

/* A `when` that does not hold leaves its pass out. */
static void test_when(void) {
    notes = 0;
    struct outcome o =
        compile((const char *const[]){"--target", "toy-1", "--kernel", "nothing", NULL});
    CHECK(!o.status && notes == 0);
    outcome_free(&o);
    o = compile((const char *const[]){"--target", "toy-1", "--kernel", "add", NULL});
    CHECK(!o.status && notes == 1);
    outcome_free(&o);
    setenv("INGOT_SKIP", "toy-stores", 1);
    o = compile((const char *const[]){"--target", "toy-1", "--kernel", "add", NULL});
    CHECK(!o.status && notes == 1);
    outcome_free(&o);
    unsetenv("INGOT_SKIP");
}

/* --emit stops behind any pass, or shows the assembly. */
static void test_emit(void) {
    struct outcome o = compile(
        (const char *const[]){"--target", "toy-1", "--kernel", "add", "--emit", "toy-count", NULL});
    CHECK(!o.status && o.bytes && strstr(o.bytes, " = fadd "));
    outcome_free(&o);
    o = compile((const char *const[]){"--target", "toy-1", "--kernel", "add", "--emit",
                                      "one-return", NULL});
    CHECK(!o.status && o.bytes && strstr(o.bytes, "define"));
    outcome_free(&o);
    o = compile(
        (const char *const[]){"--target", "toy-1", "--kernel", "add", "--emit", "asm", NULL});
    CHECK(!o.status && o.bytes && strstr(o.bytes, "kernel add: 2 loads") == o.bytes);
    outcome_free(&o);
    o = compile((const char *const[]){"--target", "toy-1", "--no-code", NULL});
    CHECK(!o.status && !code_for(&o, "add", "toy-1"));
    outcome_free(&o);
}

/* "toy:" and "toy-1:" in a file of variants. */
static void test_variants(void) {
    static const char lines[] = "toy: add\ncpu: nothing\n";
    struct ig_arena arena = {0};
    struct ig_error error = {0};
    const char *path = in_folder(&arena, "variants");
    CHECK(!ig_file_write(path, lines, sizeof lines - 1, &error));
    struct outcome o = compile((const char *const[]){"--target", "toy-1", "--target", "x86-64-v3",
                                                     "--variants", path, NULL});
    CHECK(code_for(&o, "add", "toy-1") && !code_for(&o, "add", "x86-64-v3"));
    CHECK(!code_for(&o, "nothing", "toy-1") && code_for(&o, "nothing", "x86-64-v3"));
    outcome_free(&o);
    ig_error_clear(&error);
    ig_arena_free(&arena);
}

static void test_words(void) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    igc_print_tables(out);
    igc_print_usage(out);
    fclose(out);
    CHECK(strstr(text, "toy, for each target:") && strstr(text, "toy-1: text, for a test"));
    CHECK(strstr(text, "toy-stores") && strstr(text, "cpu, for each target:"));
    free(text);
    CHECK(igc_target_find("toy-1") == &toy_1 && igc_is_pass("toy-ready"));
}

/* Within the way of a kernel to one back end a name stands for one pass. */
static void test_names(void) {
    const struct igc_pass *seen[256];
    for (size_t b = 0; igc_backends[b]; b++) {
        const struct igc_pass *tables[] = {igc_isolate_passes, igc_backends[b]->early,
                                           igc_scalar_passes, igc_backends[b]->passes};
        size_t count = 0;
        for (size_t t = 0; t < 4; t++) {
            for (const struct igc_pass *p = tables[t]; p && p->name; p++) {
                for (size_t i = 0; i < count; i++) {
                    CHECK(strcmp(seen[i]->name, p->name) && !igc_has_pass(seen[i]->inner, p->name));
                }
                CHECK(p->about && *p->about);
                seen[count++] = p;
            }
        }
    }
}

/* A pass that leaves invalid code is named, by $INGOT_VERIFY at once and by the next mark anyway.
 */
static enum igc_result break_module(struct igc_kernel *kernel) {
    LLVMInstructionEraseFromParent(
        LLVMGetBasicBlockTerminator(LLVMGetEntryBasicBlock(kernel->function)));
    return IGC_CHANGED;
}

static void test_verify(void) {
    static const struct igc_pass broken[] = {
        {.name = "breaks", .about = "leaves a block without end", .run = break_module},
        {.name = "mark", .about = "a mark"},
        {0},
    };
    for (int now = 0; now < 2; now++) {
        struct ig_error error = {0};
        struct ig_arena arena = {0};
        LLVMContextRef context = LLVMContextCreate();
        LLVMModuleRef module = LLVMModuleCreateWithNameInContext("m", context);
        struct igc_kernel kernel = {.arena = &arena, .name = "k", .error = &error};
        igc_kernel_set_module(&kernel, module);
        LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(context), NULL, 0, false);
        kernel.function = LLVMAddFunction(module, "k", type);
        kernel.builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderAtEnd(kernel.builder,
                                 LLVMAppendBasicBlockInContext(context, kernel.function, "entry"));
        LLVMBuildRetVoid(kernel.builder);
        if (now) {
            setenv("INGOT_VERIFY", "1", 1);
        } else {
            unsetenv("INGOT_VERIFY");
        }
        CHECK(igc_run_passes(&kernel, broken) == INGOT_INTERNAL_ERROR);
        CHECK(strstr(ig_error_text(&error), now ? "the pass \"breaks\" made invalid code"
                                                : "the pass \"mark\" made invalid code"));
        LLVMDisposeBuilder(kernel.builder);
        LLVMDisposeModule(module);
        LLVMContextDispose(context);
        ig_arena_free(&arena);
        ig_error_clear(&error);
    }
}

int main(void) {
    struct ig_arena arena = {0};
    struct ig_error error = {0};
    if (!mkdtemp(folder) ||
        ig_file_write(in_folder(&arena, "source.metal"), source, sizeof source - 1, &error)) {
        fprintf(stderr, "no folder for the test: %s\n", ig_error_text(&error));
        return 1;
    }
    setenv("INGOT_VERIFY", "1", 0);
    igc_llvm_start();
    test_code();
    test_when();
    test_emit();
    test_variants();
    test_words();
    test_names();
    test_verify();
    ig_folder_remove(folder);
    ig_arena_free(&arena);
    ig_error_clear(&error);
    return check_report();
}
