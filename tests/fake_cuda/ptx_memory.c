/* Loads, stores, atomics and asynchronous copies: see ptx.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ptx.h"

uint64_t ptx_variable_address(const struct ptx_machine *machine, const struct ptx_thread *thread,
                              const struct ptx_variable *variable) {
    (void)thread;
    if (variable->is_dynamic) {
        return (machine->module->shared_bytes + 15u) & ~15u;
    }
    if (variable->space == PTX_GLOBAL || variable->space == PTX_CONST) {
        return (uintptr_t)variable->memory;
    }
    return variable->offset;
}

uint64_t ptx_address(struct ptx_machine *machine, const struct ptx_thread *thread,
                     const struct ptx_operand *operand) {
    uint64_t base = 0;
    if (operand->base_register) {
        base = thread->registers[operand->reg];
    } else if (operand->reg >= 0) {
        base = ptx_variable_address(machine, thread, &machine->module->variables[operand->reg]);
    }
    return base + operand->value;
}

static const char *space_name(int space) {
    static const char *const names[] = {"generic", "global", "shared", "local", "param", "const"};
    return names[space];
}

static bool is_constant(const struct ptx_machine *machine, uint64_t address, size_t bytes) {
    for (int32_t i = 0; i < machine->module->variable_count; i++) {
        const struct ptx_variable *one = &machine->module->variables[i];
        uint64_t start = (uintptr_t)one->memory;
        if (start && address >= start && address + bytes <= start + one->size) {
            return true;
        }
    }
    return false;
}

void *ptx_memory(struct ptx_machine *machine, struct ptx_thread *thread, struct ptx_instruction *in,
                 int space, uint64_t address, size_t bytes, size_t align) {
    uint64_t at = address;
    if (space == PTX_GENERIC) {
        uint64_t window = address & PTX_WINDOW_MASK;
        space = window == PTX_SHARED_WINDOW  ? PTX_SHARED
                : window == PTX_LOCAL_WINDOW ? PTX_LOCAL
                : window == PTX_PARAM_WINDOW ? PTX_PARAM
                                             : PTX_GLOBAL;
        if (space != PTX_GLOBAL) {
            at = address & ~PTX_WINDOW_MASK;
        }
    }
    if (at % align) {
        ptx_fail(machine, thread, in, PTX_MISALIGNED,
                 "%s address %" PRIx64 " is not a multiple of %zu", space_name(space), address,
                 align);
        return NULL;
    }
    char *start = NULL;
    uint64_t size = 0;
    switch (space) {
    case PTX_SHARED:
        start = machine->shared;
        size = machine->shared_bytes;
        break;
    case PTX_LOCAL:
        start = thread->local;
        size = machine->function->local_bytes;
        break;
    case PTX_PARAM:
        start = (char *)(uintptr_t)machine->launch->parameters;
        size = machine->module->variables[0].size;
        for (int32_t i = 0; i < machine->module->variable_count; i++) {
            if (machine->module->variables[i].space == PTX_PARAM) {
                size = machine->module->variables[i].size;
            }
        }
        break;
    default:
        if (machine->launch->starts_early && !thread->has_waited && space == PTX_GLOBAL) {
            ptx_fail(machine, thread, in, PTX_TOO_EARLY,
                     "global address %" PRIx64 " before griddepcontrol.wait, with an early start",
                     address);
            return NULL;
        }
        if (machine->launch->is_memory(at, bytes, &in->memory_hint) ||
            is_constant(machine, at, bytes)) {
            return (void *)(uintptr_t)at; /* NOLINT: an address of this process */
        }
    }
    bool shared_hole = space == PTX_SHARED && at < PTX_SHARED_START;
    if (start && !shared_hole && at <= size && bytes <= size - at) {
        bool reads = in->opcode == PTX_LD || in->opcode == PTX_LDU || in->opcode == PTX_LDMATRIX ||
                     in->opcode == PTX_WGMMA;
        if (space == PTX_SHARED) {
            ptx_races_access(machine, thread, in, (uint32_t)at, bytes, !reads);
        }
        return start + at;
    }
    ptx_fail(machine, thread, in, PTX_BAD_ADDRESS,
             "%zu bytes at %s address %" PRIx64 " are in no memory", bytes, space_name(space),
             address);
    return NULL;
}

/* ---- loads and stores ---- */

static uint64_t load_element(const char *from, struct ptx_type type) {
    uint64_t value = 0;
    memcpy(&value, from, type.bits / 8u);
    if (type.kind == PTX_SIGNED && type.bits < 64) {
        unsigned shift = 64u - type.bits;
        value = (uint64_t)((int64_t)(value << shift) >> shift);
    }
    return value;
}

static void load(struct ptx_machine *machine, struct ptx_thread *thread,
                 struct ptx_instruction *in) {
    const struct ptx_operand *to = &in->operands[0];
    size_t size = in->type.bits / 8u, bytes = size * in->vector;
    const char *from = ptx_memory(machine, thread, in, in->space,
                                  ptx_address(machine, thread, &in->operands[1]), bytes, bytes);
    if (!from) {
        return;
    }
    uint64_t policy = in->operand_count > 2 ? thread->registers[in->operands[2].reg] : PTX_POLICY;
    if (policy != PTX_POLICY) {
        ptx_fail(machine, thread, in, PTX_BAD_ADDRESS, "%" PRIx64 " is not a cache policy", policy);
        return;
    }
    if (to->kind != PTX_VECTOR) {
        ptx_write(thread, to->reg, load_element(from, in->type));
        return;
    }
    for (int i = 0; i < to->count; i++) {
        if (to->elements[i] >= 0) {
            ptx_write(thread, to->elements[i], load_element(from + size * (size_t)i, in->type));
        }
    }
}

static void store(struct ptx_machine *machine, struct ptx_thread *thread,
                  struct ptx_instruction *in) {
    const struct ptx_operand *from = &in->operands[1];
    size_t size = in->type.bits / 8u, bytes = size * in->vector;
    char *to = ptx_memory(machine, thread, in, in->space,
                          ptx_address(machine, thread, &in->operands[0]), bytes, bytes);
    if (!to) {
        return;
    }
    for (int i = 0; i < in->vector; i++) {
        uint64_t value = from->kind == PTX_VECTOR ? ptx_read_element(thread, from, i)
                                                  : ptx_read(machine, thread, from, in->type);
        memcpy(to + size * (size_t)i, &value, size);
    }
}

/* ---- atomics ---- */

static void atomic(struct ptx_machine *machine, struct ptx_thread *thread,
                   struct ptx_instruction *in) {
    int first = in->opcode == PTX_ATOM; /* red has no result */
    unsigned bits = in->type.pair ? 32 : in->type.bits;
    size_t size = bits / 8u;
    char *at = ptx_memory(machine, thread, in, in->space,
                          ptx_address(machine, thread, &in->operands[first]), size, size);
    if (!at) {
        return;
    }
    uint64_t before = 0, value = ptx_read(machine, thread, &in->operands[first + 1], in->type);
    memcpy(&before, at, size);
    uint64_t after;
    if (in->operation == PTX_OP_CAS) {
        uint64_t other = ptx_read(machine, thread, &in->operands[first + 2], in->type);
        after = before == value ? other : before;
    } else {
        after = ptx_combine_values(in->operation, in->type, before, value);
    }
    memcpy(at, &after, size);
    if (first && in->operands[0].kind == PTX_REGISTER) {
        ptx_write(thread, in->operands[0].reg, before);
    }
}

/* ---- cp.async: nothing happens before the wait ---- */

static void start_copy(struct ptx_machine *machine, struct ptx_thread *thread,
                       struct ptx_instruction *in) {
    uint32_t bytes = (uint32_t)in->operands[2].value, copied = bytes;
    if (in->operand_count > 3) {
        copied = (uint32_t)ptx_read(machine, thread, &in->operands[3],
                                    (struct ptx_type){PTX_UNSIGNED, 32, 0});
    }
    if (copied > bytes) {
        copied = bytes;
    }
    char *to = ptx_memory(machine, thread, in, PTX_SHARED,
                          ptx_address(machine, thread, &in->operands[0]), bytes, bytes);
    const char *from = NULL;
    if (to && copied) {
        from = ptx_memory(machine, thread, in, PTX_GLOBAL,
                          ptx_address(machine, thread, &in->operands[1]), copied, bytes);
    }
    if (!to || (copied && !from)) {
        return;
    }
    if (thread->copy_count == thread->copy_room) {
        uint32_t room = thread->copy_room ? thread->copy_room * 2 : 64;
        struct ptx_copy *copies = realloc(thread->copies, room * sizeof *copies);
        if (!copies) {
            ptx_fail(machine, thread, in, PTX_TRAPPED, "no memory for %u copies", room);
            return;
        }
        thread->copies = copies;
        thread->copy_room = room;
    }
    thread->copies[thread->copy_count++] =
        (struct ptx_copy){to, from, bytes, copied, thread->copy_group};
}

/* Copies of the groups before `group` happen: each is a write at the wait, as it was at its start.
 */
static void finish_copies(struct ptx_machine *machine, struct ptx_thread *thread,
                          const struct ptx_instruction *in, uint32_t group) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < thread->copy_count; i++) {
        const struct ptx_copy copy = thread->copies[i];
        if (copy.group >= group) {
            thread->copies[kept++] = copy;
            continue;
        }
        ptx_races_access(machine, thread, in, (uint32_t)(copy.to - machine->shared), copy.bytes,
                         true);
        memset(copy.to, 0, copy.bytes);
        if (copy.copied) {
            memcpy(copy.to, copy.from, copy.copied);
        }
    }
    thread->copy_count = kept;
}

static void asynchronous(struct ptx_machine *machine, struct ptx_thread *thread,
                         struct ptx_instruction *in) {
    uint32_t pending = (uint32_t)in->operands[0].value;
    switch (in->operation) {
    case PTX_OP_COPY:
        start_copy(machine, thread, in);
        break;
    case PTX_OP_COMMIT:
        thread->copy_group++;
        break;
    case PTX_OP_WAIT: /* all but the latest `pending` committed groups */
        finish_copies(machine, thread, in,
                      thread->copy_group > pending ? thread->copy_group - pending : 0);
        break;
    default:
        thread->copy_group++;
        finish_copies(machine, thread, in, thread->copy_group);
    }
}

void ptx_access(struct ptx_machine *machine, struct ptx_thread *thread,
                struct ptx_instruction *in) {
    switch (in->opcode) {
    case PTX_LD:
    case PTX_LDU:
        load(machine, thread, in);
        break;
    case PTX_ST:
        store(machine, thread, in);
        break;
    case PTX_CP:
        asynchronous(machine, thread, in);
        break;
    default:
        atomic(machine, thread, in);
    }
}
