/*
 * Random kernels for differential testing: a program is generated as a tree, printed as MSL, run
 * through libingot, and executed by interpret.c thread by thread with SIMT masks. The two must
 * agree on every bit.
 */
#ifndef INGOT_TESTS_RANDOM_KERNEL_H
#define INGOT_TESTS_RANDOM_KERNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ingot/ingot.h"

enum {
    VARIABLES = 4, /* uint a0 … a3, varying */
    ARRAY = 8,     /* uint h[8], private */
    TABLE = 64,    /* constant uint tab[64] */
    SCRATCH = 4,   /* device uint scr[threads * 4] */
    SHARED = 1024, /* threadgroup uint tg[1024]: one word per thread */
    MAX_NODES = 4000,
};

enum expression_kind {
    E_CONSTANT, /* value */
    E_VARIABLE, /* a[value] */
    E_UNIFORM,  /* u */
    E_SCALAR,   /* k, uniform unless assigned under divergence */
    E_INDEX,    /* i */
    E_LANE,     /* lane */
    E_COUNTER,  /* loop counter `value` */
    E_BINARY,   /* op left right */
    E_TABLE,    /* tab[left & 63] */
    E_ARRAY,    /* h[left & 7] */
    E_SCRATCH,  /* scr[i * 4 + (left & 3)] */
    E_SHARED,   /* tg[thread]: own word */
    E_SELECT,   /* third ? left : right */
    E_SIMD,     /* simd operation `value` of left */
    E_NARROW,   /* conversion through a smaller type `value` */
    E_FLOAT,    /* float arithmetic `value` on small integers: exact */
    E_WIDE,     /* 64-bit arithmetic */
};

enum statement_kind {
    S_ASSIGN,        /* a[value] = expression */
    S_ASSIGN_SCALAR, /* k = expression */
    S_ASSIGN_ARRAY,  /* h[index & 7] = expression */
    S_ASSIGN_SCRATCH,
    S_ASSIGN_SHARED,
    S_ATOMIC, /* atomic add to counter[value] */
    S_IF,
    S_FOR,    /* for (j = 0; j < expression; j++) */
    S_WHILE,  /* do body while (expression != 0 && ++j < limit) */
    S_SWITCH, /* switch (expression & 3) with fallthrough at random */
    S_BREAK_IF,
    S_CONTINUE_IF,
    S_RETURN_IF,
    S_LEAVE_IF, /* if (expression) { body; break, continue or return by value }, in loops only */
    S_BLOCK,
    S_BARRIER, /* threadgroup barrier; only at top level */
};

enum leaving { LEAVE_BREAK, LEAVE_CONTINUE, LEAVE_RETURN };

struct expression {
    enum expression_kind kind;
    uint32_t value;
    struct expression *left, *right, *third;
};

struct statement {
    enum statement_kind kind;
    uint32_t value;
    struct expression *expression, *index;
    struct statement *body[4]; /* if: then, else; switch: cases; loops: body[0] */
    bool falls_through[4];
    bool removed;           /* by shrinking */
    struct statement *next; /* in its block */
};

struct program {
    struct statement *body;
    unsigned counters; /* loop counters j0 … */
    bool returns;      /* has an early return, so no barrier after it */
    struct expression expressions[MAX_NODES];
    struct statement statements[MAX_NODES];
    unsigned expression_count, statement_count;
};

enum { OPERATORS = 14, SIMD_OPERATIONS = 9, NARROW_TYPES = 4, FLOAT_OPERATIONS = 3 };

/* size 1 (a few plain statements) to 4 (deeply nested) */
void generate_program(struct program *program, uint64_t seed, int size);
void print_program(const struct program *program, FILE *out);

struct launch {
    uint32_t threads, group; /* 1-D */
    uint32_t n, u;
    const uint32_t *input; /* threads */
    const uint32_t *table; /* TABLE */
    uint32_t *output;      /* threads */
    uint32_t *scratch;     /* threads * SCRATCH */
    uint32_t *counters;    /* 8 */
};

enum { THREADS = 333 };

struct data {
    uint32_t input[THREADS], table[TABLE], output[THREADS], scratch[THREADS * SCRATCH], counters[8];
};

/* false when a loop ran past a step limit (the kernel is then not used) */
bool interpret_program(const struct program *program, const struct launch *launch);

/* run.c: on a device; from an archive, or from source if that is NULL. */
ingot_status run_program(ingot_device *device, const char *source, const char *archive,
                         struct data *data, const struct launch *launch);
/* Compiles the source for NVIDIA GPUs with $INGOTC; false, with the reason printed. */
bool pack_program(const char *source, const char *archive);

#endif
