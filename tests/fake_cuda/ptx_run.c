/* Grids, threadgroups, SIMD-groups and the schedule of their lanes: see ptx.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx.h"

#define QUANTUM    2u    /* instructions of a SIMD-group before another has its turn */
#define FAIR_STEPS 1024u /* after so many at most the lowest instruction does not go first once */
#define MAX_STEPS  ((uint64_t)1 << 25) /* instructions of SIMD-groups in a grid; $PTX_STEPS */

void ptx_fail(struct ptx_machine *machine, const struct ptx_thread *thread,
              const struct ptx_instruction *in, enum ptx_fault fault, const char *format, ...) {
    if (machine->fault) {
        return;
    }
    machine->fault = fault;
    char text[256];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    snprintf(machine->message, machine->message_size,
             "line %d of the PTX: %s: %s (thread %u of threadgroup %u,%u,%u)", in->line, in->name,
             text, thread->index, machine->block[0], machine->block[1], machine->block[2]);
}

uint32_t ptx_random(struct ptx_machine *machine) {
    machine->random = machine->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(machine->random >> 33);
}

/* ---- registers ---- */

static uint64_t special(const struct ptx_machine *machine, const struct ptx_thread *thread,
                        unsigned which) {
    const unsigned *group = machine->launch->block, *grid = machine->launch->grid;
    uint32_t lane = thread->index % PTX_LANES;
    switch (which) {
    case PTX_TID_X:
        return thread->index % group[0];
    case PTX_TID_Y:
        return thread->index / group[0] % group[1];
    case PTX_TID_Z:
        return thread->index / group[0] / group[1];
    case PTX_NTID_X:
    case PTX_NTID_Y:
    case PTX_NTID_Z:
        return group[which - PTX_NTID_X];
    case PTX_CTAID_X:
    case PTX_CTAID_Y:
    case PTX_CTAID_Z:
        return machine->block[which - PTX_CTAID_X];
    case PTX_NCTAID_X:
    case PTX_NCTAID_Y:
    case PTX_NCTAID_Z:
        return grid[which - PTX_NCTAID_X];
    case PTX_LANEID:
        return lane;
    case PTX_WARPID:
        return thread->index / PTX_LANES;
    case PTX_LANEMASK_EQ:
        return 1u << lane;
    case PTX_LANEMASK_LT:
        return (1u << lane) - 1;
    case PTX_LANEMASK_LE:
        return (1u << lane) - 1 + (1u << lane);
    case PTX_LANEMASK_GE:
        return (uint32_t)~((1u << lane) - 1);
    case PTX_LANEMASK_GT:
        return (uint32_t)~((1u << lane) - 1 + (1u << lane));
    case PTX_DYNAMIC_SMEM:
        return machine->launch->dynamic_shared;
    default:
        return machine->steps; /* clocks */
    }
}

uint64_t ptx_read(struct ptx_machine *machine, const struct ptx_thread *thread,
                  const struct ptx_operand *operand, struct ptx_type type) {
    switch (operand->kind) {
    case PTX_REGISTER:
        return thread->registers[operand->reg] ^ operand->negated;
    case PTX_IMMEDIATE:
        if (operand->is_float || type.bits >= 64) {
            return operand->value;
        }
        return operand->value & (((uint64_t)1 << (type.pair ? 32 : type.bits)) - 1);
    case PTX_SPECIAL:
        return special(machine, thread, (unsigned)operand->value);
    case PTX_VARIABLE:
        return ptx_variable_address(machine, thread, &machine->module->variables[operand->reg]);
    default:
        return 0;
    }
}

uint64_t ptx_read_element(const struct ptx_thread *thread, const struct ptx_operand *operand,
                          int element) {
    const int32_t reg = ptx_element(operand, element);
    return reg < 0 ? 0 : thread->registers[reg];
}

int32_t ptx_element(const struct ptx_operand *operand, int element) {
    return operand->many ? operand->many[element] : operand->elements[element];
}

void ptx_write(struct ptx_thread *thread, int32_t reg, uint64_t value) {
    unsigned bits = thread->function->register_bits[reg];
    thread->registers[reg] = bits >= 64 ? value : value & (((uint64_t)1 << bits) - 1);
}

/* ---- one instruction for some lanes of a SIMD-group ---- */

static bool wants(const struct ptx_thread *thread, const struct ptx_instruction *in) {
    return in->guard < 0 || (thread->registers[in->guard] & 1) != in->guard_negated;
}

static void enter_barrier(struct ptx_machine *machine, struct ptx_thread *thread,
                          const struct ptx_instruction *in) {
    static const struct ptx_type word = {PTX_UNSIGNED, 32, 0};
    static const struct ptx_type truth = {PTX_UNSIGNED, 1, 0};
    const struct ptx_operand *operands = in->operands;
    int rest = in->operand_count;
    bool counts = in->operation == PTX_OP_COUNT;
    thread->barrier_result = -1;
    if (counts) {
        thread->barrier_result = operands->reg;
        const struct ptx_operand *vote = &operands[rest - 1];
        thread->barrier_vote = (ptx_read(machine, thread, vote, truth) & 1) != vote->negated;
        operands++;
        rest -= 2;
    }
    thread->barrier = (uint32_t)ptx_read(machine, thread, &operands[0], word);
    thread->barrier_count = rest > 1 ? ptx_read(machine, thread, &operands[1], word) : 0;
    thread->state = PTX_AT_BARRIER;
}

static void end_thread(struct ptx_machine *machine, struct ptx_thread *thread,
                       const struct ptx_instruction *in) {
    if (machine->launch->starts_early && !thread->has_waited) {
        ptx_fail(machine, thread, in, PTX_TOO_EARLY,
                 "the end without griddepcontrol.wait, with an early start");
    }
    thread->state = PTX_DONE;
}

/* True when the thread goes on to the next instruction. */
static bool step_thread(struct ptx_machine *machine, struct ptx_thread *thread,
                        struct ptx_instruction *in, uint32_t mask) {
    switch (in->opcode) {
    case PTX_BRA:
        thread->pc = in->operands[0].reg;
        return false;
    case PTX_RET:
    case PTX_EXIT:
        end_thread(machine, thread, in);
        return false;
    case PTX_BAR:
    case PTX_BARRIER:
        enter_barrier(machine, thread, in);
        return true;
    case PTX_ACTIVEMASK:
        ptx_write(thread, in->operands[0].reg, mask);
        return true;
    case PTX_CREATEPOLICY:
        ptx_write(thread, in->operands[0].reg, PTX_POLICY);
        return true;
    case PTX_GRIDDEPCONTROL: /* in truth kernels run one after the other */
        thread->has_waited |= in->operation == PTX_OP_WAIT_GRIDS;
        return true;
    case PTX_TRAP:
        ptx_fail(machine, thread, in, PTX_TRAPPED, "the kernel stops itself");
        return false;
    case PTX_MEMBAR:
    case PTX_FENCE:
    case PTX_NANOSLEEP:
    case PTX_PREFETCH:
        return true;
    case PTX_LD:
    case PTX_LDU:
    case PTX_ST:
    case PTX_ATOM:
    case PTX_RED:
    case PTX_CP:
        ptx_access(machine, thread, in);
        return true;
    default:
        ptx_execute(machine, thread, in);
        return true;
    }
}

/* Lanes that wait for each other at an instruction with .sync and are all there go on. */
static bool release_lanes(struct ptx_machine *machine, struct ptx_thread *threads, uint32_t lanes) {
    uint32_t live = 0;
    bool released = false;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        live |= (uint32_t)(threads[lane].state != PTX_DONE) << lane;
    }
    for (uint32_t lane = 0; lane < lanes && !machine->fault; lane++) {
        if (threads[lane].state != PTX_AT_SYNC) {
            continue;
        }
        struct ptx_instruction *in = &machine->module->code[threads[lane].pc];
        uint32_t mask = ptx_member_mask(machine, &threads[lane], in), needed = mask & live;
        bool complete = true;
        if (!(needed >> lane & 1)) {
            ptx_fail(machine, &threads[lane], in, PTX_STUCK, "lane %u is not in its own mask %08x",
                     lane, mask);
            return false;
        }
        for (uint32_t other = 0; other < lanes && complete; other++) {
            if (needed >> other & 1) {
                complete = threads[other].state == PTX_AT_SYNC &&
                           threads[other].pc == threads[lane].pc &&
                           ptx_member_mask(machine, &threads[other], in) == mask;
            }
        }
        if (!complete) {
            continue;
        }
        ptx_execute_lanes(machine, threads, needed, in);
        ptx_races_synced(machine, threads, needed);
        for (uint32_t other = 0; other < lanes; other++) {
            if (needed >> other & 1) {
                threads[other].pc++;
                threads[other].state = PTX_READY;
            }
        }
        released = true;
    }
    return released;
}

/* The lanes of `mask` execute the instruction at `pc`. */
static void step(struct ptx_machine *machine, struct ptx_thread *threads, uint32_t mask,
                 int32_t pc) {
    struct ptx_instruction *in = &machine->module->code[pc];
    bool is_sync = ptx_is_sync(in);
    for (uint32_t rest = mask; rest && !machine->fault; rest &= rest - 1) {
        struct ptx_thread *thread = &threads[__builtin_ctz(rest)];
        if (!wants(thread, in)) {
            thread->pc = pc + 1;
        } else if (is_sync) {
            thread->state = PTX_AT_SYNC;
        } else if (step_thread(machine, thread, in, mask)) {
            thread->pc = pc + 1;
        }
    }
}

/* ---- the schedule ---- */

static uint32_t ready_lanes(const struct ptx_thread *threads, uint32_t lanes) {
    uint32_t ready = 0;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        ready |= (uint32_t)(threads[lane].state == PTX_READY) << lane;
    }
    return ready;
}

static uint32_t lanes_at(const struct ptx_thread *threads, uint32_t ready, int32_t pc) {
    uint32_t mask = 0;
    for (uint32_t rest = ready; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        mask |= (uint32_t)(threads[lane].pc == pc) << lane;
    }
    return mask;
}

static uint32_t random_lane(struct ptx_machine *machine, uint32_t ready) {
    uint32_t skip = ptx_random(machine) % (uint32_t)__builtin_popcount(ready);
    while (skip--) {
        ready &= ready - 1;
    }
    return (uint32_t)__builtin_ctz(ready);
}

/* Which lanes go on, and how far at most: to where they meet others. */
static uint32_t choose(struct ptx_machine *machine, const struct ptx_thread *threads,
                       uint32_t ready, uint32_t *budget, int32_t *until) {
    *until = INT32_MAX;
    if (machine->adverse) {
        uint32_t lane = random_lane(machine, ready);
        uint32_t some = ptx_random(machine) << 16 ^ ptx_random(machine);
        *budget = 1 + ptx_random(machine) % 64;
        return lanes_at(threads, ready, threads[lane].pc) & (some | 1u << lane);
    }
    if (machine->steps >= machine->fair_at) {
        machine->fair_at = machine->steps + 1 + ptx_random(machine) % FAIR_STEPS;
        *budget = 64;
        return lanes_at(threads, ready, threads[random_lane(machine, ready)].pc);
    }
    int32_t lowest = INT32_MAX;
    for (uint32_t rest = ready; rest; rest &= rest - 1) {
        int32_t pc = threads[__builtin_ctz(rest)].pc;
        lowest = pc < lowest ? pc : lowest;
    }
    uint32_t mask = lanes_at(threads, ready, lowest);
    for (uint32_t rest = ready & ~mask; rest; rest &= rest - 1) {
        int32_t pc = threads[__builtin_ctz(rest)].pc;
        *until = pc < *until ? pc : *until;
    }
    *budget = FAIR_STEPS;
    return mask;
}

/* True when the lanes of `mask` are still together, at `pc`. */
static bool together(const struct ptx_thread *threads, uint32_t mask, int32_t *pc) {
    *pc = threads[__builtin_ctz(mask)].pc;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const struct ptx_thread *thread = &threads[__builtin_ctz(rest)];
        if (thread->state != PTX_READY || thread->pc != *pc) {
            return false;
        }
    }
    return true;
}

/* Runs until every lane waits or has ended, or others shall have a turn; true if any went on. */
static bool run_lanes(struct ptx_machine *machine, struct ptx_thread *threads, uint32_t lanes) {
    uint64_t end = machine->steps + QUANTUM;
    bool moved = false;
    while (machine->steps < end && !machine->fault) {
        uint32_t ready = ready_lanes(threads, lanes), budget;
        if (!ready) {
            if (!release_lanes(machine, threads, lanes)) {
                break;
            }
            moved = true;
            continue;
        }
        int32_t until, pc;
        uint32_t mask = choose(machine, threads, ready, &budget, &until);
        moved = true;
        while (budget-- && !machine->fault && together(threads, mask, &pc) && pc < until) {
            int32_t here = pc;
            step(machine, threads, mask, here);
            machine->steps++;
            if (threads[__builtin_ctz(mask)].pc < here) {
                break; /* a jump back: others may be lower now */
            }
        }
    }
    return moved;
}

static bool all_done(const struct ptx_machine *machine) {
    for (uint32_t i = 0; i < machine->thread_count; i++) {
        if (machine->threads[i].state != PTX_DONE) {
            return false;
        }
    }
    return true;
}

/* The threads at a barrier go on, with the count of those that said yes if it has a result. */
static bool leave_barrier(struct ptx_machine *machine, uint32_t id, bool counts) {
    uint64_t yes = 0;
    for (uint32_t k = 0; k < machine->thread_count; k++) {
        const struct ptx_thread *thread = &machine->threads[k];
        if (thread->state != PTX_AT_BARRIER || thread->barrier != id) {
            continue;
        }
        if (counts != (thread->barrier_result >= 0)) {
            ptx_fail(machine, thread, &machine->module->code[thread->pc - 1], PTX_STUCK,
                     "threads are at one barrier with and without a result");
            return false;
        }
        yes += counts && thread->barrier_vote;
    }
    for (uint32_t k = 0; k < machine->thread_count; k++) {
        struct ptx_thread *thread = &machine->threads[k];
        if (thread->state != PTX_AT_BARRIER || thread->barrier != id) {
            continue;
        }
        if (counts) {
            ptx_write(thread, thread->barrier_result, yes);
        }
        thread->state = PTX_READY;
    }
    return true;
}

/* Threads that wait at a barrier which has what it waits for go on. */
static bool release_barriers(struct ptx_machine *machine) {
    uint32_t live = 0;
    bool released = false;
    for (uint32_t i = 0; i < machine->thread_count; i++) {
        live += machine->threads[i].state != PTX_DONE;
    }
    for (uint32_t i = 0; i < machine->thread_count; i++) {
        const struct ptx_thread *one = &machine->threads[i];
        if (one->state != PTX_AT_BARRIER) {
            continue;
        }
        uint32_t id = one->barrier, waiting = 0;
        uint64_t wanted = one->barrier_count ? one->barrier_count : live;
        for (uint32_t k = 0; k < machine->thread_count; k++) {
            waiting +=
                machine->threads[k].state == PTX_AT_BARRIER && machine->threads[k].barrier == id;
        }
        if (waiting < wanted) {
            continue;
        }
        if (!leave_barrier(machine, id, one->barrier_result >= 0)) {
            return false;
        }
        machine->epoch++;
        released = true;
    }
    return released;
}

static void report_stuck(struct ptx_machine *machine) {
    for (uint32_t i = 0; i < machine->thread_count; i++) {
        const struct ptx_thread *thread = &machine->threads[i];
        if (thread->state == PTX_DONE) {
            continue;
        }
        int32_t pc = thread->pc - (thread->state == PTX_AT_BARRIER);
        ptx_fail(machine, thread, &machine->module->code[pc], PTX_STUCK,
                 "waits for threads that never come");
        return;
    }
}

static void start_threads(struct ptx_machine *machine) {
    for (uint32_t i = 0; i < machine->thread_count; i++) {
        struct ptx_thread *thread = &machine->threads[i];
        thread->state = PTX_READY;
        thread->pc = machine->function->entry;
        thread->has_waited = false;
        thread->copy_count = thread->copy_group = 0;
        thread->product_count = thread->product_group = 0;
        thread->clock = 1;
        memset(thread->seen, 0, sizeof thread->seen);
        memset(thread->registers, 0xe5, machine->function->registers * sizeof(uint64_t));
        for (uint32_t k = 0; k < machine->function->registers; k++) {
            ptx_write(thread, (int32_t)k, thread->registers[k]);
        }
    }
    memset(machine->shared, 0xcd, machine->shared_bytes);
    machine->epoch++;
}

static void run_group(struct ptx_machine *machine) {
    uint32_t groups = (machine->thread_count + PTX_LANES - 1) / PTX_LANES;
    start_threads(machine);
    while (!machine->fault && !all_done(machine)) {
        bool moved = false;
        uint32_t first = machine->adverse ? ptx_random(machine) % groups : 0;
        for (uint32_t i = 0; i < groups && !machine->fault; i++) {
            uint32_t at = (i + first) % groups * PTX_LANES, left = machine->thread_count - at;
            moved |= run_lanes(machine, &machine->threads[at], left < PTX_LANES ? left : PTX_LANES);
        }
        if (!machine->fault && !moved && !release_barriers(machine) && !all_done(machine)) {
            report_stuck(machine);
        }
        if (machine->steps > machine->max_steps) {
            ptx_fail(machine, machine->threads, &machine->module->code[machine->threads[0].pc],
                     PTX_STUCK, "the grid has not ended after %" PRIu64 " instructions",
                     machine->steps);
        }
    }
}

/* ---- a grid ---- */

static void set_schedule(struct ptx_machine *machine) {
    const char *text = getenv("PTX_SCHEDULE");
    unsigned seed = 1;
    machine->adverse = text && strncmp(text, "adverse", 7) == 0;
    if (machine->adverse) {
        sscanf(text, "adverse:%u", &seed);
    }
    machine->random = seed;
    machine->fair_at = FAIR_STEPS;
    const char *steps = getenv("PTX_STEPS");
    machine->max_steps = steps && *steps ? strtoull(steps, NULL, 10) : MAX_STEPS;
}

static bool allocate(struct ptx_machine *machine) {
    uint32_t local = machine->function->local_bytes, registers = machine->function->registers;
    uint32_t statics = (machine->module->shared_bytes + 15u) & ~15u;
    machine->shared_bytes = statics + machine->launch->dynamic_shared;
    machine->shared = aligned_alloc(256, (machine->shared_bytes + 511u) / 256u * 256u);
    machine->threads = calloc(machine->thread_count, sizeof *machine->threads);
    bool good = machine->shared && machine->threads && ptx_races_start(machine);
    for (uint32_t i = 0; good && i < machine->thread_count; i++) {
        struct ptx_thread *thread = &machine->threads[i];
        thread->index = i;
        thread->function = machine->function;
        thread->registers = malloc((registers + 1) * sizeof *thread->registers);
        thread->local = aligned_alloc(16, (local + 31u) / 16u * 16u);
        good = thread->registers && thread->local;
        if (good) {
            memset(thread->local, 0xd1, local);
        }
    }
    return good;
}

static void release(struct ptx_machine *machine) {
    for (uint32_t i = 0; machine->threads && i < machine->thread_count; i++) {
        free(machine->threads[i].registers);
        free(machine->threads[i].local);
        free(machine->threads[i].copies);
        free(machine->threads[i].products);
    }
    free(machine->threads);
    free(machine->shared);
    free(machine->shades);
}

enum ptx_fault ptx_run(struct ptx_module *module, const struct ptx_launch *launch, char *message,
                       size_t message_size) {
    struct ptx_machine machine = {.module = module,
                                  .launch = launch,
                                  .function = launch->function,
                                  .thread_count =
                                      launch->block[0] * launch->block[1] * launch->block[2],
                                  .message = message,
                                  .message_size = message_size};
    set_schedule(&machine);
    if (!allocate(&machine)) {
        snprintf(message, message_size, "no memory for %u threads", machine.thread_count);
        machine.fault = PTX_TRAPPED;
    }
    for (unsigned z = 0; z < launch->grid[2] && !machine.fault; z++) {
        for (unsigned y = 0; y < launch->grid[1] && !machine.fault; y++) {
            for (unsigned x = 0; x < launch->grid[0] && !machine.fault; x++) {
                machine.block[0] = x;
                machine.block[1] = y;
                machine.block[2] = z;
                run_group(&machine);
            }
        }
    }
    release(&machine);
    return machine.fault;
}
