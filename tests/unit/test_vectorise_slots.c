/*
 * Stack slots become values: functions of random control flow compute the same with LLVM's mem2reg
 * and with ours, and ours takes time linear in the function.
 */
#include <dlfcn.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/IRReader.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "check.h"
#include "compiler/cpu/cpu.h"
#include "compiler/driver/driver.h"
#include "compiler/ir/walk.h"

enum { SLOTS = 6, FUNCTIONS = 60 };

/* ---- random functions: uint32_t f(uint32_t x) ---- */
struct generator {
    struct ig_text *text;
    uint32_t random;
    unsigned values, blocks, loops;
};

static unsigned pick(struct generator *g, unsigned below) {
    g->random = g->random * 1664525u + 1013904223u;
    return (g->random >> 16) % below;
}

static void write_load(struct generator *g, unsigned slot) {
    ig_text_printf(g->text, "  %%v%u = load i32, ptr %%s%u\n", ++g->values, slot);
}

static void write_store(struct generator *g) {
    write_load(g, pick(g, SLOTS));
    write_load(g, pick(g, SLOTS));
    ig_text_printf(g->text, "  %%v%u = %s i32 %%v%u, %%v%u\n", g->values + 1,
                   pick(g, 2) ? "add" : "xor", g->values - 1, g->values);
    g->values++;
    ig_text_printf(g->text, "  store i32 %%v%u, ptr %%s%u\n", g->values, pick(g, SLOTS));
}

static void write_condition(struct generator *g) {
    write_load(g, pick(g, SLOTS));
    ig_text_printf(g->text, "  %%b%u = and i32 %%v%u, %u\n  %%c%u = icmp eq i32 %%b%u, 0\n",
                   g->values, g->values, 1u << pick(g, 4), g->values, g->values);
}

static void write_statements(struct generator *g, unsigned depth);

/* Some branches go to the end from both sides, which takes a phi's operand twice. */
static void write_if(struct generator *g, unsigned depth) {
    unsigned id = ++g->blocks, kind = pick(g, 4);
    write_condition(g);
    ig_text_printf(g->text, "  br i1 %%c%u, label %%%s%u, label %%%s%u\n", g->values,
                   kind == 0 ? "end" : "then", id, kind < 2 ? "end" : "else", id);
    if (kind > 0) {
        ig_text_printf(g->text, "then%u:\n", id);
        write_statements(g, depth + 1);
        ig_text_printf(g->text, "  br label %%end%u\n", id);
    }
    if (kind > 1) {
        ig_text_printf(g->text, "else%u:\n", id);
        write_statements(g, depth + 1);
        ig_text_printf(g->text, "  br label %%end%u\n", id);
    }
    ig_text_printf(g->text, "end%u:\n", id);
}

/* The counters are slots too. */
static void write_loop(struct generator *g, unsigned depth) {
    unsigned id = ++g->blocks, count = g->loops++;
    ig_text_printf(g->text, "  store i32 0, ptr %%n%u\n  br label %%loop%u\nloop%u:\n", count, id,
                   id);
    write_statements(g, depth + 1);
    ig_text_printf(g->text,
                   "  %%m%u = load i32, ptr %%n%u\n  %%o%u = add i32 %%m%u, 1\n"
                   "  store i32 %%o%u, ptr %%n%u\n  %%p%u = icmp ult i32 %%o%u, %u\n"
                   "  br i1 %%p%u, label %%loop%u, label %%done%u\ndone%u:\n",
                   id, count, id, id, id, count, id, id, 2 + pick(g, 4), id, id, id, id);
}

static void write_statements(struct generator *g, unsigned depth) {
    for (unsigned i = 0, count = 1 + pick(g, 4); i < count; i++) {
        unsigned kind = depth < 4 ? pick(g, 4) : 0;
        (kind == 3   ? (void)write_loop(g, depth)
         : kind == 2 ? (void)write_if(g, depth)
                     : write_store(g));
    }
}

static void write_function(struct ig_text *text, unsigned number) {
    struct ig_text body = {0};
    struct generator g = {.text = &body, .random = number};
    write_statements(&g, 0);
    ig_text_printf(text, "define i32 @f%u(i32 %%x) {\nstart:\n", number);
    for (unsigned i = 0; i < SLOTS; i++) {
        ig_text_printf(text, "  %%s%u = alloca i32\n", i);
    }
    for (unsigned i = 0; i < g.loops; i++) {
        ig_text_printf(text, "  %%n%u = alloca i32\n", i);
    }
    for (unsigned i = 0; i < SLOTS; i++) {
        ig_text_printf(text, "  %%i%u = mul i32 %%x, %u\n  store i32 %%i%u, ptr %%s%u\n", i,
                       2 * i + 3, i, i);
    }
    ig_text_append(text, body.data, body.size);
    ig_text_puts(text, "  %r0 = load i32, ptr %s0\n");
    for (unsigned i = 1; i < SLOTS; i++) {
        ig_text_printf(text,
                       "  %%l%u = load i32, ptr %%s%u\n  %%h%u = mul i32 %%r%u, 31\n"
                       "  %%r%u = add i32 %%h%u, %%l%u\n",
                       i, i, i, i - 1, i, i, i);
    }
    ig_text_printf(text,
                   "  ret i32 %%r%u\nnever:\n  %%u = load i32, ptr %%s0\n"
                   "  store i32 %%u, ptr %%s1\n  ret i32 %%u\n}\n",
                   SLOTS - 1);
    ig_text_free(&body);
}

/* ---- running them ---- */
static LLVMModuleRef parse(LLVMContextRef context, const struct ig_text *text) {
    LLVMModuleRef module;
    char *message = NULL;
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(text->data, text->size, "slots.ll");
    if (LLVMParseIRInContext(context, buffer, &module, &message)) {
        fprintf(stderr, "%s\n", message);
        exit(1);
    }
    return module;
}

static unsigned count_variables(LLVMModuleRef module) {
    unsigned count = 0;
    igi_each_function(f, module) {
        igi_each_instruction(in, f) {
            count += LLVMIsAAllocaInst(in) != NULL;
        }
    }
    return count;
}

static void *load(LLVMModuleRef module, struct ig_arena *arena, const char *folder,
                  const char *name) {
    struct ig_error error = {0};
    LLVMTargetMachineRef machine;
    LLVMMemoryBufferRef object = NULL;
    const void *shared = NULL;
    size_t size = 0;
    char path[4096];
    CHECK(!igc_machine_create(igc_target_find("x86-64-v3"), &machine, &error));
    CHECK(!igc_emit_guarded(module, machine, &(struct igc_code_options){0}, &object, &error));
    CHECK(!igc_link(arena, LLVMGetBufferStart(object), LLVMGetBufferSize(object), &shared, &size,
                    &error));
    snprintf(path, sizeof path, "%s/%s.so", folder, name);
    CHECK(!ig_file_write(path, shared, size, &error));
    LLVMDisposeMemoryBuffer(object);
    LLVMDisposeTargetMachine(machine);
    ig_error_clear(&error);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void compare(void *left, void *right) {
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        char name[16];
        uint32_t (*a)(uint32_t), (*b)(uint32_t);
        snprintf(name, sizeof name, "f%u", i);
        *(void **)&a = dlsym(left, name);
        *(void **)&b = dlsym(right, name);
        CHECK(a && b);
        for (uint32_t x = 0; a && b && x < 40; x++) {
            CHECK(a(x * 40503u) == b(x * 40503u));
        }
    }
}

static void promote(LLVMContextRef context, LLVMModuleRef module) {
    struct ig_error error = {0};
    struct igc_kernel kernel = {.context = context, .module = module, .error = &error};
    char *message = NULL;
    CHECK(igv_promote_slots(&kernel) == IGC_CHANGED);
    CHECK(!LLVMVerifyModule(module, LLVMReturnStatusAction, &message));
    LLVMDisposeMessage(message);
    ig_error_clear(&error);
}

static void test_values(void) {
    struct ig_text text = {0};
    struct ig_arena arena = {0};
    struct ig_error error = {0};
    char *folder = NULL;
    ig_text_puts(&text, "target triple = \"x86_64-unknown-linux-gnu\"\n");
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        write_function(&text, i);
    }
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef plain = parse(context, &text), promoted = parse(context, &text);
    CHECK(count_variables(plain) > FUNCTIONS * SLOTS);
    promote(context, promoted);
    CHECK(count_variables(promoted) == 0);
    CHECK(!ig_folder_temporary(&folder, &error));
    void *left = load(plain, &arena, folder, "plain");
    void *right = load(promoted, &arena, folder, "promoted");
    CHECK(left && right);
    if (left && right) {
        compare(left, right);
        dlclose(left);
        dlclose(right);
    }
    ig_folder_remove(folder);
    free(folder);
    LLVMDisposeModule(plain);
    LLVMDisposeModule(promoted);
    LLVMContextDispose(context);
    ig_text_free(&text);
    ig_arena_free(&arena);
    ig_error_clear(&error);
}

/* ---- what stays, and how long it takes ---- */
static void test_others(void) {
    static const char source[] =
        "declare void @use(ptr)\n"
        "define i32 @f(i32 %x) {\n"
        "  %escapes = alloca i32\n  %view = alloca i64\n  %many = alloca i32, i32 4\n"
        "  %slot = alloca i32\n  %volatile = alloca i32\n"
        "  call void @use(ptr %escapes)\n  store i32 %x, ptr %view\n"
        "  store i32 %x, ptr %many\n  store i32 %x, ptr %slot\n"
        "  store volatile i32 %x, ptr %volatile\n"
        "  %v = load i32, ptr %slot\n  ret i32 %v\n}\n";
    struct ig_text text = {0};
    ig_text_puts(&text, source);
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = parse(context, &text);
    promote(context, module);
    CHECK(count_variables(module) == 4);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
    ig_text_free(&text);
}

/* A slot for each of so many ifs, each read two ifs later: mem2reg's time is by the square. */
static uint64_t steps_for(unsigned ifs) {
    struct ig_text text = {0};
    ig_text_puts(&text, "define i32 @f(i32 %x) {\nstart:\n");
    for (unsigned i = 0; i <= ifs; i++) {
        ig_text_printf(&text, "  %%s%u = alloca i32\n  store i32 %%x, ptr %%s%u\n", i, i);
    }
    ig_text_puts(&text, "  br label %end1\nend1:\n");
    for (unsigned i = 2; i <= ifs; i++) {
        ig_text_printf(&text,
                       "  %%v%u = load i32, ptr %%s%u\n  %%c%u = icmp eq i32 %%v%u, %u\n"
                       "  br i1 %%c%u, label %%then%u, label %%end%u\nthen%u:\n"
                       "  store i32 %u, ptr %%s%u\n  br label %%end%u\nend%u:\n",
                       i, i - 2, i, i, i, i, i, i, i, i, i, i, i);
    }
    ig_text_printf(&text, "  %%r = load i32, ptr %%s%u\n  ret i32 %%r\n}\n", ifs);
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = parse(context, &text);
    uint64_t before = igc_work_of("promote-slots");
    promote(context, module);
    uint64_t steps = igc_work_of("promote-slots") - before;
    CHECK(count_variables(module) == 0);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
    ig_text_free(&text);
    return steps;
}

static void test_work(void) {
    igc_time_start();
    uint64_t small = steps_for(500), large = steps_for(8000);
    printf("500 ifs: %llu steps, 8000: %llu\n", (unsigned long long)small,
           (unsigned long long)large);
    CHECK(small > 500);
    CHECK(large < 16 * small * 3 / 2);
}

int main(void) {
    test_values();
    test_others();
    test_work();
    return check_report();
}
