/* The analysis as text, for people and tests. */
#include "compiler/analysis/analysis.h"

#include "base/text.h"

static void print_number(struct ig_text *out, const char *name, unsigned number) {
    if (number == IGV_NONE) {
        ig_text_printf(out, " %s -", name);
    } else {
        ig_text_printf(out, " %s %u", name, number);
    }
}

static void print_block(const struct igv_analysis *analysis, unsigned number, struct ig_text *out) {
    const struct igv_block *block = &analysis->blocks[number];
    ig_text_printf(out, "block %u %s:", number, LLVMGetBasicBlockName(block->block));
    print_number(out, "idom", block->idom);
    print_number(out, "ipdom", block->ipdom);
    print_number(out, "loop", block->loop);
    print_number(out, "mask", block->mask_of);
    if (block->branch_divergent) {
        ig_text_puts(out, " branch-divergent");
    }
    if (block->divergent) {
        ig_text_puts(out, " divergent");
    }
    if (block->phis_divergent) {
        ig_text_puts(out, " phis-divergent");
    }
    ig_text_puts(out, " →");
    for (unsigned s = 0; s < block->successor_count; s++) {
        ig_text_printf(out, " %u", block->successors[s]);
    }
    ig_text_puts(out, "\n");
}

static void print_value(const struct igv_value *value, struct ig_text *out) {
    static const char *const names[] = {"uniform", "linear", "checked", "varying"};
    ig_text_printf(out, "  %s", names[value->shape]);
    if (value->shape == IGV_V_LINEAR || value->shape == IGV_V_CHECKED) {
        ig_text_printf(out, " %+ld", value->stride);
    }
    if (value->align_log2 && value->shape != IGV_V_VARYING) {
        ig_text_printf(out, " align %u", value->align_log2);
    }
    if (value->no_wrap && value->shape == IGV_V_LINEAR) {
        ig_text_puts(out, " exact");
    }
    if (value->private_granule) {
        ig_text_printf(out, " granule %u", value->private_granule);
    }
    char *text = LLVMPrintValueToString(value->value);
    ig_text_printf(out, " |%s\n", text ? text : "");
    LLVMDisposeMessage(text);
}

void igv_analysis_print(const struct igv_analysis *analysis, struct ig_text *out) {
    for (unsigned l = 0; l < analysis->loop_count; l++) {
        const struct igv_loop *loop = &analysis->loops[l];
        ig_text_printf(out, "loop %u: blocks %u … %u, preheader %u", l, loop->first, loop->last,
                       loop->preheader);
        print_number(out, "parent", loop->parent);
        ig_text_puts(out, loop->divergent ? " divergent\n" : "\n");
    }
    unsigned at = 0;
    for (unsigned b = 0; b < analysis->block_count; b++) {
        print_block(analysis, b, out);
        for (; at < analysis->value_count && analysis->values[at].block == b; at++) {
            print_value(&analysis->values[at], out);
        }
    }
}
