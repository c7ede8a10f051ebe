/* A program tree as MSL. */
#include "random_kernel.h"

static const char *const operators[OPERATORS] = {"+",  "-", "*", "&", "|",  "^",   "<<",
                                                 ">>", "/", "%", "<", "==", "min", "max"};
static const char *const simd_operations[SIMD_OPERATIONS] = {"simd_sum(%)",
                                                             "simd_max(%)",
                                                             "simd_min(%)",
                                                             "simd_or(%)",
                                                             "simd_xor(%)",
                                                             "simd_prefix_exclusive_sum(%)",
                                                             "simd_prefix_inclusive_sum(%)",
                                                             "uint((ulong)simd_ballot((%) & 1))",
                                                             "simd_broadcast_first(%)"};
static const char *const narrow_types[NARROW_TYPES] = {"uchar", "ushort", "char", "short"};
static const char *const float_operators[FLOAT_OPERATIONS] = {"+", "*", "-"};

static void print_expression(const struct expression *e, FILE *out);

static void print_binary(const struct expression *e, FILE *out) {
    const char *op = operators[e->value];
    if (e->value >= 12) {
        fprintf(out, "%s(", op);
        print_expression(e->left, out);
        fputs(", ", out);
        print_expression(e->right, out);
        fputs(")", out);
        return;
    }
    fputs(e->value == 10 || e->value == 11 ? "uint(" : "(", out); /* comparisons give bool */
    print_expression(e->left, out);
    fprintf(out, " %s ", op);
    fputs(e->value == 8 || e->value == 9 ? "(1u | " : "(", out); /* shifts count modulo 32 */
    print_expression(e->right, out);
    fputs("))", out);
}

static void print_simd(const struct expression *e, FILE *out) {
    for (const char *c = simd_operations[e->value]; *c; c++) {
        if (*c == '%') {
            print_expression(e->left, out);
        } else {
            fputc(*c, out);
        }
    }
}

static void print_expression(const struct expression *e, FILE *out) {
    switch (e->kind) {
    case E_CONSTANT:
        fprintf(out, "%uu", e->value);
        break;
    case E_VARIABLE:
        fprintf(out, "a%u", e->value);
        break;
    case E_UNIFORM:
        fputs("u", out);
        break;
    case E_SCALAR:
        fputs("k", out);
        break;
    case E_INDEX:
        fputs("i", out);
        break;
    case E_LANE:
        fputs("lane", out);
        break;
    case E_COUNTER:
        fprintf(out, "j%u", e->value);
        break;
    case E_BINARY:
        print_binary(e, out);
        break;
    case E_TABLE:
        fputs("tab[(", out);
        print_expression(e->left, out);
        fputs(") & 63u]", out);
        break;
    case E_ARRAY:
        fputs("h[(", out);
        print_expression(e->left, out);
        fputs(") & 7u]", out);
        break;
    case E_SCRATCH:
        fputs("scr[i * 4 + ((", out);
        print_expression(e->left, out);
        fputs(") & 3u)]", out);
        break;
    case E_SHARED:
        fputs("tg[t]", out);
        break;
    case E_SELECT:
        fputs("((", out);
        print_expression(e->third, out);
        fputs(") & 4u ? ", out);
        print_expression(e->left, out);
        fputs(" : ", out);
        print_expression(e->right, out);
        fputs(")", out);
        break;
    case E_SIMD:
        print_simd(e, out);
        break;
    case E_NARROW:
        fprintf(out, "uint((%s)(", narrow_types[e->value]);
        print_expression(e->left, out);
        fputs("))", out);
        break;
    case E_FLOAT:
        fputs("uint(int(float((", out);
        print_expression(e->left, out);
        fprintf(out, ") & 255u) %s float((", float_operators[e->value]);
        print_expression(e->right, out);
        fputs(") & 255u)))", out);
        break;
    case E_WIDE:
        fputs("uint((ulong(", out);
        print_expression(e->left, out);
        fprintf(out, ") %s ulong(", e->value == 0 ? "*" : e->value == 1 ? "+" : "-");
        print_expression(e->right, out);
        fputs(")) >> 7)", out);
        break;
    }
}

static void print_block(const struct statement *s, FILE *out, int depth);

static void indent(FILE *out, int depth) {
    fprintf(out, "%*s", 4 * depth, "");
}

static void print_simple(const struct statement *s, FILE *out) {
    switch (s->kind) {
    case S_ASSIGN:
        fprintf(out, "a%u = ", s->value);
        break;
    case S_ASSIGN_SCALAR:
        fputs("k = ", out);
        break;
    case S_ASSIGN_ARRAY:
        fputs("h[(", out);
        print_expression(s->index, out);
        fputs(") & 7u] = ", out);
        break;
    case S_ASSIGN_SCRATCH:
        fputs("scr[i * 4 + ((", out);
        print_expression(s->index, out);
        fputs(") & 3u)] = ", out);
        break;
    case S_ASSIGN_SHARED:
        fputs("tg[t] = ", out);
        break;
    default:
        fprintf(out, "atomic_fetch_add_explicit(&count[%u], ", s->value);
        print_expression(s->expression, out);
        fputs(", memory_order_relaxed);\n", out);
        return;
    }
    print_expression(s->expression, out);
    fputs(";\n", out);
}

static void print_jump(const struct statement *s, FILE *out) {
    fputs("if (", out);
    print_expression(s->expression, out);
    fputs(s->kind == S_BREAK_IF      ? ") break;\n"
          : s->kind == S_CONTINUE_IF ? ") continue;\n"
                                     : ") { out[i] = a0; return; }\n",
          out);
}

static void print_leave(const struct statement *s, FILE *out, int depth) {
    static const char *const ends[] = {"break;\n", "continue;\n", "out[i] = a0; return;\n"};
    fputs("if (", out);
    print_expression(s->expression, out);
    fputs(") {\n", out);
    print_block(s->body[0], out, depth + 1);
    indent(out, depth + 1);
    fputs(ends[s->value], out);
    indent(out, depth);
    fputs("}\n", out);
}

static void print_switch(const struct statement *s, FILE *out, int depth) {
    fputs("switch ((", out);
    print_expression(s->expression, out);
    fputs(") & 3u) {\n", out);
    for (int c = 0; c < 4; c++) {
        indent(out, depth);
        if (c < 3) {
            fprintf(out, "case %d: {\n", c);
        } else {
            fputs("default: {\n", out);
        }
        print_block(s->body[c], out, depth + 1);
        indent(out, depth);
        fputs(s->falls_through[c] ? "}\n" : "} break;\n", out);
    }
    indent(out, depth);
    fputs("}\n", out);
}

static void print_statement(const struct statement *s, FILE *out, int depth) {
    indent(out, depth);
    switch (s->kind) {
    case S_IF:
        fputs("if (", out);
        print_expression(s->expression, out);
        fputs(") {\n", out);
        print_block(s->body[0], out, depth + 1);
        indent(out, depth);
        if (s->body[1]) {
            fputs("} else {\n", out);
            print_block(s->body[1], out, depth + 1);
            indent(out, depth);
        }
        fputs("}\n", out);
        return;
    case S_FOR:
        fprintf(out, "for (j%u = 0; j%u < (", s->value, s->value);
        print_expression(s->expression, out);
        fprintf(out, "); j%u++) {\n", s->value);
        print_block(s->body[0], out, depth + 1);
        indent(out, depth);
        fputs("}\n", out);
        return;
    case S_WHILE:
        fprintf(out, "j%u = 0; do {\n", s->value);
        print_block(s->body[0], out, depth + 1);
        indent(out, depth);
        fprintf(out, "} while (j%u++ < 5u && (", s->value);
        print_expression(s->expression, out);
        fputs(") != 0u);\n", out);
        return;
    case S_SWITCH:
        print_switch(s, out, depth);
        return;
    case S_BREAK_IF:
    case S_CONTINUE_IF:
    case S_RETURN_IF:
        print_jump(s, out);
        return;
    case S_LEAVE_IF:
        print_leave(s, out, depth);
        return;
    case S_BARRIER:
        fputs("threadgroup_barrier(mem_flags::mem_threadgroup);\n", out);
        return;
    default:
        print_simple(s, out);
    }
}

static void print_block(const struct statement *s, FILE *out, int depth) {
    for (; s; s = s->next) {
        if (!s->removed) {
            print_statement(s, out, depth);
        }
    }
}

void print_program(const struct program *program, FILE *out) {
    fputs("#include <metal_stdlib>\nusing namespace metal;\n\n"
          "kernel void random_kernel(device const uint *in, device uint *out, constant uint *tab,\n"
          "                          device uint *scr, device atomic_uint *count,\n"
          "                          constant uint &n, constant uint &u,\n"
          "                          uint i [[thread_position_in_grid]],\n"
          "                          uint t [[thread_index_in_threadgroup]],\n"
          "                          uint lane [[thread_index_in_simdgroup]]) {\n"
          "    threadgroup uint tg[1024];\n"
          "    uint a0 = in[i], a1 = i * 7, a2 = a0 >> 5, a3 = n, k = u;\n"
          "    uint h[8];\n"
          "    for (uint q = 0; q < 8; q++) h[q] = q * a0;\n"
          "    tg[t] = a2;\n",
          out);
    for (unsigned j = 0; j < program->counters; j++) {
        fprintf(out, "    uint j%u = 0;\n", j);
    }
    print_block(program->body, out, 1);
    fputs("    for (uint q = 0; q < 8; q++) a0 = a0 * 31 + h[q];\n"
          "    out[i] = a0 + a1 * 3 + a2 * 5 + a3 * 7 + k + tg[t];\n}\n",
          out);
}
