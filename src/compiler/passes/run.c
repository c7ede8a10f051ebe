/*
 * The loop that runs tables of passes: see passes.h. Requires a kernel with what the passes of the
 * table need; provides what they provide. Does not know any pass.
 */
#include <llvm-c/Analysis.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"
#include "compiler/ir/map.h"
#include "compiler/ir/walk.h"
#include "compiler/passes/passes.h"

static bool is_named_by(const char *variable, const char *name) {
    const char *value = ig_environment(variable);
    return value && (!strcmp(value, name) || !strcmp(value, "all"));
}

static ingot_status run_llvm(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *name,
                             const char *passes, struct ig_error *error) {
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef failure = LLVMRunPasses(module, passes, machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (!failure) {
        return INGOT_OK;
    }
    char *message = LLVMGetErrorMessage(failure);
    ig_fail(error, INGOT_INTERNAL_ERROR, "the pass \"%s\" did not run: %s", name, message);
    LLVMDisposeErrorMessage(message);
    return INGOT_INTERNAL_ERROR;
}

ingot_status igc_run_llvm(struct igc_kernel *kernel, const char *passes) {
    return run_llvm(kernel->module, kernel->machine, passes, passes, kernel->error);
}

static ingot_status verify(LLVMModuleRef module, const char *name, struct ig_error *error) {
    char *message = NULL;
    ingot_status status = INGOT_OK;
    if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message)) {
        status = ig_fail(error, INGOT_INTERNAL_ERROR, "the pass \"%s\" made invalid code: %s", name,
                         message);
    }
    LLVMDisposeMessage(message);
    return status;
}

static void dump(LLVMModuleRef module, const char *name) {
    char *text = LLVMPrintModuleToString(module);
    fprintf(stderr, "; ---- after %s ----\n%s", name, text);
    LLVMDisposeMessage(text);
}

/* What follows every pass. */
static ingot_status look(LLVMModuleRef module, const char *name, bool always_verify,
                         struct ig_error *error) {
    if (is_named_by("INGOT_DUMP", name)) {
        dump(module, name);
    }
    return always_verify || ig_environment("INGOT_VERIFY") ? verify(module, name, error) : INGOT_OK;
}

ingot_status igc_stage(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *name,
                       const char *passes, struct ig_error *error) {
    double start = igc_time_now();
    igc_progress_at(name);
    ingot_status status =
        is_named_by("INGOT_SKIP", name) ? INGOT_OK : run_llvm(module, machine, name, passes, error);
    if (!status) {
        status = look(module, name, false, error);
    }
    igc_time_add(name, igc_time_now() - start);
    return status;
}

static ingot_status run_table(struct igc_kernel *kernel, const struct igc_pass *table);

/* A table inside a table: its passes have times of their own. */
static enum igc_result run_rounds(struct igc_kernel *kernel, const struct igc_pass *pass) {
    const unsigned rounds = pass->rounds ? pass->rounds : 1;
    for (unsigned round = 0; round < rounds && !kernel->ended; round++) {
        kernel->round = round;
        if (run_table(kernel, pass->inner)) {
            return IGC_FAILED;
        }
        kernel->round = round;
        if (pass->until && pass->until(kernel)) {
            break;
        }
    }
    return IGC_CHANGED;
}

/* The kernel's function, and those that stay functions. */
static enum igc_result run_on_each(struct igc_kernel *kernel, const struct igc_pass *pass) {
    LLVMValueRef own = kernel->function;
    enum igc_result result = pass->run(kernel);
    igi_each_function_safe(f, kernel->module) {
        if (result == IGC_FAILED || f == own || igc_kept_number(f) == IGI_NONE) {
            continue;
        }
        kernel->function = f;
        enum igc_result one = pass->run(kernel);
        result = one == IGC_UNCHANGED ? result : one;
    }
    kernel->function = own;
    return result;
}

static enum igc_result run_pass(struct igc_kernel *kernel, const struct igc_pass *pass) {
    if (is_named_by("INGOT_SKIP", pass->name)) {
        return IGC_UNCHANGED;
    }
    if (pass->inner) {
        return run_rounds(kernel, pass);
    }
    double start = igc_time_now();
    igc_progress_at(pass->name);
    if (is_named_by("INGOT_PAUSE", pass->name)) {
        pause(); /* for a debugger; a signal goes on */
    }
    enum igc_result result = IGC_UNCHANGED;
    if (pass->llvm) {
        result = igc_result_of(
            run_llvm(kernel->module, kernel->machine, pass->name, pass->llvm, kernel->error));
    } else if (pass->run) {
        result = pass->each_function ? run_on_each(kernel, pass) : pass->run(kernel);
    }
    const bool is_mark = !pass->llvm && !pass->run;
    kernel->unverified |= result == IGC_CHANGED;
    if ((is_mark || result == IGC_CHANGED) &&
        look(kernel->module, pass->name, is_mark && kernel->unverified, kernel->error)) {
        result = IGC_FAILED;
    }
    kernel->unverified &= !is_mark;
    igc_time_add(is_mark ? "verify" : pass->name, igc_time_now() - start);
    return result;
}

static ingot_status emit(struct igc_kernel *kernel, const struct igc_pass *pass) {
    struct ig_text *out = kernel->emission->text;
    kernel->ended = true;
    if (pass->print) {
        return pass->print(kernel, out);
    }
    char *text = LLVMPrintModuleToString(kernel->module);
    ig_text_puts(out, text);
    LLVMDisposeMessage(text);
    return INGOT_OK;
}

static ingot_status run_table(struct igc_kernel *kernel, const struct igc_pass *table) {
    enum igc_result last = IGC_CHANGED;
    for (const struct igc_pass *pass = table; pass->name && !kernel->ended; pass++) {
        bool wanted =
            (!pass->if_changed || last == IGC_CHANGED) && (!pass->when || pass->when(kernel));
        last = wanted ? run_pass(kernel, pass) : IGC_UNCHANGED;
        if (last == IGC_FAILED) {
            return kernel->error->status;
        }
        if (kernel->emission && !kernel->ended && !strcmp(kernel->emission->pass, pass->name)) {
            ingot_status status = emit(kernel, pass);
            if (status) {
                return status;
            }
        }
    }
    return INGOT_OK;
}

ingot_status igc_run_passes(struct igc_kernel *kernel, const struct igc_pass *table) {
    return run_table(kernel, table);
}

bool igc_has_pass(const struct igc_pass *table, const char *name) {
    for (const struct igc_pass *pass = table; pass && pass->name; pass++) {
        if (!strcmp(pass->name, name) || igc_has_pass(pass->inner, name)) {
            return true;
        }
    }
    return false;
}

/* "name", how it runs, and what it does, aligned; inner tables indented. */
static void print_table(const struct igc_pass *table, unsigned depth, FILE *out) {
    for (const struct igc_pass *pass = table; pass && pass->name; pass++) {
        const char *kind = pass->inner ? "table" : pass->llvm ? "LLVM" : pass->run ? "own" : "mark";
        bool sometimes = pass->when || pass->if_changed;
        fprintf(out, "%*s%-*s %-5s %-9s %s\n", (int)(2 * depth), "", 26 - (int)(2 * depth),
                pass->name, kind, sometimes ? "sometimes" : "", pass->about);
        print_table(pass->inner, depth + 1, out);
    }
}

void igc_print_passes(const struct igc_pass *table, FILE *out) {
    print_table(table, 0, out);
}
