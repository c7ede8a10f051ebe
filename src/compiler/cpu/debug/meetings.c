/*
 * Where lanes meet. Threads run on their own until they come to something that concerns other
 * lanes. Which lanes take part there follows from where the others are: the runtime lets those go
 * on that are furthest behind in the code (docs/design/debugger.md). For that, code has to be in
 * the order of the source, as clang's blocks are, and lanes must not be in different iterations of
 * a loop: so they meet at the end of each.
 */
#include <stddef.h>

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

/* A branch to a block that does not come later is the end of an iteration. */
static void meet_at_back_edges(struct igc_kernel *kernel, LLVMValueRef function,
                               LLVMValueRef meeting) {
    struct igi_map order;
    unsigned count = 0, own = 0;
    igi_map_start(&order, kernel->arena, LLVMCountBasicBlocks(function));
    igi_each_block(b, function) {
        igi_map_put(&order, b, ++count);
    }
    igi_each_block(b, function) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(b);
        bool goes_back = false;
        own++;
        for (unsigned i = 0; end && i < LLVMGetNumSuccessors(end); i++) {
            goes_back |= igi_map_get(&order, LLVMGetSuccessor(end, i)) <= own;
        }
        if (goes_back) {
            LLVMPositionBuilderBefore(kernel->builder, end);
            LLVMValueRef call = LLVMBuildCall2(kernel->builder, LLVMGlobalGetValueType(meeting),
                                               meeting, NULL, 0, "");
            LLVMInstructionSetDebugLoc(call, LLVMInstructionGetDebugLoc(end));
        }
    }
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
    for (size_t i = 0; i < list.count; i++) {
        meet_at_back_edges(kernel, list.items[i], meeting);
    }
    return IGC_CHANGED;
}
