/*
 * Words of clang and of the prelude in messages, said as Metal says them: address spaces,
 * half and bfloat, vector types. Types that Metal has and ingot does not get a hint.
 */
#include "compiler/frontend/msl/message_words.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *from, *to;
} words[] = {
    {"const __attribute__((opencl_global_host)) ", "constant "},
    {"const __global_host ", "constant "},
    {"__attribute__((opencl_global))", "device"},
    {"__attribute__((opencl_local))", "threadgroup"},
    {"__global_host", "constant"},
    {"__global", "device"},
    {"__local", "threadgroup"},
    {"_Float16", "half"},
    {"__bf16", "bfloat"},
    {"__ingot_cast", "static_cast"},
    {"__ingot_c_cast", "cast"},
    {"__ingot_parameter_if", "kernel argument"},
    {"__ingot_parameter", "kernel argument"},
    {"__ingot_builtin_", ""},
    {"__ingot_max_threads", "max_total_threads_per_threadgroup"},
    {"variable length arrays in C++ are a Clang extension",
     "Apple's compiler has no arrays of variable length"},
    {"unsigned char", "uchar"},
    {"unsigned short", "ushort"},
    {"unsigned int", "uint"},
    {"unsigned long", "ulong"},
};

/* Names of Metal that ingot does not have, as clang quotes them. */
static const struct {
    const char *word, *what;
} absent[] = {
    {"'texture", "textures and samplers are"},
    {"'depth2d", "textures and samplers are"},
    {"'depthcube", "textures and samplers are"},
    {"'sampler", "textures and samplers are"},
    {"'imageblock", "imageblocks are"},
    {"'raytracing'", "ray tracing is"},
    {"'metal_raytracing'", "ray tracing is"},
    {"'visible_function_table'", "visible functions are"},
    {"'metal_visible_function_table'", "visible functions are"},
    {"acceleration_structure'", "ray tracing is"},
    {"'intersection_function_table'", "ray tracing is"},
    {"'command_buffer'", "indirect command buffers are"},
    {"'compute_command'", "indirect command buffers are"},
};

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static const char *find(const char *text, size_t size, const char *word) {
    return memmem(text, size, word, strlen(word));
}

static bool has_prefix(const char *p, const char *end, const char *prefix) {
    size_t size = strlen(prefix);
    return (size_t)(end - p) >= size && memcmp(p, prefix, size) == 0;
}

/* `float __attribute__((ext_vector_type(4)))>` at p: the bytes of the element's name, or 0. */
static size_t native_vector(const char *p, const char *end, const char **length, size_t *digits) {
    static const char attribute[] = " __attribute__((ext_vector_type(";
    const char *found = find(p, (size_t)(end - p), attribute);
    if (!found) {
        return 0;
    }
    for (const char *q = p; q < found; q++) {
        if (!is_word(*q) && *q != ' ') {
            return 0;
        }
    }
    *length = found + strlen(attribute);
    *digits = 0;
    while (*length + *digits < end && (*length)[*digits] >= '0' && (*length)[*digits] <= '9') {
        ++*digits;
    }
    if (!has_prefix(*length + *digits, end, ")))>")) {
        return 0;
    }
    return (size_t)(found - p);
}

void igc_vector_names(const char *text, size_t size, struct ig_text *out) {
    static const char name[] = "__ingot_vec<";
    const char *end = text + size;
    for (const char *p = text; p < end;) {
        const char *at = find(p, (size_t)(end - p), name), *length = NULL;
        if (!at) {
            at = end;
        }
        ig_text_append(out, p, (size_t)(at - p));
        p = at;
        if (at == end) {
            break;
        }
        const char *element = at + strlen(name);
        size_t digits = 0, used = native_vector(element, end, &length, &digits);
        ig_text_puts(out, "vec<");
        p = element;
        if (used) {
            ig_text_append(out, element, used);
            ig_text_printf(out, ", %.*s>", (int)digits, length);
            p = length + digits + strlen(")))>");
        }
    }
}

/* vec<float, 4> → float4; bytes read, or 0. */
static size_t vector_type(const char *p, const char *end, struct ig_text *out) {
    static const char *const scalars[][2] = {
        {"float", "float"},
        {"_Float16", "half"},
        {"__bf16", "bfloat"},
        {"half", "half"},
        {"bfloat", "bfloat"},
        {"bool", "bool"},
        {"char", "char"},
        {"unsigned char", "uchar"},
        {"short", "short"},
        {"int", "int"},
        {"unsigned short", "ushort"},
        {"unsigned int", "uint"},
        {"long", "long"},
        {"unsigned long", "ulong"},
        {"uchar", "uchar"},
        {"ushort", "ushort"},
        {"uint", "uint"},
        {"ulong", "ulong"},
    };
    const char *start = p;
    if (has_prefix(p, end, "metal::")) {
        p += strlen("metal::");
    }
    if (!has_prefix(p, end, "vec<")) {
        return 0;
    }
    p += strlen("vec<");
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        const char *q = p;
        if (!has_prefix(q, end, scalars[i][0])) {
            continue;
        }
        q += strlen(scalars[i][0]);
        if (!has_prefix(q, end, ", ") || end - q < 4 || q[2] < '2' || q[2] > '4' || q[3] != '>') {
            continue;
        }
        ig_text_puts(out, scalars[i][1]);
        ig_text_append(out, q + 2, 1);
        return (size_t)(q + 4 - start);
    }
    return 0;
}

static size_t plain_word(const char *p, const char *end, struct ig_text *out) {
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t size = strlen(words[i].from);
        if (!has_prefix(p, end, words[i].from)) {
            continue;
        }
        bool prefix = words[i].from[size - 1] == '_' || words[i].from[size - 1] == ' ';
        if (!prefix && p + size < end && is_word(p[size]) && is_word(p[size - 1])) {
            continue;
        }
        ig_text_puts(out, words[i].to);
        return size;
    }
    return 0;
}

/* 'half' (aka 'half') → 'half' */
static void drop_repetitions(struct ig_text *text) {
    static const char aka[] = " (aka '";
    if (text->size == 0) {
        return;
    }
    for (char *p = text->data; (p = strstr(p, aka));) {
        char *name = p + strlen(aka), *end = strchr(name, '\'');
        if (!end) {
            return;
        }
        size_t size = (size_t)(end - name);
        bool same = end[1] == ')' && (size_t)(p - text->data) >= size + 2 && p[-1] == '\'' &&
                    p[-2 - (ptrdiff_t)size] == '\'' && memcmp(p - 1 - size, name, size) == 0;
        if (!same) {
            p = end;
            continue;
        }
        size_t rest = strlen(end + 2);
        memmove(p, end + 2, rest + 1);
        text->size = (size_t)(p - text->data) + rest;
    }
}

/* An assertion of the prelude about a kernel's parameters: what it asserted is of no interest. */
static const char *skip_assertion(const char *text, size_t size) {
    const char *reason = find(text, size, "a kernel parameter must be");
    return reason && has_prefix(text, text + size, "static assertion failed") ? reason : text;
}

static void message_words(const char *text, size_t size, struct ig_text *out) {
    const char *end = text + size;
    text = skip_assertion(text, size);
    size = (size_t)(end - text);
    for (const char *p = text; p < end;) {
        size_t used = 0;
        if (p == text || !is_word(p[-1])) {
            used = vector_type(p, end, out);
            if (!used) {
                used = plain_word(p, end, out);
            }
        }
        if (!used) {
            ig_text_append(out, p, 1);
        }
        p += used ? used : 1;
    }
    drop_repetitions(out);
    bool unknown = find(text, size, "unknown type name") || find(text, size, "no template named") ||
                   find(text, size, "undeclared identifier") || find(text, size, "no type named") ||
                   find(text, size, "expected namespace name") ||
                   find(text, size, "no member named") || find(text, size, "file not found");
    for (size_t i = 0; unknown && i < sizeof absent / sizeof *absent; i++) {
        if (find(text, size, absent[i].word)) {
            ig_text_printf(out, "; %s not supported", absent[i].what);
            return;
        }
    }
}

void igc_message_words(const char *text, size_t size, struct ig_text *out) {
    struct ig_text named = {0};
    igc_vector_names(text, size, &named);
    message_words(ig_text_string(&named), named.size, out);
    out->failed |= named.failed;
    ig_text_free(&named);
}
