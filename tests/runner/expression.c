/* Expressions for inputs and expected values: C's operators on real numbers (64 bits of
 * mantissa, so that every 64-bit integer is exact), the element's index i, a few functions, and
 * sum/maxof/minof/xorof(v, from, to, expression) with a variable of one letter. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/scalar.h"
#include "runner.h"

typedef long double number;

struct evaluator {
    const char *at;
    number variables[26];
    bool bound[26];
    const char *failure; /* the first one */
    int depth;
};

static number ternary(struct evaluator *e);

static void skip(struct evaluator *e) {
    while (*e->at == ' ' || *e->at == '\t') {
        e->at++;
    }
}

static bool take(struct evaluator *e, const char *token) {
    skip(e);
    size_t length = strlen(token);
    if (strncmp(e->at, token, length)) {
        return false;
    }
    e->at += length;
    return true;
}

static number fail(struct evaluator *e, const char *why) {
    if (!e->failure) {
        e->failure = why;
    }
    return 0;
}

static int64_t whole(number value) {
    if (!(value > -9223372036854775809.0L && value < 18446744073709551616.0L)) {
        return 0;
    }
    if (value >= 9223372036854775808.0L) {
        return (int64_t)(uint64_t)value;
    }
    return (int64_t)value;
}

/* Uniform in [0, 1) with 24 bits, so that it is exact in a float. */
static number random_number(uint64_t seed, uint64_t index) {
    uint64_t x = seed * 0x9e3779b97f4a7c15u + index * 0xd1342543de82ef95u + 0x2545f4914f6cdd1du;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    return (number)(x >> 40) / 16777216.0L;
}

static number fold(struct evaluator *e, const char *name) {
    skip(e);
    int variable = *e->at - 'a';
    if (variable < 0 || variable > 25) {
        return fail(e, "expected a variable of one letter");
    }
    e->at++;
    if (!take(e, ",")) {
        return fail(e, "expected a comma");
    }
    number from = ternary(e);
    if (!take(e, ",")) {
        return fail(e, "expected a comma");
    }
    number to = ternary(e);
    if (!take(e, ",")) {
        return fail(e, "expected a comma");
    }
    const char *body = e->at;
    number outer = e->variables[variable];
    bool was_bound = e->bound[variable];
    number result = *name == 's' || *name == 'x' ? 0 : (name[1] == 'a' ? -INFINITY : INFINITY);
    e->bound[variable] = true;
    bool any = false;
    for (number v = from; v < to && !e->failure; v += 1) {
        e->at = body;
        e->variables[variable] = v;
        number x = ternary(e);
        any = true;
        if (*name == 's') {
            result += x;
        } else if (*name == 'x') {
            result = (number)(whole(result) ^ whole(x));
        } else if (name[1] == 'a') {
            result = fmaxl(result, x);
        } else {
            result = fminl(result, x);
        }
    }
    if (!any) { /* walk over the body once */
        e->variables[variable] = from;
        number ignored = ternary(e);
        (void)ignored;
    }
    e->variables[variable] = outer;
    e->bound[variable] = was_bound;
    return result;
}

static number call(struct evaluator *e, const char *name) {
    static const struct {
        const char *name;
        number (*function)(number);
    } one[] = {{"floor", floorl}, {"ceil", ceill},   {"trunc", truncl}, {"rint", rintl},
               {"round", roundl}, {"abs", fabsl},    {"sqrt", sqrtl},   {"exp", expl},
               {"exp2", exp2l},   {"log", logl},     {"log2", log2l},   {"log10", log10l},
               {"sin", sinl},     {"cos", cosl},     {"tan", tanl},     {"asin", asinl},
               {"acos", acosl},   {"atan", atanl},   {"sinh", sinhl},   {"cosh", coshl},
               {"tanh", tanhl},   {"asinh", asinhl}, {"acosh", acoshl}, {"atanh", atanhl},
               {"erf", erfl}};
    if (!strcmp(name, "sum") || !strcmp(name, "maxof") || !strcmp(name, "minof") ||
        !strcmp(name, "xorof")) {
        number result = fold(e, name);
        return take(e, ")") ? result : fail(e, "expected )");
    }
    number arguments[3] = {0, 0, 0};
    int count = 0;
    do {
        if (count == 3) {
            return fail(e, "too many arguments");
        }
        arguments[count++] = ternary(e);
    } while (take(e, ","));
    if (!take(e, ")")) {
        return fail(e, "expected )");
    }
    number a = arguments[0], b = arguments[1];
    for (size_t i = 0; i < sizeof one / sizeof one[0]; i++) {
        if (count == 1 && !strcmp(name, one[i].name)) {
            return one[i].function(a);
        }
    }
    ingot_scalar_type scalar = ig_scalar_find(name, strlen(name));
    if (scalar && count == 1) { /* rounds or wraps */
        uint8_t bytes[8];
        char text[64];
        test_store(scalar, a, bytes);
        if (scalar == INGOT_SCALAR_F32) {
            float f;
            memcpy(&f, bytes, 4);
            return f;
        }
        uint16_t bits;
        memcpy(&bits, bytes, 2);
        if (scalar == INGOT_SCALAR_F16) {
            return ig_half_value(bits);
        }
        if (scalar == INGOT_SCALAR_BF16) {
            return ig_bfloat_value(bits);
        }
        ig_scalar_print(scalar, bytes, text, sizeof text);
        return strtold(text, NULL);
    }
    if (!strcmp(name, "rand")) {
        return random_number((uint64_t)a,
                             count > 1 ? (uint64_t)b : (uint64_t)e->variables['i' - 'a']);
    }
    if (count == 2 && !strcmp(name, "min")) {
        return fminl(a, b);
    }
    if (count == 2 && !strcmp(name, "max")) {
        return fmaxl(a, b);
    }
    if (count == 2 && !strcmp(name, "pow")) {
        return powl(a, b);
    }
    if (count == 2 && !strcmp(name, "atan2")) {
        return atan2l(a, b);
    }
    if (count == 2 && !strcmp(name, "fmod")) {
        return fmodl(a, b);
    }
    if (count == 2 && !strcmp(name, "idiv")) {
        return b == 0 ? NAN : truncl(a / b);
    }
    return fail(e, "there is no such function");
}

static number primary(struct evaluator *e) {
    skip(e);
    if (take(e, "(")) {
        number value = ternary(e);
        return take(e, ")") ? value : fail(e, "expected )");
    }
    if (isdigit((unsigned char)*e->at) || *e->at == '.') {
        char *end;
        number value;
        if (e->at[0] == '0' && (e->at[1] == 'x' || e->at[1] == 'X')) {
            value = (number)strtoull(e->at, &end, 16);
        } else {
            value = strtold(e->at, &end);
        }
        if (end == e->at) {
            return fail(e, "expected a number");
        }
        e->at = end;
        return value;
    }
    char name[16];
    size_t length = 0;
    while (isalnum((unsigned char)e->at[length]) && length < sizeof name - 1) {
        length++;
    }
    memcpy(name, e->at, length);
    name[length] = 0;
    if (!length) {
        return fail(e, "expected a number, a name or (");
    }
    e->at += length;
    if (take(e, "(")) {
        return call(e, name);
    }
    if (!strcmp(name, "inf")) {
        return INFINITY;
    }
    if (!strcmp(name, "nan")) {
        return NAN;
    }
    if (!strcmp(name, "pi")) {
        return acosl(-1);
    }
    if (length == 1 && name[0] >= 'a' && name[0] <= 'z' && e->bound[name[0] - 'a']) {
        return e->variables[name[0] - 'a'];
    }
    return fail(e, "there is no such name");
}

static number unary(struct evaluator *e) {
    if (++e->depth > 200) {
        return fail(e, "nested too deeply");
    }
    number value;
    if (take(e, "-")) {
        value = -unary(e);
    } else if (take(e, "~")) {
        value = (number)~whole(unary(e));
    } else if (take(e, "!")) {
        value = unary(e) == 0;
    } else {
        value = primary(e);
    }
    e->depth--;
    return value;
}

/* Binary operators by level; at one level, longer tokens first. */
enum { LEVELS = 9 };
static const char *const operators[LEVELS][5] = {
    {"||"},       {"&&"},     {"|"},           {"^"}, {"&"}, {"==", "!=", "<=", ">=", NULL},
    {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"},
};

static number apply(const char *op, number a, number b) {
    switch (op[0]) {
    case '|':
        return op[1] ? (a != 0 || b != 0) : (number)(whole(a) | whole(b));
    case '&':
        return op[1] ? (a != 0 && b != 0) : (number)(whole(a) & whole(b));
    case '^':
        return (number)(whole(a) ^ whole(b));
    case '=':
        return a == b;
    case '!':
        return a != b;
    case '<':
        if (op[1] == '<') {
            return b >= 0 && b < 63 ? (number)(int64_t)((uint64_t)whole(a) << whole(b)) : 0;
        }
        return op[1] ? a <= b : a < b;
    case '>':
        if (op[1] == '>') {
            return b >= 0 && b < 63 ? (number)(whole(a) >> whole(b)) : 0;
        }
        return op[1] ? a >= b : a > b;
    case '+':
        return a + b;
    case '-':
        return a - b;
    case '*':
        return a * b;
    case '/':
        return a / b;
    default:
        return whole(b) == 0 ? NAN : (number)(whole(a) % whole(b));
    }
}

/* The operator of this level that stands here, or NULL. */
static const char *operator_here(struct evaluator *e, int level) {
    skip(e);
    for (int i = 0; i < 5 && operators[level][i]; i++) {
        const char *op = operators[level][i];
        size_t length = strlen(op);
        if (strncmp(e->at, op, length)) {
            continue;
        }
        if (length == 1 && (*op == '|' || *op == '&') && e->at[1] == *op) {
            continue; /* || and && are not two of them */
        }
        e->at += length;
        return op;
    }
    if (level == 5 && (*e->at == '<' || *e->at == '>') && e->at[1] != *e->at) {
        return *e->at++ == '<' ? "<" : ">";
    }
    return NULL;
}

static number binary(struct evaluator *e, int level) {
    if (level == LEVELS) {
        return unary(e);
    }
    number value = binary(e, level + 1);
    const char *op;
    while (!e->failure && (op = operator_here(e, level))) {
        value = apply(op, value, binary(e, level + 1));
    }
    return value;
}

static number ternary(struct evaluator *e) {
    if (++e->depth > 200) {
        return fail(e, "nested too deeply");
    }
    number condition = binary(e, 0);
    if (!e->failure && take(e, "?")) {
        number yes = ternary(e);
        if (!take(e, ":")) {
            return fail(e, "expected :");
        }
        number no = ternary(e);
        condition = condition != 0 ? yes : no;
    }
    e->depth--;
    return condition;
}

ingot_status test_evaluate(const char *text, uint64_t index, long double *value, const char **end,
                           struct ig_error *error) {
    struct evaluator e = {.at = text};
    e.variables['i' - 'a'] = (number)index;
    e.bound['i' - 'a'] = true;
    *value = ternary(&e);
    *end = e.at;
    if (e.failure) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT, "%s at \"%.20s\" in \"%s\"", e.failure, e.at,
                       text);
    }
    return INGOT_OK;
}
