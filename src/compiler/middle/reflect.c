/*
 * What the host must know about a kernel. Requires an optimised kernel whose __ingot_param,
 * __ingot_max_threads and __ingot_threads_at_once calls have constant operands; provides the
 * argument list with implicit indices and slots filled in, and deletes the calls, and those of
 * __ingot_whole_simdgroups. Knows nothing of built-in arguments: they need no host data.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/module.h"
#include "compiler/ir/walk.h"
#include "compiler/middle/middle.h"

enum { PARAM_OPERANDS = 12, MAX_ORDINALS = 1024, MAX_INDEX = 0xffff, DEFAULT_THREADS = 1024 };
enum { KIND_MEMBER = 3, MAX_MEMBERS = 4096 }; /* beside the values of ingot_argument_kind */

/* The order of __ingot_param's operands. */
enum param {
    ORDINAL,
    KIND,
    SPACE,
    INDEX,
    SIZE,
    ALIGN,
    SCALAR,
    COMPONENTS,
    FLAGS,
    ACTIVE,
    NAME,
    TYPE,
};

struct found {
    LLVMValueRef call;
    uint64_t ordinal;
};

/* The address of an argument that is a buffer. */
static bool is_buffer(LLVMValueRef instruction) {
    enum igi_builtin builtin = igi_builtin_of(instruction);
    return builtin == IGI_arg_constant || builtin == IGI_arg_device;
}

static int by_ordinal(const void *a, const void *b) {
    const struct found *x = a, *y = b;
    return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

static uint64_t operand(LLVMValueRef call, enum param which) {
    LLVMValueRef value = LLVMGetOperand(call, which);
    return LLVMIsAConstantInt(value) ? LLVMConstIntGetZExtValue(value) : 0;
}

static const char *operand_text(struct ig_arena *arena, LLVMValueRef call, enum param which) {
    size_t length = 0;
    const char *text = igc_constant_text(LLVMGetOperand(call, which), &length);
    return ig_arena_copy(arena, text ? text : "", text ? strnlen(text, length) : 0);
}

/* The number of threads that a call names, or `other`. */
static uint32_t threads_of(LLVMValueRef call, uint32_t other) {
    LLVMValueRef number = LLVMGetOperand(call, 0);
    uint64_t threads = LLVMIsAConstantInt(number) ? LLVMConstIntGetZExtValue(number) : other;
    return threads && threads <= UINT16_MAX ? (uint32_t)threads : other;
}

static ingot_status add_member(struct ig_arena *arena, LLVMValueRef call, const char *kernel_name,
                               struct igc_reflection *r, struct ig_error *error) {
    if (!r->members) {
        r->members = ig_arena_array(arena, MAX_MEMBERS, sizeof *r->members);
    }
    const char *name = operand_text(arena, call, NAME);
    if (!r->members || !name || r->member_count == MAX_MEMBERS) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY,
                       "the structs behind the arguments of kernel %s have more than %d members",
                       kernel_name, MAX_MEMBERS);
    }
    r->members[r->member_count++] = (struct igc_member){
        .argument = (uint32_t)operand(call, ORDINAL),
        .id = (uint32_t)operand(call, INDEX),
        .space = (uint32_t)operand(call, SPACE),
        .scalar = (uint32_t)operand(call, SCALAR),
        .components = (uint32_t)operand(call, COMPONENTS),
        .count = (uint32_t)operand(call, FLAGS),
        .offset = operand(call, ALIGN),
        .size = operand(call, SIZE),
        .name = name,
    };
    LLVMInstructionEraseFromParent(call);
    return INGOT_OK;
}

/* Collects the calls and reads the numbers of threads. */
static ingot_status collect(struct ig_arena *arena, LLVMValueRef kernel, const char *kernel_name,
                            struct found **found, uint32_t *count, struct igc_reflection *r,
                            struct ig_error *error) {
    *found = ig_arena_array(arena, MAX_ORDINALS, sizeof **found);
    if (!*found) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the arguments of kernel %s",
                       kernel_name);
    }
    *count = 0;
    igi_each_instruction_safe(in, kernel) {
        enum igi_builtin builtin = igi_builtin_of(in);
        if (builtin == IGI_max_threads) {
            uint32_t threads = threads_of(in, DEFAULT_THREADS);
            r->asks_threads = LLVMIsAConstantInt(LLVMGetOperand(in, 0)) != NULL;
            r->asked_threads = operand(in, 0);
            r->max_threads = threads < r->max_threads ? threads : r->max_threads;
            LLVMInstructionEraseFromParent(in);
        } else if (builtin == IGI_threads_at_once) {
            r->threads_at_once = threads_of(in, 0);
            LLVMInstructionEraseFromParent(in);
        } else if (builtin == IGI_whole_simdgroups) {
            r->whole_simdgroups = true;
            LLVMInstructionEraseFromParent(in);
        } else if (builtin == IGI_full_threadgroups) {
            r->full_threadgroups = true;
            LLVMInstructionEraseFromParent(in);
        } else if (builtin == IGI_param && operand(in, KIND) == KIND_MEMBER) {
            ingot_status status = add_member(arena, in, kernel_name, r, error);
            if (status) {
                return status;
            }
        } else if (builtin == IGI_param) {
            uint64_t ordinal = operand(in, ORDINAL);
            if (*count == MAX_ORDINALS || ordinal >= MAX_ORDINALS) {
                return ig_fail(error, INGOT_COMPILE_ERROR, "kernel %s has more than %d parameters",
                               kernel_name, MAX_ORDINALS);
            }
            (*found)[(*count)++] = (struct found){in, ordinal};
        }
    }
    qsort(*found, *count, sizeof **found, by_ordinal);
    return INGOT_OK;
}

static ingot_status read_argument(struct ig_arena *arena, LLVMValueRef call,
                                  const char *kernel_name, struct ig_argument *out,
                                  struct ig_error *error) {
    const char *name = operand_text(arena, call, NAME);
    const char *spelling = operand_text(arena, call, TYPE);
    const char *type = spelling ? igc_clean_type(arena, spelling) : NULL;
    if (!name || !type) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the arguments of kernel %s",
                       kernel_name);
    }
    LLVMValueRef active = LLVMGetOperand(call, ACTIVE);
    if (!LLVMIsAConstantInt(active)) {
        return ig_fail(error, INGOT_COMPILE_ERROR,
                       "whether argument %s of kernel %s exists depends on more than function "
                       "constants with values",
                       name, kernel_name);
    }
    uint64_t flags = operand(call, FLAGS);
    *out = (struct ig_argument){
        .name = name,
        .type_name = type,
        .kind = (uint32_t)operand(call, KIND),
        .space = (uint32_t)operand(call, SPACE),
        .index = (uint32_t)operand(call, INDEX),
        .type_size = operand(call, SIZE),
        .type_align = operand(call, ALIGN),
        .scalar = (uint32_t)operand(call, SCALAR),
        .components = (uint32_t)operand(call, COMPONENTS),
        .is_reference = (flags & 1) != 0,
        .writable = (flags & 2) != 0,
        .active = LLVMConstIntGetZExtValue(active) != 0,
    };
    return INGOT_OK;
}

/* Two arguments of one index. Where constants without a value were taken as true, those may exclude
 * each other: each has a variant of its own. */
static ingot_status refuse_index(const struct ig_argument *a, const struct ig_argument *b,
                                 const struct igc_job *job, struct ig_error *error) {
    const char *kind = a->kind == INGOT_ARGUMENT_BUFFER ? "buffer" : "threadgroup";
    bool conditional = igc_source_is_conditional(job->source, job->kernel, a->name) ||
                       igc_source_is_conditional(job->source, job->kernel, b->name);
    if (conditional && (job->fill_constants || job->assumed_constants)) {
        return INGOT_OK;
    }
    return igc_source_refuse(job->source, job->kernel, a->name, error,
                             "%s of kernel \"%s\" has [[%s(%u)]], which %s has already: "
                             "give each its own index%s",
                             a->name, job->kernel, kind, a->index, b->name,
                             conditional ? ", or other values of the function constants that leave "
                                           "one of them out (--const NAME=VALUE)"
                                         : "");
}

/* Explicit indices first; then each of the others gets the lowest free one of its kind. */
static ingot_status number_arguments(struct igc_reflection *r, const struct igc_job *job,
                                     struct ig_error *error) {
    for (uint32_t i = 0; i < r->argument_count; i++) {
        struct ig_argument *a = &r->arguments[i];
        if (a->index != ~0u && a->index > MAX_INDEX) {
            return ig_fail(error, INGOT_COMPILE_ERROR,
                           "argument %s of kernel %s has index %u; the largest is %d", a->name,
                           job->kernel, a->index, MAX_INDEX);
        }
        for (uint32_t j = 0; j < i && a->index != ~0u; j++) {
            const struct ig_argument *b = &r->arguments[j];
            if (a->kind == b->kind && a->index == b->index && a->active && b->active) {
                ingot_status status = refuse_index(a, b, job, error);
                if (status) {
                    return status;
                }
            }
        }
    }
    for (uint32_t i = 0; i < r->argument_count; i++) {
        struct ig_argument *a = &r->arguments[i];
        if (a->index != ~0u) {
            continue;
        }
        bool taken = true;
        for (uint32_t candidate = 0; taken; candidate++) {
            taken = false;
            for (uint32_t j = 0; j < r->argument_count; j++) {
                taken |= r->arguments[j].kind == a->kind && r->arguments[j].index == candidate;
            }
            if (!taken) {
                a->index = candidate;
            }
        }
    }
    return INGOT_OK;
}

/* Slots in declaration order, counted per kind. */
static ingot_status assign_slots(struct ig_arena *arena, const struct found *found,
                                 struct igc_reflection *r, struct ig_error *error) {
    r->ordinal_count = r->argument_count ? (uint32_t)found[r->argument_count - 1].ordinal + 1 : 0;
    r->buffer_slots = ig_arena_array(arena, r->ordinal_count + 1u, sizeof *r->buffer_slots);
    r->threadgroup_slots =
        ig_arena_array(arena, r->ordinal_count + 1u, sizeof *r->threadgroup_slots);
    if (!r->buffer_slots || !r->threadgroup_slots) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for %u argument slots",
                       r->ordinal_count);
    }
    uint32_t buffers = 0, threadgroups = 0;
    for (uint32_t i = 0; i < r->argument_count; i++) {
        struct ig_argument *a = &r->arguments[i];
        bool is_buffer = a->kind == INGOT_ARGUMENT_BUFFER;
        a->slot = is_buffer ? buffers++ : threadgroups++;
        (is_buffer ? r->buffer_slots : r->threadgroup_slots)[found[i].ordinal] = a->slot;
    }
    return INGOT_OK;
}

/* Adds dereferenceable(size) to what the call of an __ingot_arg_ function returns. */
static void mark_argument(LLVMValueRef kernel, uint64_t ordinal, uint64_t size) {
    LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(kernel));
    unsigned kind = LLVMGetEnumAttributeKindForName("dereferenceable", 15);
    igi_each_instruction(in, kernel) {
        if (is_buffer(in) && operand(in, ORDINAL) == ordinal &&
            LLVMIsAConstantInt(LLVMGetOperand(in, 0))) {
            LLVMAddCallSiteAttribute(in, LLVMAttributeReturnIndex,
                                     LLVMCreateEnumAttribute(context, kind, size));
        }
    }
}

void igc_mark_references(LLVMValueRef kernel) {
    igi_each_instruction(in, kernel) {
        if (igi_is_call_of(in, IGI_param) && operand(in, ACTIVE) && operand(in, SIZE) &&
            (operand(in, FLAGS) & 1)) {
            mark_argument(kernel, operand(in, ORDINAL), operand(in, SIZE));
        }
    }
}

/* What no __ingot_arg_ call asks for any more, the optimised kernel does not use. */
static bool is_unused(LLVMValueRef kernel, uint64_t ordinal) {
    igi_each_instruction(in, kernel) {
        if (igi_family_of(in) == IGI_FAMILY_ARGUMENT &&
            (!LLVMIsAConstantInt(LLVMGetOperand(in, 0)) || operand(in, 0) == ordinal)) {
            return false;
        }
    }
    return true;
}

static bool is_null_test(LLVMValueRef in) {
    return LLVMIsAICmpInst(in) && (LLVMIsAConstantPointerNull(LLVMGetOperand(in, 0)) ||
                                   LLVMIsAConstantPointerNull(LLVMGetOperand(in, 1)));
}

/* Metal's programs leave a buffer out that the kernel then finds to be null. Of device memory
 * alone: in NVIDIA's launches a `constant` pointer that is zero stands for bytes beside it. */
static bool is_compared_with_null(LLVMValueRef kernel, uint64_t ordinal) {
    igi_each_instruction(in, kernel) {
        if (igi_builtin_of(in) != IGI_arg_device || !LLVMIsAConstantInt(LLVMGetOperand(in, 0)) ||
            operand(in, ORDINAL) != ordinal) {
            continue;
        }
        igi_each_use(use, in) {
            if (is_null_test(LLVMGetUser(use))) {
                return true;
            }
        }
    }
    return false;
}

ingot_status igc_reflect(struct ig_arena *arena, LLVMValueRef kernel, const struct igc_job *job,
                         struct igc_reflection *reflection, struct ig_error *error) {
    struct igc_reflection *r = reflection;
    const char *kernel_name = job->kernel;
    *r = (struct igc_reflection){.max_threads = DEFAULT_THREADS};
    struct found *found;
    uint32_t count = 0;
    ingot_status status = collect(arena, kernel, kernel_name, &found, &count, r, error);
    if (status) {
        return status;
    }
    r->arguments = ig_arena_array(arena, count + 1u, sizeof *r->arguments);
    if (!r->arguments) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the %u arguments of kernel %s",
                       count, kernel_name);
    }
    for (uint32_t i = 0; !status && i < count; i++) {
        status = read_argument(arena, found[i].call, kernel_name, &r->arguments[i], error);
        r->arguments[i].unused = is_unused(kernel, found[i].ordinal);
        r->arguments[i].optional = is_compared_with_null(kernel, found[i].ordinal);
        LLVMInstructionEraseFromParent(found[i].call);
    }
    r->argument_count = count;
    for (uint32_t m = 0; m < r->member_count; m++) {
        uint32_t i = 0;
        while (i + 1 < count && found[i].ordinal != r->members[m].argument) {
            i++;
        }
        r->members[m].argument = i;
    }
    if (!status) {
        status = number_arguments(r, job, error);
    }
    return status ? status : assign_slots(arena, found, r, error);
}
