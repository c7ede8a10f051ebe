/* Random program trees. The distribution favours divergent control flow. */
#include <string.h>

#include "random_kernel.h"

struct generator {
    struct program *program;
    uint64_t state;
    int size;
    int loop_depth; /* of the statement being made */
};

static uint32_t next(struct generator *g) {
    g->state ^= g->state << 13;
    g->state ^= g->state >> 7;
    g->state ^= g->state << 17;
    return (uint32_t)(g->state * 0x9E3779B97F4A7C15ull >> 32);
}

static uint32_t below(struct generator *g, uint32_t n) {
    return next(g) % n;
}

static struct expression *make(struct generator *g, enum expression_kind kind, uint32_t value) {
    struct program *p = g->program;
    struct expression *e =
        &p->expressions[p->expression_count < MAX_NODES - 1 ? p->expression_count++
                                                            : MAX_NODES - 1];
    memset(e, 0, sizeof *e);
    e->kind = kind;
    e->value = value;
    return e;
}

static struct expression *expression(struct generator *g, int depth);

static struct expression *leaf(struct generator *g) {
    switch (below(g, 8)) {
    case 0:
        return make(g, E_CONSTANT, below(g, 3) ? below(g, 40) : next(g));
    case 1:
        return make(g, E_UNIFORM, 0);
    case 2:
        return make(g, E_SCALAR, 0);
    case 3:
        return make(g, E_INDEX, 0);
    case 4:
        return make(g, E_LANE, 0);
    case 5:
        if (g->program->counters) {
            return make(g, E_COUNTER, below(g, g->program->counters));
        }
        return make(g, E_VARIABLE, below(g, VARIABLES));
    default:
        return make(g, E_VARIABLE, below(g, VARIABLES));
    }
}

static struct expression *unary(struct generator *g, enum expression_kind kind, uint32_t value,
                                int depth) {
    struct expression *e = make(g, kind, value);
    e->left = expression(g, depth - 1);
    return e;
}

static struct expression *expression(struct generator *g, int depth) {
    if (depth <= 0 || g->program->expression_count > MAX_NODES - 64) {
        return leaf(g);
    }
    uint32_t roll = below(g, 24);
    struct expression *e;
    switch (roll) {
    case 0:
        return unary(g, E_TABLE, 0, depth);
    case 1:
        return unary(g, E_ARRAY, 0, depth);
    case 2:
        return unary(g, E_SCRATCH, 0, depth);
    case 3:
        return make(g, E_SHARED, 0);
    case 4:
        return unary(g, E_SIMD, below(g, SIMD_OPERATIONS), depth);
    case 5:
        return unary(g, E_NARROW, below(g, NARROW_TYPES), depth);
    case 6:
        e = unary(g, E_FLOAT, below(g, FLOAT_OPERATIONS), depth);
        e->right = expression(g, depth - 1);
        return e;
    case 7:
        e = unary(g, E_WIDE, below(g, 3), depth);
        e->right = expression(g, depth - 1);
        return e;
    case 8:
        e = unary(g, E_SELECT, 0, depth);
        e->right = expression(g, depth - 1);
        e->third = expression(g, depth - 1);
        return e;
    case 9:
    case 10:
    case 11:
        return leaf(g);
    default:
        e = unary(g, E_BINARY, below(g, OPERATORS), depth);
        e->right = expression(g, depth - 1);
        return e;
    }
}

static struct expression *condition(struct generator *g) {
    struct expression *e = make(g, E_BINARY, 3 /* & */);
    e->left = expression(g, 2);
    e->right = make(g, E_CONSTANT, 1u << below(g, 5));
    return e;
}

static struct statement *block(struct generator *g, int depth, int count);

static struct statement *make_statement(struct generator *g, enum statement_kind kind) {
    struct program *p = g->program;
    struct statement *s =
        &p->statements[p->statement_count < MAX_NODES - 1 ? p->statement_count++ : MAX_NODES - 1];
    memset(s, 0, sizeof *s);
    s->kind = kind;
    return s;
}

static struct statement *simple(struct generator *g) {
    static const enum statement_kind kinds[] = {S_ASSIGN,         S_ASSIGN,        S_ASSIGN,
                                                S_ASSIGN_SCALAR,  S_ASSIGN_ARRAY,  S_ASSIGN_ARRAY,
                                                S_ASSIGN_SCRATCH, S_ASSIGN_SHARED, S_ATOMIC};
    struct statement *s = make_statement(g, kinds[below(g, 9)]);
    s->value = below(g, s->kind == S_ATOMIC ? 8 : VARIABLES);
    s->expression = expression(g, g->size < 3 ? g->size : 3);
    s->index = expression(g, 1);
    return s;
}

static struct statement *loop(struct generator *g, int depth) {
    struct statement *s = make_statement(g, below(g, 3) ? S_FOR : S_WHILE);
    s->value = g->program->counters++;
    s->expression = make(g, E_BINARY, 3);
    s->expression->left = expression(g, 2);
    s->expression->right = make(g, E_CONSTANT, below(g, 2) ? 7 : 3);
    g->loop_depth++;
    s->body[0] = block(g, depth - 1, 1 + (int)below(g, 4));
    g->loop_depth--;
    return s;
}

static struct statement *statement(struct generator *g, int depth) {
    uint32_t roll = below(g, 16);
    struct statement *s;
    if (depth <= 0 || roll < 6 || g->program->statement_count > MAX_NODES - 64) {
        return simple(g);
    }
    if (roll < 10) {
        s = make_statement(g, S_IF);
        s->expression = condition(g);
        s->body[0] = block(g, depth - 1, 1 + (int)below(g, 3));
        if (below(g, 2)) {
            s->body[1] = block(g, depth - 1, 1 + (int)below(g, 2));
        }
        return s;
    }
    if (roll < 13 && g->program->counters < 12) {
        return loop(g, depth);
    }
    if (roll == 13) {
        s = make_statement(g, S_SWITCH);
        s->expression = expression(g, 2);
        for (int i = 0; i < 4; i++) {
            s->body[i] = block(g, depth - 1, 1 + (int)below(g, 2));
            s->falls_through[i] = below(g, 4) == 0;
        }
        return s;
    }
    if (roll == 14 && g->loop_depth && below(g, 2)) {
        s = make_statement(g, S_LEAVE_IF);
        s->value = below(g, 4) ? LEAVE_BREAK : below(g, 2) ? LEAVE_CONTINUE : LEAVE_RETURN;
        s->expression = condition(g);
        s->body[0] = make_statement(g, S_ASSIGN);
        s->body[0]->value = below(g, VARIABLES);
        s->body[0]->expression = unary(g, E_SIMD, below(g, SIMD_OPERATIONS), 2);
        s->body[0]->next = block(g, depth - 1, (int)below(g, 3));
        g->program->returns |= s->value == LEAVE_RETURN;
        return s;
    }
    if (roll == 14 && g->loop_depth) {
        s = make_statement(g, below(g, 2) ? S_BREAK_IF : S_CONTINUE_IF);
        s->expression = condition(g);
        return s;
    }
    if (roll == 15 && below(g, 3) == 0) {
        s = make_statement(g, S_RETURN_IF);
        s->expression = make(g, E_BINARY, 3);
        s->expression->left = condition(g);
        s->expression->right = condition(g);
        g->program->returns = true;
        return s;
    }
    return simple(g);
}

static struct statement *block(struct generator *g, int depth, int count) {
    struct statement *first = NULL, **link = &first;
    for (int i = 0; i < count; i++) {
        *link = statement(g, depth);
        link = &(*link)->next;
    }
    return first;
}

void generate_program(struct program *program, uint64_t seed, int size) {
    struct generator g = {program, seed * 0x9E3779B97F4A7C15ull + 0x1234567, size, 0};
    for (int i = 0; i < 8; i++) {
        next(&g);
    }
    program->counters = program->expression_count = program->statement_count = 0;
    program->returns = false;
    struct statement **link = &program->body;
    int count = size < 3 ? 1 + (int)below(&g, 3) : 3 + (int)below(&g, 5);
    for (int i = 0; i < count; i++) {
        *link = statement(&g, size);
        link = &(*link)->next;
        if (!program->returns && below(&g, 4) == 0) {
            *link = make_statement(&g, S_BARRIER);
            link = &(*link)->next;
        }
    }
    *link = NULL;
}
