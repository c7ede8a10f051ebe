/*
 * The rows of builtins.def by name and by function: names are looked up in a hash table, and a
 * thread remembers the functions that it has looked up. Signatures become types of LLVM.
 */
#include "compiler/ir/builtins.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "ingot/ingot.h"

#define PURE    IGI_PURE
#define GRID    IGI_GRID
#define BARRIER IGI_BARRIER
#define HINT    IGI_HINT
/* OTHERS and ACTIVE: see nvptx/masks.c. */
#define LANE_SUFFIX(own, l) (IGI_LANES_##l >= IGI_LANES_OTHERS ? "all,some" : own)

static const struct igi_facts rows[IGI_BUILTIN_COUNT] = {
    {.name = "",
     .suffix = "",
     .memory = IGI_MEMORY_ANY,
     .result = IGI_RESULT_VARYING,
     .handled = IGI_HANDLED_PASSES},
#define BUILTIN(id, f, m, l, r, most, flag, h, text)                                               \
    {.name = "__ingot_" #id,                                                                       \
     .suffix = LANE_SUFFIX("", l),                                                                 \
     .signature = text,                                                                            \
     .family = IGI_FAMILY_##f,                                                                     \
     .memory = IGI_MEMORY_##m,                                                                     \
     .lanes = IGI_LANES_##l,                                                                       \
     .result = IGI_RESULT_##r,                                                                     \
     .maximum = most,                                                                              \
     .flags = flag,                                                                                \
     .handled = IGI_HANDLED_##h,                                                                   \
     .in_prelude = true},
#define MARKER(id, spelling, f, m, l, r, flag, h, own, text)                                       \
    {.name = spelling,                                                                             \
     .suffix = LANE_SUFFIX(own, l),                                                                \
     .signature = text,                                                                            \
     .family = IGI_FAMILY_##f,                                                                     \
     .memory = IGI_MEMORY_##m,                                                                     \
     .lanes = IGI_LANES_##l,                                                                       \
     .result = IGI_RESULT_##r,                                                                     \
     .flags = flag,                                                                                \
     .handled = IGI_HANDLED_##h},
#include "compiler/ir/builtins.def"
};

const struct igi_facts *igi_facts(enum igi_builtin builtin) {
    return &rows[builtin];
}

/* ---- names ---- */
enum { SLOTS = 512 }; /* a power of two, several times the rows */
_Static_assert(SLOTS > 2 * IGI_BUILTIN_COUNT, "the table of names is too full");

static uint16_t slots[SLOTS]; /* rows by the hash of their name; 0: empty */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint32_t hash_of(const char *text, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    }
    return hash ^ hash >> 15;
}

static void fill_slots(void) {
    for (uint16_t row = IGI_NO_BUILTIN + 1; row < IGI_BUILTIN_COUNT; row++) {
        uint32_t at = hash_of(rows[row].name, strlen(rows[row].name));
        while (slots[at % SLOTS]) {
            at++;
        }
        slots[at % SLOTS] = row;
    }
}

static enum igi_builtin exact_row(const char *text, size_t length) {
    for (uint32_t at = hash_of(text, length); slots[at % SLOTS]; at++) {
        enum igi_builtin row = (enum igi_builtin)slots[at % SLOTS];
        if (!strncmp(rows[row].name, text, length) && !rows[row].name[length]) {
            return row;
        }
    }
    return IGI_NO_BUILTIN;
}

/* The number at *text, which it is moved past; false if there is none or it is too large. */
static bool read_number(const char **text, const char *end, uint32_t *number) {
    const char *start = *text;
    uint64_t value = 0;
    for (; *text < end && **text >= '0' && **text <= '9' && value <= UINT32_MAX; (*text)++) {
        value = value * 10 + (uint64_t)(**text - '0');
    }
    *number = (uint32_t)value;
    return *text > start && value <= UINT32_MAX;
}

/* Reads `text` to `end`, each part of which begins with a dot, as the row's suffix. */
static bool read_suffix(const char *suffix, const char *text, const char *end,
                        struct igi_name *name) {
    unsigned word = 0, number = 0;
    for (; *suffix; suffix += *suffix == ',') {
        size_t length = strcspn(suffix, ",");
        bool dot = text < end && *text == '.';
        if (*suffix == '#') {
            text += dot;
            if (!dot || number == IGI_MOST_NUMBERS ||
                !read_number(&text, end, &name->numbers[number++])) {
                return false;
            }
        } else {
            size_t left = dot ? (size_t)(end - text - 1) : 0;
            if (dot && left >= length && !memcmp(text + 1, suffix, length) &&
                (left == length || text[1 + length] == '.')) {
                name->words |= 1u << word;
                text += 1 + length;
            }
            word++;
        }
        suffix += length;
    }
    return text == end;
}

struct igi_name igi_name_read(const char *text, size_t length) {
    static const struct igi_name none = {.builtin = IGI_NO_BUILTIN};
    pthread_once(&once, fill_slots);
    for (size_t part = length; part; part--) {
        if (part < length && text[part] != '.') {
            continue;
        }
        struct igi_name name = {.builtin = exact_row(text, part)};
        if (name.builtin) {
            bool fits = read_suffix(rows[name.builtin].suffix, text + part, text + length, &name);
            return fits ? name : none;
        }
    }
    return none;
}

size_t igi_name_write(struct igi_name name, char text[IGI_MOST_LETTERS]) {
    const struct igi_facts *row = &rows[name.builtin];
    int size = snprintf(text, IGI_MOST_LETTERS, "%s", row->name);
    unsigned word = 0, number = 0;
    for (const char *part = row->suffix; *part && size < IGI_MOST_LETTERS; part += *part == ',') {
        int length = (int)strcspn(part, ","), left = IGI_MOST_LETTERS - size;
        if (*part == '#' && number < IGI_MOST_NUMBERS) {
            size += snprintf(text + size, (size_t)left, ".%u", name.numbers[number++]);
        } else if (name.words >> word++ & 1) {
            size += snprintf(text + size, (size_t)left, ".%.*s", length, part);
        }
        part += length;
    }
    return name.words >> word || size >= IGI_MOST_LETTERS ? 0 : (size_t)size;
}

static bool starts_with(const char *text, const char *prefix) {
    return !strncmp(text, prefix, strlen(prefix));
}

bool igi_is_library_name(const char *text) {
    return starts_with(text, "__ingot_") || starts_with(text, "nv.");
}

bool igi_is_llvm_name(const char *text) {
    return starts_with(text, "llvm.");
}

bool igi_is_reserved_name(const char *text) {
    return starts_with(text, "__ingot_") || igi_is_llvm_name(text) || starts_with(text, "air.");
}

enum igi_builtin igi_builtin_of_air_name(const char *name) {
    static const struct {
        const char *name;
        enum igi_builtin builtin;
    } spellings[] = {
#define AIR(id, spelling) {spelling, IGI_##id},
#include "compiler/ir/air_spellings.def"
    };
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        if (!strcmp(name, spellings[i].name)) {
            return spellings[i].builtin;
        }
    }
    return IGI_NO_BUILTIN;
}

/* ---- functions ---- */
/* What a thread has found out. The address of a function may become another one's: the name
 * tells. Functions with longer names are no built-ins. */
enum { REMEMBERED = 256 };
static _Thread_local struct remembered {
    LLVMValueRef function;
    size_t length;
    char text[IGI_MOST_LETTERS];
    struct igi_name name;
} known[REMEMBERED];

struct igi_name igi_name_of_function(LLVMValueRef function) {
    size_t length;
    const char *text = LLVMGetValueName2(function, &length);
    if (!length || length >= IGI_MOST_LETTERS) {
        return (struct igi_name){.builtin = IGI_NO_BUILTIN};
    }
    /* functions are some hundred bytes apart */
    struct remembered *m =
        &known[((uintptr_t)function >> 4 ^ (uintptr_t)function >> 12) % REMEMBERED];
    if (m->function != function || m->length != length || memcmp(m->text, text, length)) {
        m->function = function;
        m->length = length;
        memcpy(m->text, text, length);
        m->name = igi_name_read(text, length);
    }
    return m->name;
}

enum igi_builtin igi_builtin_of_function(LLVMValueRef function) {
    return igi_name_of_function(function).builtin;
}

LLVMValueRef igi_callee(LLVMValueRef value) {
    LLVMValueRef callee = LLVMIsACallInst(value) ? LLVMGetCalledValue(value) : NULL;
    return callee && LLVMIsAFunction(callee) ? callee : NULL;
}

const char *igi_callee_text(LLVMValueRef value) {
    size_t length;
    LLVMValueRef callee = igi_callee(value);
    return callee ? LLVMGetValueName2(callee, &length) : "";
}

struct igi_name igi_name_of(LLVMValueRef call) {
    LLVMValueRef callee = igi_callee(call);
    return callee && !LLVMGetIntrinsicID(callee) ? igi_name_of_function(callee)
                                                 : (struct igi_name){.builtin = IGI_NO_BUILTIN};
}

enum igi_builtin igi_builtin_of(LLVMValueRef call) {
    return igi_name_of(call).builtin;
}

const struct igi_facts *igi_facts_of(LLVMValueRef call) {
    return &rows[igi_builtin_of(call)];
}

/* ---- the maths library ---- */
enum igi_maths igi_maths_of_function(LLVMValueRef function) {
    static const struct {
        const char *name; /* as C++ mangles it, behind the namespace */
        unsigned operands;
        enum igi_maths maths;
    } functions[] = {
        {"__ingot_math_exp_fastf", 1, IGI_MATHS_EXP_FAST},
        {"__ingot_math_exp2_fastf", 1, IGI_MATHS_EXP2_FAST},
        {"__ingot_math_rsqrt_fastf", 1, IGI_MATHS_RSQRT_FAST},
        {"__ingot_math_divide_fastff", 2, IGI_MATHS_DIVIDE_FAST},
    };
    size_t length;
    const char *text = LLVMGetValueName2(function, &length);
    LLVMTypeRef type = LLVMGlobalGetValueType(function);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const char *found = strstr(text, functions[i].name);
        if (found && !strcmp(found, functions[i].name) && !LLVMIsDeclaration(function) &&
            LLVMCountParamTypes(type) == functions[i].operands &&
            LLVMGetTypeKind(LLVMGetReturnType(type)) == LLVMFloatTypeKind) {
            return functions[i].maths;
        }
    }
    return IGI_NO_MATHS;
}

/* ---- types ---- */
static bool has_word(const char *text, size_t length, const char *word) {
    size_t size = strlen(word);
    for (const char *at = text; at + size <= text + length; at++) {
        bool begins = at == text || at[-1] == ' ',
             ends = at + size == text + length || at[size] == ' ' || at[size] == '*';
        if (begins && ends && !memcmp(at, word, size)) {
            return true;
        }
    }
    return false;
}

/* The type that `text` begins with or, of a pointer, is: "const device u32 *p". */
static LLVMTypeRef type_of(LLVMContextRef context, const char *text, size_t length) {
    if (memchr(text, '*', length)) {
        unsigned space = has_word(text, length, "device")        ? INGOT_SPACE_DEVICE
                         : has_word(text, length, "constant")    ? INGOT_SPACE_CONSTANT
                         : has_word(text, length, "threadgroup") ? INGOT_SPACE_THREADGROUP
                                                                 : 0;
        return LLVMPointerTypeInContext(context, space);
    }
    static const struct {
        const char *word;
        unsigned bits;
    } integers[] = {{"bool", 1}, {"u8", 8},   {"u16", 16}, {"u32", 32},
                    {"i32", 32}, {"u64", 64}, {"i64", 64}};
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        if (has_word(text, length, integers[i].word)) {
            return LLVMIntTypeInContext(context, integers[i].bits);
        }
    }
    return has_word(text, length, "f32") ? LLVMFloatTypeInContext(context)
                                         : LLVMVoidTypeInContext(context);
}

LLVMTypeRef igi_builtin_type(LLVMContextRef context, enum igi_builtin builtin) {
    enum { MOST = 16 };
    LLVMTypeRef types[MOST];
    const char *text = rows[builtin].signature;
    const char *open = text ? strchr(text, '(') : NULL;
    if (!open) {
        return NULL;
    }
    unsigned count = 0;
    for (const char *at = open + 1; *at && count < MOST;) {
        size_t length = strcspn(at, ",)");
        types[count] = type_of(context, at, length);
        count += LLVMGetTypeKind(types[count]) != LLVMVoidTypeKind;
        at += length + 1;
        at += *at == ' ';
    }
    return LLVMFunctionType(type_of(context, text, (size_t)(open - text)), types, count, false);
}

LLVMValueRef igi_find(LLVMModuleRef module, enum igi_builtin builtin) {
    return LLVMGetNamedFunction(module, rows[builtin].name);
}

LLVMValueRef igi_find_named(LLVMModuleRef module, struct igi_name name) {
    char text[IGI_MOST_LETTERS];
    return igi_name_write(name, text) ? LLVMGetNamedFunction(module, text) : NULL;
}

LLVMValueRef igi_declare(LLVMModuleRef module, enum igi_builtin builtin) {
    LLVMValueRef function = igi_find(module, builtin);
    LLVMTypeRef type = function ? NULL : igi_builtin_type(LLVMGetModuleContext(module), builtin);
    return type ? LLVMAddFunction(module, rows[builtin].name, type) : function;
}

void igi_add_attribute(LLVMValueRef function, const char *name, uint64_t value) {
    LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(context, kind, value));
}

bool igi_memory_attribute(enum igi_memory memory, uint64_t *value) {
    enum { READ = 1, WRITE = 2, UNSEEN_SHIFT = 2 };
    static const uint64_t values[] = {
        [IGI_MEMORY_NONE] = 0,
        [IGI_MEMORY_READS] = READ,
        [IGI_MEMORY_WRITES] = WRITE,
        [IGI_MEMORY_UNSEEN] = (READ | WRITE) << UNSEEN_SHIFT,
        [IGI_MEMORY_TELLS] = WRITE << UNSEEN_SHIFT,
    };
    bool says = memory < sizeof values / sizeof *values;
    *value = says ? values[memory] : 0;
    return says;
}
