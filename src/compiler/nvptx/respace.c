/*
 * The kernel's module as text, with another map of address spaces: Metal's constant space is 6
 * after clang, and generic here, since such data may lie in the parameter block or in global
 * memory. LLVM cannot change the address space of a type in place; its text is simple enough.
 */
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/nvptx/nvptx.h"

static const char constant_space[] = "addrspace(6)";

static bool starts_with(const char *text, const char *prefix) {
    return !strncmp(text, prefix, strlen(prefix));
}

/* Does the library define or declare it? */
static bool is_library_declaration(const char *line, size_t length) {
    if (!starts_with(line, "declare ")) {
        return false;
    }
    const char *at = memchr(line, '@', length);
    return at && igi_is_library_name(at + 1);
}

/* Everything but " addrspace(6)" or "addrspace(6) ". */
static void drop_space(const char *line, size_t length, struct ig_text *out) {
    const size_t word = sizeof constant_space - 1;
    for (const char *end = line + length; line < end;) {
        const char *found = memmem(line, (size_t)(end - line), constant_space, word);
        size_t part = (size_t)((found ? found : end) - line);
        const char *next = found ? found + word : end;
        if (found && part && found[-1] == ' ') {
            part--;
        } else if (next < end && *next == ' ') {
            next++;
        }
        ig_text_append(out, line, part);
        line = next;
    }
}

/* Past a value: a name, or an expression with its parentheses. */
static const char *skip_value(const char *at) {
    for (int depth = 0; *at && (*at != ' ' || depth); at++) {
        if (*at == '"') {
            at = strchr(at + 1, '"');
            if (!at) {
                return "";
            }
        }
        depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
        if (*at == ' ' && starts_with(at, " (")) {
            continue;
        }
    }
    return at;
}

/* A cast between equal types is a bitcast. */
static void mend_casts(const char *line, struct ig_text *out) {
    static const char cast[] = "addrspacecast ";
    for (const char *found; (found = strstr(line, cast)); line = found + sizeof cast - 1) {
        const char *operand = found + sizeof cast - 1;
        bool in_parentheses = *operand == '(';
        operand += in_parentheses;
        bool same = starts_with(operand, "ptr ") && !starts_with(operand, "ptr addrspace(");
        if (same) {
            const char *after = operand + 4;
            if (starts_with(after, "getelementptr ")) { /* getelementptr inbounds (...) */
                after = strchr(after, '(');
            }
            after = after ? skip_value(after) : "";
            same = starts_with(after, " to ptr") && !starts_with(after, " to ptr addrspace(");
        }
        ig_text_append(out, line, (size_t)(found - line));
        ig_text_puts(out, same ? "bitcast " : cast);
    }
    ig_text_puts(out, line);
}

void igp_respace(const char *text, bool drop_library, struct ig_text *out) {
    for (const char *line = text; *line;) {
        const char *end = strchr(line, '\n');
        size_t length = end ? (size_t)(end - line) + 1 : strlen(line);
        if (drop_library && is_library_declaration(line, length)) {
            line += length;
            continue;
        }
        if (memmem(line, length, constant_space, sizeof constant_space - 1)) {
            struct ig_text changed = {0};
            drop_space(line, length, &changed);
            mend_casts(ig_text_string(&changed), out);
            out->failed |= changed.failed;
            ig_text_free(&changed);
        } else {
            ig_text_append(out, line, length);
        }
        line += length;
    }
}
