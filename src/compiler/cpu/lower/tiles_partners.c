/*
 * Tiles that share vectors: partners. Two columns of a group of products, the sums of which are
 * then side by side in the rows' vectors, and the phis that such sums go through.
 *
 * Requires a group with its chains (tiles.c). Provides its units, and `partner` and `half` of
 * tiles.
 */
#include "compiler/cpu/lower/tiles.h"

/* ---- the columns of a group ------------------------------------------------------------------ */
static struct igt_tile *right_side(const struct igt_pass *pass, const struct igt_group *group,
                                   unsigned column) {
    for (unsigned c = 0; c < group->chain_count; c++) {
        if (group->columns[c] == column) {
            struct igt_tile *right = group->chains[c]->operands[1];
            return group->pairs ? igt_narrow(pass, right) : right;
        }
    }
    return NULL;
}

/* Columns two by two: those beside each other in memory first, then as they come. */
static void pair_columns(struct igt_pass *pass, struct igt_group *group) {
    unsigned columns = group->unit_count;
    bool taken[IGT_MAX_MEMBERS] = {false}, wide = pass->emit.lanes >= 2 * IGT_SIDE;
    group->unit_count = 0;
    for (unsigned near = wide; near < 2; near--) {
        for (unsigned i = 0; i < columns; i++) {
            unsigned second = IGT_NO_COLUMN;
            for (unsigned j = 0; wide && !taken[i] && j < columns; j++) {
                bool fits = near ? igt_is_beside(pass, right_side(pass, group, i),
                                                 right_side(pass, group, j))
                                 : j > i;
                if (j != i && !taken[j] && fits) {
                    second = j;
                    break;
                }
            }
            if (taken[i] || (near && second == IGT_NO_COLUMN)) {
                continue;
            }
            taken[i] = true;
            if (second != IGT_NO_COLUMN) {
                taken[second] = true;
            }
            group->units[group->unit_count][0] = i;
            group->units[group->unit_count++][1] = second;
        }
    }
}

static void make_partners(struct igt_tile *first, struct igt_tile *second) {
    if (first == second || first->partner || second->partner) {
        return;
    }
    first->partner = second;
    first->half = 0;
    second->partner = first;
    second->half = 1;
}

static bool are_phis_together(const struct igt_tile *a, const struct igt_tile *b) {
    return a->kind == IGT_PHI && b->kind == IGT_PHI &&
           LLVMGetInstructionParent(a->registers[0]) == LLVMGetInstructionParent(b->registers[0]);
}

static void find_partners(struct igt_group *group) {
    for (unsigned u = 0; u < group->unit_count; u++) {
        const unsigned *columns = group->units[u];
        for (unsigned r = 0; columns[1] != IGT_NO_COLUMN && r < group->row_count; r++) {
            struct igt_tile *a = igt_chain_at(group, r, columns[0]);
            struct igt_tile *b = igt_chain_at(group, r, columns[1]);
            if (!a || !b) {
                continue;
            }
            if (are_phis_together(a->operands[2], b->operands[2])) {
                make_partners(a->operands[2], b->operands[2]);
            }
            for (; a && b; a = a->extended, b = b->extended) {
                make_partners(a, b);
            }
        }
    }
}

void igt_pair_columns(struct igt_pass *pass, struct igt_group *group) {
    pair_columns(pass, group);
    find_partners(group);
}

/* ---- partners over phis ---------------------------------------------------------------------- */
/* Phis of one block that get partners over an edge, or hand theirs to such, are partners too. */
static bool spread_partners(struct igt_tile *a, struct igt_tile *b) {
    bool changed = false;
    unsigned count = LLVMCountIncoming(a->registers[0]);
    for (unsigned n = 0; n < count; n++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(a->registers[0], n);
        unsigned m = 0;
        while (LLVMGetIncomingBlock(b->registers[0], m) != from) {
            m++;
        }
        struct igt_tile *x = igt_under_casts(a->incoming[n]), *y = igt_under_casts(b->incoming[m]);
        bool here = a->partner == b, there = x->partner == y;
        if (here && !there && are_phis_together(x, y) && a->half == 0 && !x->partner &&
            !y->partner) {
            make_partners(x, y);
            changed = true;
        }
        if (there && !here && x->half == 0 && !a->partner && !b->partner) {
            make_partners(a, b);
            changed = true;
        }
    }
    return changed;
}

void igt_find_phi_partners(struct igt_pass *pass) {
    bool changed = true;
    while (changed) {
        changed = false;
        for (struct igt_tile *a = pass->first_tile; a; a = a->next) {
            if (a->kind != IGT_PHI) {
                continue;
            }
            if (a->partner) {
                changed |= a->half == 0 && spread_partners(a, a->partner);
                continue;
            }
            for (struct igt_tile *b = pass->first_tile; b && !a->partner; b = b->next) {
                if (b != a && !b->partner && are_phis_together(a, b)) {
                    changed |= spread_partners(a, b);
                }
            }
        }
    }
}
