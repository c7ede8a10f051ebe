/* ir/: walks, maps, and the control-flow graph with dominators in both directions, against the
 * plain definitions on random graphs. */
#include <llvm-c/IRReader.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "check.h"
#include "compiler/ir/edit.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/walk.h"

enum { MOST = 24 };

struct parsed {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMValueRef function;
    struct ig_arena arena;
    struct ig_error error;
    struct igi_graph graph;
};

static void parse(struct parsed *p, const char *text) {
    *p = (struct parsed){.context = LLVMContextCreate()};
    char *message = NULL;
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "test");
    if (LLVMParseIRInContext(p->context, buffer, &p->module, &message)) {
        fprintf(stderr, "the test's IR is wrong: %s\n%s\n", message, text);
        exit(2);
    }
    p->function = LLVMGetNamedFunction(p->module, "k");
    CHECK(igi_graph_build(&p->arena, p->function, &p->graph, &p->error) == INGOT_OK);
}

static void parsed_free(struct parsed *p) {
    ig_arena_free(&p->arena);
    ig_error_clear(&p->error);
    LLVMDisposeModule(p->module);
    LLVMContextDispose(p->context);
}

/* ---- maps ---- */
static void test_maps(void) {
    struct ig_arena arena = {0};
    struct igi_map map, empty = {0};
    static char items[5000];
    igi_map_start(&map, &arena, 0);
    CHECK(igi_map_get(&empty, items) == IGI_NONE && igi_map_get(&map, items) == IGI_NONE);
    for (unsigned i = 0; i < 5000; i++) {
        igi_map_put(&map, &items[i], i);
    }
    igi_map_put(&map, &items[7], 70);
    CHECK(map.count == 5000 && !map.failed);
    unsigned right = 0;
    for (unsigned i = 0; i < 5000; i++) {
        right += igi_map_get(&map, &items[i]) == (i == 7 ? 70 : i);
    }
    CHECK(right == 5000 && igi_map_get(&map, &right) == IGI_NONE);
    struct igi_map set;
    igi_map_start(&set, &arena, 4);
    CHECK(igi_set_add(&set, &items[0]) && !igi_set_add(&set, &items[0]));
    CHECK(igi_set_has(&set, &items[0]) && !igi_set_has(&set, &items[1]));
    ig_arena_free(&arena);
}

/* ---- walks and changes ---- */
static bool is_add(void *context, LLVMValueRef in) {
    (void)context;
    return LLVMGetInstructionOpcode(in) == LLVMAdd;
}

static void test_walks(void) {
    struct parsed p;
    parse(&p, "declare i32 @f()\n"
              "define void @k(i32 %n, i1 %c) {\nentry:\n"
              "  %a = add i32 %n, 1\n  br i1 %c, label %one, label %two\n"
              "one:\n  br label %two\n"
              "two:\n  %x = phi i32 [ %a, %entry ], [ 2, %one ]\n"
              "  %y = phi i32 [ 1, %entry ], [ %n, %one ]\n"
              "  %b = add i32 %x, %y\n  %d = add i32 %b, %a\n  ret void\n}\n");
    unsigned functions = 0, blocks = 0, instructions = 0, phis = 0, uses = 0, behind = 0;
    igi_each_function(f, p.module) {
        functions++;
    }
    igi_each_block(b, p.function) {
        blocks++;
    }
    igi_each_instruction(in, p.function) {
        instructions++;
    }
    LLVMBasicBlockRef last = p.graph.blocks[2];
    igi_each_phi(phi, last) {
        phis++;
    }
    LLVMValueRef a = igi_first_instruction(p.function), b = igi_first_non_phi(last);
    igi_each_use(use, a) {
        uses++;
    }
    igi_each_from(in, b) {
        behind++;
    }
    CHECK(functions == 2 && blocks == 3 && instructions == 8 && phis == 2);
    CHECK(uses == 2 && behind == 3 && igi_block_length(last) == 5);
    size_t count = 0;
    LLVMValueRef *adds = igi_collect(&p.arena, p.function, is_add, NULL, &count);
    CHECK(count == 3 && adds[0] == a && adds[1] == b && !adds[3]);
    /* everything but ends can be erased while walking */
    igi_each_instruction_safe(in, p.function) {
        if (!LLVMIsATerminatorInst(in)) {
            igi_replace(in, LLVMGetUndef(LLVMTypeOf(in)));
        }
    }
    instructions = 0;
    igi_each_instruction(in, p.function) {
        instructions++;
    }
    CHECK(instructions == 3);
    parsed_free(&p);
}

static void test_split(void) {
    struct parsed p;
    parse(&p, "define void @k(i32 %n, i1 %c) {\nentry:\n  br label %loop\n"
              "loop:\n  %i = phi i32 [ 0, %entry ], [ %j, %loop ]\n"
              "  %j = add i32 %i, 1\n  br i1 %c, label %loop, label %end\n"
              "end:\n  ret void\n}\n");
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(p.context);
    LLVMBasicBlockRef loop = p.graph.blocks[1];
    LLVMBasicBlockRef front = igi_split_before(builder, igi_first_non_phi(loop));
    LLVMBuildBr(builder, loop);
    CHECK(igi_block_length(front) == 2 && igi_block_length(loop) == 2);
    CHECK(igi_graph_build(&p.arena, p.function, &p.graph, &p.error) == INGOT_OK);
    unsigned at = igi_graph_number(&p.graph, front);
    CHECK(p.graph.count == 4 && igi_predecessor_count(&p.graph, at) == 2);
    CHECK(igi_predecessor_count(&p.graph, igi_graph_number(&p.graph, loop)) == 1);
    LLVMDisposeBuilder(builder);
    parsed_free(&p);
}

/* ---- dominators by their definition ---- */
/* Can control get from one block to another without `without`? Or, with to == count, to an end? */
static bool reaches(const struct igi_graph *graph, unsigned from, unsigned to, unsigned without) {
    bool seen[MOST + 1] = {false};
    unsigned list[MOST + 1], count = 0;
    if (from == without) {
        return false;
    }
    seen[from] = true;
    list[count++] = from;
    while (count) {
        unsigned at = list[--count];
        LLVMValueRef end = LLVMGetBasicBlockTerminator(graph->blocks[at]);
        if (at == to || (to == graph->count && LLVMIsAReturnInst(end))) {
            return true;
        }
        for (unsigned s = 0; s < igi_successor_count(graph, at); s++) {
            unsigned next = igi_successors(graph, at)[s];
            if (next != without && !seen[next]) {
                seen[next] = true;
                list[count++] = next;
            }
        }
    }
    return false;
}

static void check_graph(const struct igi_graph *graph) {
    unsigned idom[MOST + 1], ipdom[MOST + 2];
    struct ig_error error = {0};
    CHECK(igi_dominators(graph, idom, &error) == INGOT_OK);
    CHECK(igi_post_dominators(graph, ipdom, &error) == INGOT_OK);
    for (unsigned b = 0; b < graph->count; b++) {
        bool reached = reaches(graph, 0, b, IGI_NONE), ends = reaches(graph, b, graph->count, ~0u);
        CHECK((idom[b] != IGI_NONE) == reached && (ipdom[b] != IGI_NONE) == ends);
        for (unsigned a = 0; a < graph->count; a++) {
            bool above = a == b || !reaches(graph, 0, b, a);
            bool after = a == b || !reaches(graph, b, graph->count, a);
            CHECK(!reached || igi_dominates(idom, a, b) == above);
            CHECK(!ends || igi_dominates(ipdom, a, b) == after);
        }
    }
    ig_error_clear(&error);
}

static unsigned random_from(unsigned *seed, unsigned below) {
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 12) % below;
}

/* Any control flow: irreducible, unreachable, endless, with switches and several ends. */
static void test_random_graphs(void) {
    unsigned seed = 4711;
    for (unsigned round = 0; round < 300; round++) {
        struct ig_text text = {0};
        unsigned count = 2 + round % (MOST - 2);
        ig_text_puts(&text, "define void @k(i32 %n, i1 %c) {\n");
        for (unsigned b = 0; b < count; b++) {
            unsigned kind = random_from(&seed, 8);
            ig_text_printf(&text, "b%u:\n", b);
            unsigned one = 1 + random_from(&seed, count - 1),
                     two = 1 + random_from(&seed, count - 1);
            unsigned three = 1 + random_from(&seed, count - 1);
            if (kind == 0 && b + 1 < count) {
                ig_text_printf(&text, "  br label %%b%u\n", b + 1);
            } else if (kind == 1) {
                ig_text_puts(&text, b & 1 ? "  ret void\n" : "  unreachable\n");
            } else if (kind == 2) {
                ig_text_printf(&text, "  switch i32 %%n, label %%b%u [ i32 1, label %%b%u\n", one,
                               two);
                ig_text_printf(&text, " i32 2, label %%b%u ]\n", three);
            } else {
                ig_text_printf(&text, "  br i1 %%c, label %%b%u, label %%b%u\n", one, two);
            }
        }
        ig_text_puts(&text, "}\n");
        struct parsed p;
        parse(&p, ig_text_string(&text));
        check_graph(&p.graph);
        unsigned order[MOST], reached = igi_reverse_post_order(&p.graph, order), right = 0;
        for (unsigned i = 0; i < reached; i++) {
            right += reaches(&p.graph, 0, order[i], IGI_NONE);
        }
        CHECK(right == reached && order[0] == 0);
        CHECK(igi_graph_renumber(&p.graph, order, reached, &p.error) == INGOT_OK);
        check_graph(&p.graph);
        parsed_free(&p);
        ig_text_free(&text);
    }
}

int main(void) {
    test_maps();
    test_walks();
    test_split();
    test_random_graphs();
    return check_report();
}
