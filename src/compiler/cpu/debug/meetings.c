/*
 * Where lanes meet. Threads run on their own until they come to something that concerns other
 * lanes. Which lanes take part there follows from where the others are: the runtime lets those go
 * on that are furthest behind in the code (docs/design/debugger.md). For that, code has to be in
 * the order of the source, as clang's blocks are, and lanes must not be in different iterations of
 * a loop: so they meet at the end of each.
 */
#include <llvm-c/DebugInfo.h>
#include <stddef.h>
#include <string.h>

#include "compiler/cpu/debug/debug.h"
#include "compiler/ir/builtins.h"
#include "compiler/ir/map.h"
#include "compiler/ir/walk.h"

void igd_keep_frame(struct igc_kernel *kernel, LLVMValueRef function) {
    static const char key[] = "frame-pointer", value[] = "all";
    LLVMAddAttributeAtIndex(
        function, LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(kernel->context, key, sizeof key - 1, value, sizeof value - 1));
}

static LLVMValueRef plain_pointer(LLVMTypeRef ptr, LLVMValueRef global) {
    return LLVMGetPointerAddressSpace(LLVMTypeOf(global)) ? LLVMConstAddrSpaceCast(global, ptr)
                                                          : global;
}

LLVMValueRef igd_thread_field(struct igc_kernel *kernel, LLVMTypeRef type, uint64_t offset) {
    LLVMTypeRef ptr = LLVMPointerTypeInContext(kernel->context, 0);
    LLVMValueRef thread = LLVMGetNamedGlobal(kernel->module, IGC_DEBUG_THREAD);
    LLVMValueRef field = igc_byte_offset(kernel, plain_pointer(ptr, thread), offset);
    LLVMValueRef value = LLVMBuildLoad2(kernel->builder, type, field, "");
    LLVMSetVolatile(value, true); /* the runtime changes it while the thread waits */
    return value;
}

LLVMValueRef igd_service(struct igc_kernel *kernel, LLVMValueRef group, uint64_t offset) {
    LLVMTypeRef ptr = LLVMPointerTypeInContext(kernel->context, 0);
    LLVMValueRef services = LLVMBuildLoad2(
        kernel->builder, ptr,
        igc_byte_offset(kernel, group, offsetof(struct ingot_cpu_group, services)), "");
    return LLVMBuildLoad2(kernel->builder, ptr, igc_byte_offset(kernel, services, offset), "");
}

void igd_build_meet(struct igc_kernel *kernel, LLVMValueRef operation, LLVMValueRef operands,
                    LLVMValueRef kind) {
    LLVMTypeRef ptr = LLVMPointerTypeInContext(kernel->context, 0);
    LLVMTypeRef types[] = {ptr, ptr, ptr, ptr, kernel->i32};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(kernel->context), types, 5, false);
    static const char frame_address[] = "llvm.frameaddress";
    LLVMValueRef frame = LLVMGetIntrinsicDeclaration(
        kernel->module, LLVMLookupIntrinsicID(frame_address, sizeof frame_address - 1), &ptr, 1);
    LLVMValueRef zero = igc_integer(kernel->i32, 0);
    LLVMValueRef group = igd_thread_field(kernel, ptr, offsetof(struct ingot_cpu_thread, group));
    LLVMValueRef meet = igd_service(kernel, group, offsetof(struct ingot_cpu_services, meet));
    LLVMValueRef arguments[] = {
        group, operation ? operation : LLVMConstNull(ptr), operands ? operands : LLVMConstNull(ptr),
        LLVMBuildCall2(kernel->builder, LLVMGlobalGetValueType(frame), frame, &zero, 1, ""), kind};
    LLVMBuildCall2(kernel->builder, type, meet, arguments, 5, "");
}

/* ---- loops ---- */
/* Does code of the function itself concern other lanes? */
static bool looks_at_lanes(LLVMValueRef function) {
    igi_each_instruction(in, function) {
        if (LLVMIsACallInst(in) && igi_builtin_of(in) != IGI_NO_BUILTIN &&
            igi_facts_of(in)->lanes != IGI_LANES_OWN) {
            return true;
        }
    }
    return false;
}

/* The functions that do, or call one that does. */
struct meeting_functions {
    struct igi_map known;
    LLVMValueRef *items;
    size_t count, room;
};

static void add(struct meeting_functions *list, LLVMValueRef function) {
    if (list->count < list->room && igi_set_add(&list->known, function)) {
        list->items[list->count++] = function;
    }
}

static void add_callers(struct meeting_functions *list, LLVMValueRef function) {
    igi_each_use(use, function) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsACallInst(user)) {
            add(list, LLVMGetBasicBlockParent(LLVMGetInstructionParent(user)));
        }
    }
}

/* A function that lanes call to meet, so that the place has a frame as others have. */
static LLVMValueRef build_meeting(struct igc_kernel *kernel) {
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(kernel->context), NULL, 0, false);
    LLVMValueRef f = LLVMAddFunction(kernel->module, "ingot_meet", type);
    LLVMSetLinkage(f, LLVMInternalLinkage);
    igd_keep_frame(kernel, f);
    LLVMPositionBuilderAtEnd(kernel->builder,
                             LLVMAppendBasicBlockInContext(kernel->context, f, ""));
    igd_build_meet(kernel, NULL, NULL, igc_integer(kernel->i32, INGOT_CPU_MEET_ONLY));
    LLVMBuildRetVoid(kernel->builder);
    return f;
}

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

struct loop {
    LLVMBasicBlockRef head, last; /* last: the last one that leads back */
};

/* All that leads back to the head goes through a block behind the loop's body, where lanes meet. A
 * body that ends in `break` goes on after the last block that leads back. */
static void add_latch(struct igc_kernel *kernel, LLVMValueRef function, const struct loop *loop,
                      const struct igi_map *order, LLVMValueRef meeting) {
    LLVMBasicBlockRef end = loop->last;
    for (LLVMBasicBlockRef next = igi_next_block(end); next && !stands_behind_loop(next);
         next = igi_next_block(next)) {
        end = next;
    }
    /* where no name tells the end, as behind a loop that never ends, the body is what leads back */
    end = igi_next_block(end) ? end : loop->last;
    LLVMBasicBlockRef latch =
        LLVMAppendBasicBlockInContext(kernel->context, function, "ingot.latch");
    LLVMMoveBasicBlockAfter(latch, end);
    LLVMPositionBuilderAtEnd(kernel->builder, latch);
    LLVMValueRef call =
        LLVMBuildCall2(kernel->builder, LLVMGlobalGetValueType(meeting), meeting, NULL, 0, "");
    LLVMValueRef back = LLVMBuildBr(kernel->builder, loop->head);
    LLVMMetadataRef place = LLVMInstructionGetDebugLoc(LLVMGetBasicBlockTerminator(loop->last));
    LLVMInstructionSetDebugLoc(call, place);
    LLVMInstructionSetDebugLoc(back, place);
    unsigned head = igi_map_get(order, loop->head);
    igi_each_block(b, function) {
        LLVMValueRef last = LLVMGetBasicBlockTerminator(b);
        for (unsigned i = 0; b != latch && last && i < LLVMGetNumSuccessors(last); i++) {
            unsigned own = igi_map_get(order, b);
            if (LLVMGetSuccessor(last, i) == loop->head && own != IGI_NONE && own >= head) {
                LLVMSetSuccessor(last, i, latch);
            }
        }
    }
}

/* A branch to a block that does not come later is the end of an iteration. Clang's loops have no
 * phis in their heads. */
static enum igc_result meet_in_loops(struct igc_kernel *kernel, LLVMValueRef function,
                                     LLVMValueRef meeting) {
    struct igi_map order, loops;
    unsigned blocks = LLVMCountBasicBlocks(function), count = 0, found = 0;
    struct loop *list = ig_arena_array(kernel->arena, blocks + 1, sizeof *list);
    igi_map_start(&order, kernel->arena, blocks);
    igi_map_start(&loops, kernel->arena, blocks);
    if (!list) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    igi_each_block(b, function) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(b);
        igi_map_put(&order, b, ++count);
        for (unsigned i = 0; end && i < LLVMGetNumSuccessors(end); i++) {
            LLVMBasicBlockRef to = LLVMGetSuccessor(end, i);
            if (igi_map_get(&order, to) == IGI_NONE || igi_first_phi(to)) {
                continue;
            }
            unsigned number = igi_map_get(&loops, to);
            if (number == IGI_NONE) {
                number = found++;
                igi_map_put(&loops, to, number);
            }
            list[number] = (struct loop){to, b};
        }
    }
    for (unsigned i = 0; i < found; i++) {
        add_latch(kernel, function, &list[i], &order, meeting);
    }
    return IGC_CHANGED;
}

enum igc_result igd_meet_in_loops(struct igc_kernel *kernel) {
    struct meeting_functions list = {0};
    igi_each_function(f, kernel->module) {
        list.room++;
    }
    list.items = ig_arena_array(kernel->arena, list.room + 1, sizeof *list.items);
    igi_map_start(&list.known, kernel->arena, list.room);
    if (!list.items) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    igi_each_function(f, kernel->module) {
        if (!LLVMIsDeclaration(f)) {
            igd_keep_frame(kernel, f);
            if (looks_at_lanes(f)) {
                add(&list, f);
            }
        }
    }
    for (size_t i = 0; i < list.count; i++) {
        add_callers(&list, list.items[i]);
    }
    if (!list.count) {
        return IGC_CHANGED;
    }
    LLVMValueRef meeting = build_meeting(kernel);
    enum igc_result result = IGC_CHANGED;
    for (size_t i = 0; i < list.count && result != IGC_FAILED; i++) {
        result = meet_in_loops(kernel, list.items[i], meeting);
    }
    return result;
}
