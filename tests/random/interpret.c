/*
 * Runs a program tree as Metal would: SIMD-groups of 32 lanes, each lane with its own state, a
 * mask of active lanes, structured reconvergence. No vectors and nothing of the compiler's.
 */
#include <stdlib.h>
#include <string.h>

#include "random_kernel.h"

enum { LANES = 32, STEP_LIMIT = 200000 };

struct lane {
    uint32_t a[VARIABLES], k, h[ARRAY], shared, counters[16], index;
};

struct simdgroup {
    const struct launch *launch;
    struct lane lanes[LANES];
    uint32_t returned, broken, continued; /* lanes that left: for good, the loop, the iteration */
    long steps;
};

typedef uint32_t values[LANES];

static void evaluate(struct simdgroup *g, const struct expression *e, uint32_t mask, values out);

static uint32_t binary(uint32_t op, uint32_t x, uint32_t y) {
    switch (op) {
    case 0:
        return x + y;
    case 1:
        return x - y;
    case 2:
        return x * y;
    case 3:
        return x & y;
    case 4:
        return x | y;
    case 5:
        return x ^ y;
    case 6:
        return x << (y & 31);
    case 7:
        return x >> (y & 31);
    case 8:
        return x / (y | 1);
    case 9:
        return x % (y | 1);
    case 10:
        return x < y;
    case 11:
        return x == y;
    case 12:
        return x < y ? x : y;
    default:
        return x > y ? x : y;
    }
}

static uint32_t narrow(uint32_t type, uint32_t x) {
    switch (type) {
    case 0:
        return (uint8_t)x;
    case 1:
        return (uint16_t)x;
    case 2:
        return (uint32_t)(int32_t)(int8_t)x;
    default:
        return (uint32_t)(int32_t)(int16_t)x;
    }
}

static uint32_t in_float(uint32_t op, uint32_t x, uint32_t y) {
    float a = (float)(x & 255), b = (float)(y & 255);
    float r = op == 0 ? a + b : op == 1 ? a * b : a - b;
    return (uint32_t)(int32_t)r;
}

static uint32_t in_64_bits(uint32_t op, uint32_t x, uint32_t y) {
    uint64_t a = x, b = y;
    return (uint32_t)((op == 0 ? a * b : op == 1 ? a + b : a - b) >> 7);
}

static void simd(uint32_t op, uint32_t mask, const values in, values out) {
    uint32_t sum = 0, most = 0, least = ~0u, any = 0, parity = 0, ballot = 0, first = 0;
    bool seen = false;
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) {
            continue;
        }
        uint32_t before = sum;
        sum += in[l];
        most = in[l] > most ? in[l] : most;
        least = in[l] < least ? in[l] : least;
        any |= in[l];
        parity ^= in[l];
        ballot |= (in[l] & 1) << l;
        if (!seen) {
            first = in[l];
        }
        seen = true;
        out[l] = op == 5 ? before : sum;
    }
    const uint32_t uniform[] = {sum, most, least, any, parity, 0, 0, ballot, first};
    for (int l = 0; l < LANES && op != 5 && op != 6; l++) {
        out[l] = uniform[op];
    }
}

static void evaluate_pair(struct simdgroup *g, const struct expression *e, uint32_t mask,
                          values out) {
    values left, right;
    evaluate(g, e->left, mask, left);
    evaluate(g, e->right, mask, right);
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) {
            continue;
        }
        out[l] = e->kind == E_BINARY  ? binary(e->value, left[l], right[l])
                 : e->kind == E_FLOAT ? in_float(e->value, left[l], right[l])
                                      : in_64_bits(e->value, left[l], right[l]);
    }
}

/* ?: evaluates each side for the lanes that choose it; simd operations in there see just those. */
static void evaluate_select(struct simdgroup *g, const struct expression *e, uint32_t mask,
                            values out) {
    values choice;
    evaluate(g, e->third, mask, choice);
    uint32_t yes = 0;
    for (int l = 0; l < LANES; l++) {
        if (mask >> l & 1 && choice[l] & 4) {
            yes |= 1u << l;
        }
    }
    values side;
    evaluate(g, e->left, yes, side);
    for (int l = 0; l < LANES; l++) {
        if (yes >> l & 1) {
            out[l] = side[l];
        }
    }
    evaluate(g, e->right, mask & ~yes, side);
    for (int l = 0; l < LANES; l++) {
        if (mask >> l & 1 && !(yes >> l & 1)) {
            out[l] = side[l];
        }
    }
}

static uint32_t read_lane(struct simdgroup *g, const struct expression *e, unsigned lane,
                          uint32_t operand) {
    struct lane *state = &g->lanes[lane];
    switch (e->kind) {
    case E_CONSTANT:
        return e->value;
    case E_VARIABLE:
        return state->a[e->value];
    case E_UNIFORM:
        return g->launch->u;
    case E_SCALAR:
        return state->k;
    case E_INDEX:
        return state->index;
    case E_LANE:
        return lane;
    case E_COUNTER:
        return state->counters[e->value];
    case E_TABLE:
        return g->launch->table[operand & 63];
    case E_ARRAY:
        return state->h[operand & 7];
    case E_SCRATCH:
        return g->launch->scratch[state->index * 4 + (operand & 3)];
    case E_SHARED:
        return state->shared;
    default:
        return narrow(e->value, operand);
    }
}

static void evaluate(struct simdgroup *g, const struct expression *e, uint32_t mask, values out) {
    memset(out, 0, sizeof(values));
    if (!mask) {
        return;
    }
    if (e->kind == E_BINARY || e->kind == E_FLOAT || e->kind == E_WIDE) {
        evaluate_pair(g, e, mask, out);
        return;
    }
    if (e->kind == E_SELECT) {
        evaluate_select(g, e, mask, out);
        return;
    }
    values operand = {0};
    if (e->left) {
        evaluate(g, e->left, mask, operand);
    }
    if (e->kind == E_SIMD) {
        simd(e->value, mask, operand, out);
        return;
    }
    for (unsigned l = 0; l < LANES; l++) {
        if (mask >> l & 1) {
            out[l] = read_lane(g, e, l, operand[l]);
        }
    }
}

static void assign(struct simdgroup *g, const struct statement *s, uint32_t mask) {
    values value, index = {0};
    if (s->kind == S_ASSIGN_ARRAY || s->kind == S_ASSIGN_SCRATCH) {
        evaluate(g, s->index, mask, index);
    }
    evaluate(g, s->expression, mask, value);
    for (unsigned l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) {
            continue;
        }
        struct lane *state = &g->lanes[l];
        switch (s->kind) {
        case S_ASSIGN:
            state->a[s->value] = value[l];
            break;
        case S_ASSIGN_SCALAR:
            state->k = value[l];
            break;
        case S_ASSIGN_ARRAY:
            state->h[index[l] & 7] = value[l];
            break;
        case S_ASSIGN_SCRATCH:
            g->launch->scratch[state->index * 4 + (index[l] & 3)] = value[l];
            break;
        case S_ASSIGN_SHARED:
            state->shared = value[l];
            break;
        default:
            g->launch->counters[s->value] += value[l];
        }
    }
}

static uint32_t test(struct simdgroup *g, const struct expression *e, uint32_t mask) {
    values value;
    evaluate(g, e, mask, value);
    uint32_t yes = 0;
    for (unsigned l = 0; l < LANES; l++) {
        if (mask >> l & 1 && value[l]) {
            yes |= 1u << l;
        }
    }
    return yes;
}

static uint32_t run_block(struct simdgroup *g, const struct statement *s, uint32_t mask);

static void count_up(struct simdgroup *g, uint32_t counter, uint32_t mask, bool reset) {
    for (unsigned l = 0; l < LANES; l++) {
        if (mask >> l & 1) {
            g->lanes[l].counters[counter] = reset ? 0 : g->lanes[l].counters[counter] + 1;
        }
    }
}

static uint32_t below_limit(struct simdgroup *g, const struct statement *s, uint32_t mask) {
    values limit;
    evaluate(g, s->expression, mask, limit);
    uint32_t yes = 0;
    for (unsigned l = 0; l < LANES; l++) {
        if (mask >> l & 1 && g->lanes[l].counters[s->value] < limit[l]) {
            yes |= 1u << l;
        }
    }
    return yes;
}

/* do { } while (j++ < 5 && e != 0): && evaluates e only in the lanes still counting */
static uint32_t goes_on(struct simdgroup *g, const struct statement *s, uint32_t mask) {
    uint32_t counting = 0;
    for (unsigned l = 0; l < LANES; l++) {
        if (mask >> l & 1 && g->lanes[l].counters[s->value] < 5) {
            counting |= 1u << l;
        }
    }
    count_up(g, s->value, mask, false);
    return test(g, s->expression, counting);
}

static uint32_t run_loop(struct simdgroup *g, const struct statement *s, uint32_t mask) {
    uint32_t outer_broken = g->broken, outer_continued = g->continued, live = mask;
    g->broken = 0;
    count_up(g, s->value, mask, true);
    if (s->kind == S_FOR) {
        live = below_limit(g, s, live);
    }
    while (live && g->steps++ < STEP_LIMIT) {
        g->continued = 0;
        run_block(g, s->body[0], live);
        live &= ~(g->broken | g->returned);
        if (s->kind == S_WHILE) {
            live = goes_on(g, s, live);
            continue;
        }
        count_up(g, s->value, live, false);
        live = below_limit(g, s, live);
    }
    g->broken = outer_broken;
    g->continued = outer_continued;
    return mask & ~g->returned;
}

/* break inside a switch belongs to the switch only at its case ends, which the generator writes;
 * S_BREAK_IF inside a case leaves the switch, S_CONTINUE_IF the loop's iteration. */
static uint32_t run_switch(struct simdgroup *g, const struct statement *s, uint32_t mask) {
    values value;
    evaluate(g, s->expression, mask, value);
    uint32_t outer_broken = g->broken, falling = 0;
    g->broken = 0;
    for (unsigned c = 0; c < 4; c++) {
        uint32_t here = falling;
        for (unsigned l = 0; l < LANES; l++) {
            if (mask >> l & 1 && (value[l] & 3) == c) {
                here |= 1u << l;
            }
        }
        uint32_t after = run_block(g, s->body[c], here);
        falling = s->falls_through[c] ? after : 0;
    }
    g->broken = outer_broken;
    return mask & ~(g->returned | g->continued);
}

static void do_return(struct simdgroup *g, uint32_t lanes) {
    for (unsigned l = 0; l < LANES; l++) {
        if (lanes >> l & 1) {
            g->launch->output[g->lanes[l].index] = g->lanes[l].a[0];
        }
    }
    g->returned |= lanes;
}

/* Lanes leave in the iteration in which they get here; so does what they do before. */
static void leave(struct simdgroup *g, const struct statement *s, uint32_t mask) {
    uint32_t yes = run_block(g, s->body[0], test(g, s->expression, mask));
    if (s->value == LEAVE_BREAK) {
        g->broken |= yes;
    } else if (s->value == LEAVE_CONTINUE) {
        g->continued |= yes;
    } else {
        do_return(g, yes);
    }
}

/* Returns the lanes that go on with the next statement. */
static uint32_t run_statement(struct simdgroup *g, const struct statement *s, uint32_t mask) {
    uint32_t yes;
    g->steps++;
    switch (s->kind) {
    case S_IF:
        yes = test(g, s->expression, mask);
        run_block(g, s->body[0], yes);
        run_block(g, s->body[1], mask & ~yes);
        break;
    case S_FOR:
    case S_WHILE:
        return run_loop(g, s, mask);
    case S_SWITCH:
        return run_switch(g, s, mask);
    case S_BREAK_IF:
        g->broken |= test(g, s->expression, mask);
        break;
    case S_CONTINUE_IF:
        g->continued |= test(g, s->expression, mask);
        break;
    case S_RETURN_IF:
        do_return(g, test(g, s->expression, mask));
        break;
    case S_LEAVE_IF:
        leave(g, s, mask);
        break;
    case S_BARRIER:
        break;
    default:
        assign(g, s, mask);
    }
    return mask & ~(g->returned | g->broken | g->continued);
}

static uint32_t run_block(struct simdgroup *g, const struct statement *s, uint32_t mask) {
    for (; s && mask; s = s->next) {
        if (!s->removed) {
            mask = run_statement(g, s, mask);
        }
    }
    return mask;
}

static bool run_simdgroup(const struct program *program, const struct launch *launch,
                          uint32_t first, uint32_t count) {
    struct simdgroup *g = calloc(1, sizeof *g);
    if (!g) {
        return false;
    }
    g->launch = launch;
    uint32_t mask = count == 32 ? ~0u : (1u << count) - 1;
    for (uint32_t l = 0; l < count; l++) {
        struct lane *lane = &g->lanes[l];
        lane->index = first + l;
        lane->a[0] = launch->input[first + l];
        lane->a[1] = lane->index * 7;
        lane->a[2] = lane->a[0] >> 5;
        lane->a[3] = launch->n;
        lane->k = launch->u;
        for (uint32_t q = 0; q < ARRAY; q++) {
            lane->h[q] = q * lane->a[0];
        }
        lane->shared = lane->a[2];
    }
    uint32_t left = run_block(g, program->body, mask);
    for (uint32_t l = 0; l < count; l++) {
        if (!(left >> l & 1)) {
            continue;
        }
        struct lane *lane = &g->lanes[l];
        for (uint32_t q = 0; q < ARRAY; q++) {
            lane->a[0] = lane->a[0] * 31 + lane->h[q];
        }
        launch->output[lane->index] =
            lane->a[0] + lane->a[1] * 3 + lane->a[2] * 5 + lane->a[3] * 7 + lane->k + lane->shared;
    }
    bool ended = g->steps < STEP_LIMIT;
    free(g);
    return ended;
}

bool interpret_program(const struct program *program, const struct launch *launch) {
    for (uint32_t group = 0; group < launch->threads; group += launch->group) {
        uint32_t end =
            group + launch->group < launch->threads ? group + launch->group : launch->threads;
        for (uint32_t first = group; first < end; first += LANES) {
            if (!run_simdgroup(program, launch, first, end - first < LANES ? end - first : LANES)) {
                return false;
            }
        }
    }
    return true;
}
