/*
 * Code in the body of a loop that leads out of it, as `if (c) { x = simd_sum(y); break; }`, runs
 * in the iteration in which a lane gets there, together with the lanes that get there with it.
 * In LLVM's terms such a block is not part of the loop, and lanes that leave in different
 * iterations would run it together, afterwards. So blocks whose operations depend on the active
 * lanes, and atomics, on which other lanes may wait, get an edge back to the loop's head that is
 * never taken: its condition is the built-in __ingot_never.
 *
 * igc_pin_loop_exits requires clang's own blocks in clang's order, which is that of the source:
 * a loop's body stands between its head and its last block. igc_release_loop_exits takes the
 * edges away that are not needed once all is inlined and cleanups are resolved.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/edit.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/walk.h"
#include "compiler/middle/middle.h"

static ingot_status no_memory(struct ig_error *error) {
    return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the loops of a kernel");
}

/* ---- a function's blocks by number ---- */

struct graph {
    struct ig_arena arena;
    struct igi_graph flow; /* blocks in layout order */
    unsigned *last;        /* of a loop's head: the last block of its body; 0 otherwise */
    unsigned *visited;     /* generation; and the work list behind it */
    unsigned *list;
    unsigned generation;
};

static void graph_free(struct graph *graph) {
    ig_arena_free(&graph->arena);
}

static ingot_status graph_create(struct graph *graph, LLVMValueRef function,
                                 struct ig_error *error) {
    *graph = (struct graph){.generation = 0};
    ingot_status status = igi_graph_build(&graph->arena, function, &graph->flow, error);
    size_t count = graph->flow.count + 1u;
    graph->last = ig_arena_array(&graph->arena, count, sizeof *graph->last);
    graph->visited = ig_arena_array(&graph->arena, count, sizeof *graph->visited);
    graph->list = ig_arena_array(&graph->arena, count, sizeof *graph->list);
    if (!status && (!graph->last || !graph->visited || !graph->list)) {
        status = no_memory(error);
    }
    if (status) {
        graph_free(graph);
    }
    return status;
}

static unsigned successor(const struct graph *graph, unsigned block, unsigned which) {
    return igi_successors(&graph->flow, block)[which];
}

static unsigned successor_count(const struct graph *graph, unsigned block) {
    return igi_successor_count(&graph->flow, block);
}

/* ---- what depends on the active lanes ---- */

static bool is_atomic(LLVMValueRef instruction) {
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        return true;
    case LLVMLoad:
    case LLVMStore:
        return LLVMGetOrdering(instruction) != LLVMAtomicOrderingNotAtomic;
    default:
        return false;
    }
}

struct functions { /* those whose calls depend on the active lanes */
    struct ig_arena arena;
    struct igi_map known;
    LLVMValueRef *items;
    size_t count;
};

static bool functions_have(const struct functions *set, LLVMValueRef function) {
    return igi_set_has(&set->known, function);
}

static bool functions_add(struct functions *set, LLVMValueRef function) {
    if (igi_set_add(&set->known, function)) {
        set->items[set->count++] = function;
    }
    return !set->known.failed;
}

static bool has_atomics(LLVMValueRef function) {
    igi_each_instruction(in, function) {
        if (is_atomic(in)) {
            return true;
        }
    }
    return false;
}

/* The built-ins that look at the mask, functions with atomics, and all that call them. */
static bool find_functions(LLVMModuleRef module, struct functions *set) {
    size_t most = 0;
    igi_each_function(f, module) {
        most++;
    }
    igi_map_start(&set->known, &set->arena, 32);
    set->items = ig_arena_array(&set->arena, most + 1, sizeof(LLVMValueRef));
    if (!set->items || set->known.failed) {
        return false;
    }
    igi_each_function(f, module) {
        const struct igi_facts *facts =
            igi_facts(LLVMIsDeclaration(f) ? igi_builtin_of_function(f) : IGI_NO_BUILTIN);
        bool looks = facts->lanes == IGI_LANES_ACTIVE && !(facts->flags & IGI_BARRIER);
        if ((looks || has_atomics(f)) && !functions_add(set, f)) {
            return false;
        }
    }
    for (size_t i = 0; i < set->count; i++) {
        igi_each_use(use, set->items[i]) {
            LLVMValueRef user = LLVMGetUser(use);
            if (LLVMIsACallInst(user) &&
                !functions_add(set, LLVMGetBasicBlockParent(LLVMGetInstructionParent(user)))) {
                return false;
            }
        }
    }
    return true;
}

static bool depends_on_lanes(const struct functions *set, LLVMBasicBlockRef block) {
    igi_each_in_block(in, block) {
        if (is_atomic(in) || (LLVMIsACallInst(in) && functions_have(set, LLVMGetCalledValue(in)))) {
            return true;
        }
    }
    return false;
}

/* ---- the bodies of loops ---- */

/* The names that clang gives to what stands behind a loop. */
static bool stands_behind_loop(LLVMBasicBlockRef block) {
    static const char *const names[] = {"for.end", "while.end", "do.end", "for.cond.cleanup"};
    const char *name = LLVMGetBasicBlockName(block);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strncmp(name, names[i], strlen(names[i]))) {
            return true;
        }
    }
    return !*name;
}

/* A body that ends in `break` may go on for a block after the last one that leads back. */
static void extend_body(const struct graph *graph, unsigned head) {
    unsigned last = graph->last[head], tail = last + 1;
    if (tail + 1 >= graph->flow.count || successor_count(graph, tail) != 1 ||
        stands_behind_loop(graph->flow.blocks[tail])) {
        return;
    }
    for (unsigned b = 0; b < graph->flow.count; b++) {
        for (unsigned s = 0; s < successor_count(graph, b); s++) {
            if (successor(graph, b, s) == tail && (b < head || b > last)) {
                return;
            }
        }
    }
    graph->last[head] = tail;
}

static bool find_bodies(struct graph *graph) {
    bool any = false;
    for (unsigned b = 0; b < graph->flow.count; b++) {
        for (unsigned s = 0; s < successor_count(graph, b); s++) {
            unsigned to = successor(graph, b, s);
            if (to <= b && to) {
                graph->last[to] = b;
                any = true;
            }
        }
    }
    return any;
}

/* The innermost loop around the block whose head comes before `before`; 0: none. */
static unsigned head_around(const struct graph *graph, unsigned block, unsigned before) {
    for (unsigned head = before; head-- > 0;) {
        if (graph->last[head] >= block && graph->last[head]) {
            return head;
        }
    }
    return 0;
}

/* ---- the edges ---- */

static LLVMValueRef never_function(LLVMModuleRef module) {
    LLVMValueRef function = igi_find(module, IGI_never);
    uint64_t memory;
    if (!function) {
        function = igi_declare(module, IGI_never);
        igi_memory_attribute(igi_facts(IGI_never)->memory, &memory);
        igi_add_attribute(function, "nounwind", 0);
        igi_add_attribute(function, "willreturn", 0);
        igi_add_attribute(function, "memory", memory);
    }
    return function;
}

/* The block keeps its end alone, since phis name it; the rest moves to a new block before it. */
static void add_edge(LLVMModuleRef module, const struct graph *graph, unsigned block,
                     unsigned head) {
    LLVMBasicBlockRef tail = graph->flow.blocks[block], target = graph->flow.blocks[head];
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMValueRef never = never_function(module);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    LLVMBasicBlockRef front = igi_split_before(builder, LLVMGetBasicBlockTerminator(tail));
    if (target == tail) { /* the head itself */
        target = front;
    }
    LLVMValueRef call = LLVMBuildCall2(builder, LLVMGlobalGetValueType(never), never, NULL, 0, "");
    LLVMBuildCondBr(builder, call, target, tail);
    LLVMDisposeBuilder(builder);
}

struct pins {
    struct pin {
        unsigned block, head;
    } *items;
    size_t count, capacity;
};

static bool pins_add(struct pins *pins, unsigned block, unsigned head) {
    if (pins->count == pins->capacity) {
        size_t capacity = pins->capacity ? pins->capacity * 2 : 32;
        struct pin *items = realloc(pins->items, capacity * sizeof *items);
        if (!items) {
            return false;
        }
        pins->items = items;
        pins->capacity = capacity;
    }
    pins->items[pins->count++] = (struct pin){block, head};
    return true;
}

/* Whether the block leads back to the head in the body of its loop. Clang's blocks of cleanups may
 * lead anywhere. */
static bool leads_back(struct graph *graph, unsigned block, unsigned head) {
    unsigned count = 0, mark = ++graph->generation;
    graph->visited[block] = mark;
    graph->list[count++] = block;
    while (count) {
        unsigned at = graph->list[--count];
        if (!strncmp(LLVMGetBasicBlockName(graph->flow.blocks[at]), "cleanup", 7)) {
            continue;
        }
        for (unsigned s = 0; s < successor_count(graph, at); s++) {
            unsigned next = successor(graph, at, s);
            if (next == head) {
                return true;
            }
            if (next > head && next <= graph->last[head] && graph->visited[next] != mark) {
                graph->visited[next] = mark;
                graph->list[count++] = next;
            }
        }
    }
    return false;
}

/* The innermost loop of every block that depends on the lanes; and since a loop may be before the
 * `break` of one around it as a whole, those around it that it does not lead back to. From the
 * end: the head of a loop stays what it is until its own turn, its last. */
static bool find_pins(struct graph *graph, const struct functions *set, struct pins *pins) {
    for (unsigned b = graph->flow.count; b-- > 1;) {
        if (!depends_on_lanes(set, graph->flow.blocks[b])) {
            continue;
        }
        unsigned innermost = head_around(graph, b, b + 1);
        for (unsigned head = innermost; head; head = head_around(graph, b, head)) {
            LLVMValueRef first = LLVMGetFirstInstruction(graph->flow.blocks[head]);
            bool wanted = head == innermost || !leads_back(graph, b, head);
            if (wanted && first && LLVMGetInstructionOpcode(first) != LLVMPHI &&
                !pins_add(pins, b, head)) {
                return false;
            }
        }
    }
    return true;
}

static ingot_status pin_function(LLVMModuleRef module, LLVMValueRef function,
                                 const struct functions *set, struct ig_error *error) {
    struct graph graph;
    struct pins pins = {0};
    bool ok = true;
    ingot_status status = graph_create(&graph, function, error);
    if (status) {
        return status;
    }
    if (find_bodies(&graph)) {
        for (unsigned head = 1; head < graph.flow.count; head++) {
            if (graph.last[head]) {
                extend_body(&graph, head);
            }
        }
        ok = find_pins(&graph, set, &pins);
        for (size_t i = 0; ok && i < pins.count; i++) {
            add_edge(module, &graph, pins.items[i].block, pins.items[i].head);
        }
        free(pins.items);
    }
    graph_free(&graph);
    return ok ? INGOT_OK : no_memory(error);
}

ingot_status igc_pin_loop_exits(LLVMModuleRef module, struct ig_error *error) {
    struct functions set = {0};
    ingot_status status = find_functions(module, &set) ? INGOT_OK : no_memory(error);
    for (size_t i = 0; i < set.count && !status; i++) {
        if (!LLVMIsDeclaration(set.items[i])) {
            status = pin_function(module, set.items[i], &set, error);
        }
    }
    ig_arena_free(&set.arena);
    return status;
}

/* ---- afterwards ---- */

static bool is_never(LLVMValueRef value) {
    return igi_is_call_of(value, IGI_never);
}

/* Clang sends several ways through one block of cleanups, which then tells them apart by a phi of
 * constants. Such a block is going to be split up: what passes through it now need not. */
static bool tells_ways_apart(LLVMBasicBlockRef block) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
    if (LLVMGetNumSuccessors(end) < 2) {
        return false;
    }
    LLVMValueRef value =
        LLVMGetInstructionOpcode(end) == LLVMBr ? LLVMGetCondition(end) : LLVMGetOperand(end, 0);
    if (LLVMIsAICmpInst(value)) {
        value = LLVMGetOperand(value, 0);
    }
    return LLVMIsAPHINode(value) && LLVMGetInstructionParent(value) == block;
}

static bool is_pin(LLVMValueRef end) {
    return LLVMGetNumSuccessors(end) == 2 && LLVMGetInstructionOpcode(end) == LLVMBr &&
           is_never(LLVMGetCondition(end));
}

/* Walks from `from`, without the edges that are never taken, up to `to` and to what an earlier
 * walk has marked with `barred`. Returns whether `to` was reached. */
static bool walk(struct graph *graph, unsigned from, unsigned to, unsigned barred) {
    unsigned count = 0, mark = ++graph->generation;
    bool reached = false;
    graph->visited[from] = mark;
    graph->list[count++] = from;
    while (count) {
        unsigned block = graph->list[--count];
        LLVMBasicBlockRef place = graph->flow.blocks[block];
        if (barred && tells_ways_apart(place)) {
            continue;
        }
        unsigned successors = successor_count(graph, block);
        for (unsigned s = successors && is_pin(LLVMGetBasicBlockTerminator(place)); s < successors;
             s++) {
            unsigned next = successor(graph, block, s);
            reached = reached || next == to;
            if (next != to && graph->visited[next] != mark &&
                (!barred || graph->visited[next] != barred)) {
                graph->visited[next] = mark;
                graph->list[count++] = next;
            }
        }
    }
    return reached;
}

/* Whether the loop of `head` holds `block` without the edge that is never taken: the block leads
 * back to the head, and does so inside of what only the head leads to. */
static bool is_in_loop(struct graph *graph, unsigned block, unsigned head) {
    if (block == head || !head) {
        return true;
    }
    walk(graph, 0, head, 0);
    return walk(graph, block, head, graph->generation);
}

ingot_status igc_release_loop_exits(LLVMModuleRef module, LLVMValueRef kernel,
                                    struct ig_error *error) {
    LLVMValueRef never = igi_find(module, IGI_never);
    struct graph graph;
    if (!never || !LLVMGetFirstUse(never)) {
        return INGOT_OK;
    }
    ingot_status status = graph_create(&graph, kernel, error);
    if (status) {
        return status;
    }
    LLVMValueRef no = LLVMConstInt(LLVMInt1TypeInContext(LLVMGetModuleContext(module)), 0, false);
    for (unsigned b = 0; b < graph.flow.count; b++) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(graph.flow.blocks[b]);
        if (!end || !is_pin(end)) {
            continue;
        }
        LLVMValueRef condition = LLVMGetCondition(end);
        if (is_in_loop(&graph, b, successor(&graph, b, 0))) {
            LLVMReplaceAllUsesWith(condition, no);
            LLVMInstructionEraseFromParent(condition);
        }
    }
    graph_free(&graph);
    return INGOT_OK;
}
