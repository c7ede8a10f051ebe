/*
 * The functions around the vectorised ones: hand-made "full" and "any" versions note how they
 * were called; the result is linked, loaded and run on groups of all sizes.
 */
#include <dlfcn.h>
#include <llvm-c/IRReader.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "check.h"
#include "compiler/cpu/cpu.h"
#include "compiler/driver/driver.h"

/* full: calls[simdgroup] += 1; any: calls[simdgroup] += mask | 1 << 31, where `calls` is
 * group->runtime. declining: as full, but not for SIMD-group 3. */
static const char source[] = "target triple = \"x86_64-unknown-linux-gnu\"\n"
                             "define void @full(ptr %group, i32 %simdgroup, i32 %mask) {\n"
                             "  %p = getelementptr i8, ptr %group, i64 32\n"
                             "  %calls = load ptr, ptr %p\n"
                             "  %i = zext i32 %simdgroup to i64\n"
                             "  %slot = getelementptr i32, ptr %calls, i64 %i\n"
                             "  %old = load i32, ptr %slot\n"
                             "  %new = add i32 %old, 1\n"
                             "  store i32 %new, ptr %slot\n"
                             "  ret void }\n"
                             "define i1 @declining(ptr %group, i32 %simdgroup, i32 %mask) {\n"
                             "  %is3 = icmp eq i32 %simdgroup, 3\n"
                             "  br i1 %is3, label %no, label %yes\n"
                             "no:\n"
                             "  ret i1 false\n"
                             "yes:\n"
                             "  call void @full(ptr %group, i32 %simdgroup, i32 %mask)\n"
                             "  ret i1 true }\n"
                             "define void @any(ptr %group, i32 %simdgroup, i32 %mask) {\n"
                             "  %p = getelementptr i8, ptr %group, i64 32\n"
                             "  %calls = load ptr, ptr %p\n"
                             "  %i = zext i32 %simdgroup to i64\n"
                             "  %slot = getelementptr i32, ptr %calls, i64 %i\n"
                             "  %old = load i32, ptr %slot\n"
                             "  %m = or i32 %mask, -2147483648\n"
                             "  %new = add i32 %old, %m\n"
                             "  store i32 %new, ptr %slot\n"
                             "  ret void }\n";

struct loaded {
    void *library;
    const struct ingot_cpu_kernel *kernel;
};

static struct loaded load(const void *bytes, size_t size) {
    struct loaded result = {0};
    struct ig_error error = {0};
    char *folder = NULL, path[4096];
    CHECK(!ig_folder_temporary(&folder, &error));
    snprintf(path, sizeof path, "%s/kernel.so", folder);
    CHECK(!ig_file_write(path, bytes, size, &error));
    result.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (result.library) {
        result.kernel = dlsym(result.library, INGOT_CPU_KERNEL_SYMBOL);
    } else {
        fprintf(stderr, "%s\n", dlerror());
    }
    ig_folder_remove(folder);
    free(folder);
    return result;
}

/* What the exported struct is to have. */
struct wanted {
    bool full, any, barriers;
    bool row, declining; /* the row function alone, of versions `full` (or declining) and `any` */
};

static void fill_entries(LLVMModuleRef module, struct wanted wanted,
                         struct igc_entry entries[INGOT_CPU_IDS_COUNT]) {
    struct igc_entry entry = {
        .full = wanted.full ? LLVMGetNamedFunction(module, "full") : NULL,
        .any = wanted.any ? LLVMGetNamedFunction(module, "any") : NULL,
    };
    if (wanted.declining) {
        entry.full = LLVMGetNamedFunction(module, "declining");
        entry.full_may_decline = true;
    }
    if (wanted.row) {
        entries[INGOT_CPU_IDS_ROW] = entry;
        return;
    }
    entries[INGOT_CPU_IDS_ALIGNED] = entry;
    entries[INGOT_CPU_IDS_GENERAL] = entry;
}

/* Builds entries from the versions (any may be left out), links and loads them. */
static struct loaded build(struct wanted wanted) {
    const struct igv_target *target = igv_target_find("x86-64-v3");
    struct ig_arena arena = {0};
    struct ig_error error = {0};
    LLVMContextRef context = LLVMContextCreate();
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(source, strlen(source),
                                                                           "test.ll"),
                        object;
    LLVMModuleRef module;
    char *message = NULL;
    LLVMTargetMachineRef machine;
    if (LLVMParseIRInContext(context, buffer, &module, &message) ||
        igc_machine_create(&target->common, &machine, &error)) {
        fprintf(stderr, "%s\n", message ? message : ig_error_text(&error));
        exit(1);
    }
    struct igc_entry entries[INGOT_CPU_IDS_COUNT] = {0};
    fill_entries(module, wanted, entries);
    igc_build_entries(module, entries, wanted.barriers, 48, 1000, target);
    CHECK(!igc_stage(module, machine, "test", "always-inline,function(instcombine)", &error));
    CHECK(!LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMObjectFile, &message, &object));
    const void *shared = NULL;
    size_t size = 0;
    CHECK(!igc_link(&arena, LLVMGetBufferStart(object), LLVMGetBufferSize(object), &shared, &size,
                    &error));
    struct loaded result = load(shared, size);
    LLVMDisposeMemoryBuffer(object);
    LLVMDisposeTargetMachine(machine);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
    ig_error_clear(&error);
    ig_arena_free(&arena);
    return result;
}

static void test_groups(bool full, bool any) {
    struct loaded loaded = build((struct wanted){.full = full, .any = any});
    const struct ingot_cpu_kernel *k = loaded.kernel;
    CHECK(k);
    if (!k) {
        return;
    }
    CHECK(k->abi_version == INGOT_CPU_ABI_VERSION && k->flags == 0 &&
          k->static_threadgroup_bytes == 48 && k->stack_bytes == 1000);
    CHECK(k->group[0] && !k->group[1] && k->group[2] == k->group[0]);
    CHECK(k->simdgroup[0] && !k->simdgroup[1] && k->simdgroup[2] == k->simdgroup[0]);
    for (uint32_t threads = 1; threads <= 130; threads++) {
        if (!any && threads % 32) {
            continue;
        }
        uint32_t calls[8] = {0}, count = (threads + 31) / 32;
        struct ingot_cpu_group group = {
            .runtime = calls, .thread_count = threads, .simdgroup_count = count};
        k->group[0](&group);
        bool right = true;
        for (uint32_t i = 0; i < 8; i++) {
            uint32_t lanes = i * 32 >= threads ? 0 : threads - i * 32;
            uint32_t mask = lanes >= 32 ? ~0u : (1u << lanes) - 1;
            uint32_t expected = !lanes ? 0 : mask == ~0u && full ? 1 : mask | 1u << 31;
            right &= calls[i] == expected;
        }
        CHECK(right);
    }
    uint32_t calls[8] = {0};
    struct ingot_cpu_group group = {.runtime = calls};
    k->simdgroup[0](&group, 5, ~0u);
    CHECK(calls[5] == (full ? 1u : ~0u));
    if (any) {
        k->simdgroup[0](&group, 3, 6);
        CHECK(calls[3] == (6u | 1u << 31));
    }
    dlclose(loaded.library);
}

static void test_barriers(void) {
    struct loaded loaded = build((struct wanted){.full = true, .any = true, .barriers = true});
    const struct ingot_cpu_kernel *k = loaded.kernel;
    CHECK(k && k->flags == INGOT_CPU_KERNEL_BARRIERS && !k->group[0] && k->simdgroup[0]);
    uint32_t calls[8] = {0};
    struct ingot_cpu_group group = {.runtime = calls};
    k->simdgroup[0](&group, 1, ~0u);
    k->simdgroup[0](&group, 2, 7);
    CHECK(calls[1] == 1 && calls[2] == (7u | 1u << 31) && !calls[0]);
    dlclose(loaded.library);
}

/* Every part of a row once: by `full` where a SIMD-group is whole and not declined. */
static void test_rows(bool declining) {
    struct loaded loaded =
        build((struct wanted){.full = true, .any = true, .row = true, .declining = declining});
    const struct ingot_cpu_kernel *k = loaded.kernel;
    CHECK(k && k->row && !k->group[0] && !k->simdgroup[0]);
    for (uint32_t first = 0; k && first < 200; first += 1 + first % 7) {
        for (uint32_t end = first + 1; end <= 200; end++) {
            uint32_t calls[8] = {0};
            struct ingot_cpu_group group = {.runtime = calls};
            k->row(&group, first, end);
            bool right = true;
            for (uint32_t i = 0; i < 8; i++) {
                uint32_t mask = 0;
                for (uint32_t lane = 0; lane < 32; lane++) {
                    uint32_t x = i * 32 + lane;
                    mask |= x >= first && x < end ? 1u << lane : 0;
                }
                bool whole = mask == ~0u && !(declining && i == 3);
                right &= calls[i] == (!mask ? 0 : whole ? 1 : mask | 1u << 31);
            }
            CHECK(right);
        }
    }
    if (loaded.library) {
        dlclose(loaded.library);
    }
}

int main(void) {
    igc_llvm_start();
    test_groups(true, true);
    test_groups(true, false);
    test_groups(false, true);
    test_barriers();
    test_rows(false);
    test_rows(true);
    return check_report();
}
