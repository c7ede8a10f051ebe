/*
 * Places: where in the source a check stands, and what it is about, for the reports of the device.
 *
 * A place's own location is the innermost one in the user's files: what the prelude does is at the
 * line that called it. Requires clang's debug locations; the names of functions are collected
 * before anything is inlined. The table is emitted once per target, when the slots of arguments are
 * known.
 */
#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/walk.h"
#include "compiler/sanitize/sanitize.h"

/* ---- names of functions ---- */
/* A function that is an operator or a conversion of vectors, by its mangled name: metal::operator+
 * is _ZN5metalplE…, that of a class _ZN5metal11__ingot_vecIDv4_fEpLE…. */
static bool is_operator(const char *mangled) {
    static const char prefix[] = "_ZN5metal", vector[] = "11__ingot_vecI";
    static const char convert[] = "10__ingot_toI";
    static const char *const codes[] = {"pl", "mi", "ml", "dv", "rm", "ls", "rs", "pL", "mI",
                                        "mL", "dV", "rM", "lS", "rS", "pp", "mm", "ng", "co"};
    if (!strncmp(mangled, "_Z12__ingot_cast", 16) || !strncmp(mangled, "_Z14__ingot_c_cast", 18)) {
        return true;
    }
    if (strncmp(mangled, prefix, sizeof prefix - 1) != 0) {
        return false;
    }
    const char *at = mangled + sizeof prefix - 1;
    if (!strncmp(at, convert, sizeof convert - 1)) {
        return true;
    }
    if (!strncmp(at, vector, sizeof vector - 1)) {
        const char *end = strchr(at, 'E');
        at = end ? end + 1 : "";
        if (at[0] == 'C' && (at[1] == '1' || at[1] == '2')) {
            return true; /* a constructor converts */
        }
    }
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (!strncmp(at, codes[i], 2)) {
            return true;
        }
    }
    return false;
}

enum igc_result igs_start_places(struct igc_kernel *kernel) {
    struct igs_places *places = ig_arena_alloc(kernel->arena, sizeof *places);
    size_t count = 0;
    igi_each_function(f, kernel->module) {
        count += LLVMGetSubprogram(f) != NULL;
    }
    if (!places || !(places->functions =
                         ig_arena_array(kernel->arena, count + 1, sizeof *places->functions))) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    igi_map_start(&places->by_description, kernel->arena, count + 1);
    igi_each_function(f, kernel->module) {
        LLVMMetadataRef described = LLVMGetSubprogram(f);
        size_t length, plain;
        if (described) {
            const char *name = igc_plain_name(LLVMGetValueName2(f, &length), &plain);
            igi_map_put(&places->by_description, described, (unsigned)places->function_count);
            places->functions[places->function_count++] = (struct igs_function){
                described,
                f == kernel->function ? kernel->name : ig_arena_copy(kernel->arena, name, plain),
                is_operator(LLVMGetValueName2(f, &length))};
        }
    }
    places->without_text = igs_wants_counters(kernel);
    kernel->places = places;
    return IGC_UNCHANGED;
}

static const struct igs_function *function_of(const struct igs_places *places,
                                              LLVMMetadataRef location) {
    unsigned number = igi_map_get(&places->by_description, LLVMDILocationGetScope(location));
    return number == IGI_NONE ? NULL : &places->functions[number];
}

/* ---- locations ---- */
static const char *file_of(struct igc_kernel *kernel, LLVMMetadataRef location) {
    unsigned length = 0;
    LLVMMetadataRef file = LLVMDIScopeGetFile(LLVMDILocationGetScope(location));
    const char *name = file ? LLVMDIFileGetFilename(file, &length) : "";
    const char *copy = ig_arena_copy(kernel->arena, name, length);
    return copy ? copy : "";
}

/* The same with its folder in front, where that is apart. */
static const char *path_of(struct igc_kernel *kernel, LLVMMetadataRef location) {
    unsigned length = 0;
    const char *name = file_of(kernel, location);
    LLVMMetadataRef file = LLVMDIScopeGetFile(LLVMDILocationGetScope(location));
    const char *folder = file && *name && *name != '/' ? LLVMDIFileGetDirectory(file, &length) : "";
    const char *path =
        length ? ig_arena_printf(kernel->arena, "%.*s/%s", (int)length, folder, name) : name;
    return path ? path : "";
}

static bool is_preludes(const struct igc_kernel *kernel, const char *file) {
    const struct igc_others *others = kernel->job->others;
    const char *folder = others && others->options ? others->options->prelude_dir : NULL;
    size_t length = folder ? strlen(folder) : 0;
    return !*file || *file == '<' || (length && !strncmp(file, folder, length));
}

/* The text of a line, as the preprocessor left it, from the source with its line markers. */
static const char *source_line(struct igc_kernel *kernel, const char *file, unsigned line) {
    const struct igc_source *source = kernel->job->source;
    const char *at = source && !source->air ? source->preprocessed : NULL;
    const struct igc_others *others = kernel->job->others;
    bool here = others && others->options && !strcmp(file, others->options->source_name);
    unsigned number = 1; /* without markers it is the source itself */
    for (; at && *at; at += strcspn(at, "\n"), at += *at == '\n') {
        size_t length = strcspn(at, "\n");
        if (at[0] == '#' && at[1] == ' ' && at[2] >= '0' && at[2] <= '9') {
            char *name;
            number = (unsigned)strtoul(at + 2, &name, 10);
            here = name[0] == ' ' && name[1] == '"' && !strncmp(name + 2, file, strlen(file)) &&
                   name[2 + strlen(file)] == '"';
            continue;
        }
        if (here && number == line && length) {
            const char *copy = ig_arena_copy(kernel->arena, at, length);
            return copy ? copy : "";
        }
        number++;
    }
    return "";
}

/* Of a location, in the user's own line. */
static unsigned column_of(struct igc_kernel *kernel, LLVMMetadataRef location,
                          struct igc_user_place *user) {
    unsigned column = LLVMDILocationGetColumn(location);
    *user = (struct igc_user_place){0};
    return igc_source_place(kernel->job->source, path_of(kernel, location),
                            LLVMDILocationGetLine(location), column, user)
               ? user->column
               : column;
}

/* The calls on the way, from the place outwards. */
static const char *inlined_calls(struct igc_kernel *kernel, LLVMMetadataRef location) {
    struct ig_text text = {0};
    struct igc_user_place user;
    for (LLVMMetadataRef outer; (outer = LLVMDILocationGetInlinedAt(location)); location = outer) {
        const struct igs_function *function = function_of(kernel->places, location);
        ig_text_printf(&text, "%s\t%s\t%u\t%u\n", function && function->name ? function->name : "",
                       file_of(kernel, outer), LLVMDILocationGetLine(outer),
                       column_of(kernel, outer, &user));
    }
    const char *result =
        text.failed ? NULL : ig_arena_copy(kernel->arena, ig_text_string(&text), text.size);
    ig_text_free(&text);
    return result ? result : "";
}

LLVMMetadataRef igs_users_location(struct igc_kernel *kernel, LLVMValueRef instruction) {
    LLVMMetadataRef location = LLVMInstructionGetDebugLoc(instruction);
    while (location && is_preludes(kernel, path_of(kernel, location))) {
        location = LLVMDILocationGetInlinedAt(location);
    }
    return location;
}

static void set_location(struct igc_kernel *kernel, struct ingot_cpu_place *place,
                         LLVMValueRef instruction) {
    LLVMMetadataRef location = igs_users_location(kernel, instruction);
    if (!location) {
        return;
    }
    place->file = file_of(kernel, location);
    place->line = LLVMDILocationGetLine(location);
    place->column = LLVMDILocationGetColumn(location);
    if (!kernel->places->without_text) {
        struct igc_user_place user;
        place->column = column_of(kernel, location, &user);
        const char *line =
            user.text ? ig_arena_copy(kernel->arena, user.text, user.text_size) : NULL;
        place->text = line ? line : source_line(kernel, place->file, place->line);
    }
    place->inlined = inlined_calls(kernel, location);
}

bool igs_is_users(struct igc_kernel *kernel, LLVMValueRef instruction) {
    LLVMMetadataRef location = LLVMInstructionGetDebugLoc(instruction);
    return location && !is_preludes(kernel, path_of(kernel, location));
}

bool igs_is_users_operation(struct igc_kernel *kernel, LLVMValueRef instruction) {
    LLVMMetadataRef location = LLVMInstructionGetDebugLoc(instruction);
    while (location && is_preludes(kernel, path_of(kernel, location))) {
        const struct igs_function *function = function_of(kernel->places, location);
        if (!function || !function->is_operator) {
            return false;
        }
        location = LLVMDILocationGetInlinedAt(location);
    }
    return location != NULL;
}

struct igs_place *igs_place_of(struct igc_kernel *kernel, enum ig_sanitize_kind kind,
                               LLVMValueRef instruction, uint32_t *number) {
    struct igs_places *places = kernel->places;
    if (places->count == places->capacity) {
        uint32_t capacity = places->capacity ? 2 * places->capacity : 64;
        struct igs_place *items = ig_arena_array(kernel->arena, capacity, sizeof *items);
        if (!items) {
            igc_out_of_memory(kernel);
            return NULL;
        }
        if (places->count) {
            memcpy(items, places->items, places->count * sizeof *items);
        }
        places->items = items;
        places->capacity = capacity;
    }
    struct igs_place *place = &places->items[places->count];
    *number = places->count++;
    *place = (struct igs_place){.ordinal = INGOT_CPU_NO_SLOT,
                                .place = {.kind = kind,
                                          .slot = INGOT_CPU_NO_SLOT,
                                          .file = "",
                                          .text = "",
                                          .variable = "",
                                          .message = "",
                                          .inlined = ""}};
    set_location(kernel, &place->place, instruction);
    return place;
}

/* "a.addr.i.i12" → "a": what inlining and LLVM added goes. */
static const char *variable_name(struct igc_kernel *kernel, LLVMValueRef variable) {
    size_t length, plain;
    const char *name = igc_plain_name(LLVMGetValueName2(variable, &length), &plain);
    size_t dot = 0;
    while (dot < plain && name[dot] != '.') {
        dot++;
    }
    const char *copy = ig_arena_copy(kernel->arena, name, dot);
    return copy ? copy : "";
}

void igs_describe_access(struct igc_kernel *kernel, struct igs_place *place,
                         const struct igs_access *access, const struct igs_root *root) {
    place->place.access = access->access;
    place->place.bytes = (uint32_t)access->bytes;
    place->place.space = root->space;
    if (root->kind == IGS_ROOT_ARGUMENT) {
        place->ordinal = root->ordinal;
    } else if (root->kind != IGS_ROOT_UNKNOWN) {
        place->place.variable = variable_name(kernel, root->base);
        place->place.variable_bytes = root->bytes;
    }
}

/* ---- the table ---- */
static LLVMValueRef text_constant(struct igc_kernel *kernel, const char *text) {
    LLVMValueRef bytes = LLVMConstStringInContext2(kernel->context, text, strlen(text), false);
    LLVMValueRef global = LLVMAddGlobal(kernel->module, LLVMTypeOf(bytes), "ingot.place.text");
    LLVMSetInitializer(global, bytes);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetGlobalConstant(global, true);
    LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
    return global;
}

static uint32_t slot_of(const struct igc_kernel *kernel, const struct igs_place *place) {
    const uint32_t *slots = place->place.space == INGOT_SPACE_THREADGROUP
                                ? kernel->reflection->threadgroup_slots
                                : kernel->reflection->buffer_slots;
    return place->ordinal < kernel->reflection->ordinal_count ? slots[place->ordinal]
                                                              : INGOT_CPU_NO_SLOT;
}

enum { NUMBERS = 8, TEXTS = 5, FIELDS = NUMBERS + 1 + TEXTS };
_Static_assert(sizeof(struct ingot_cpu_place) == NUMBERS * 4 + 8 + TEXTS * 8, "the fields below");

static LLVMValueRef place_constant(struct igc_kernel *kernel, const struct igs_place *item) {
    const struct ingot_cpu_place *place = &item->place;
    const uint32_t numbers[NUMBERS] = {place->kind,           place->line,  place->column,
                                       place->access,         place->space, place->bytes,
                                       slot_of(kernel, item), place->detail};
    const char *const texts[TEXTS] = {place->file, place->text, place->variable, place->message,
                                      place->inlined};
    LLVMValueRef fields[FIELDS];
    for (unsigned i = 0; i < NUMBERS; i++) {
        fields[i] = igc_integer(kernel->i32, numbers[i]);
    }
    fields[NUMBERS] = igc_integer(kernel->i64, place->variable_bytes);
    for (unsigned i = 0; i < TEXTS; i++) {
        fields[NUMBERS + 1 + i] = text_constant(kernel, texts[i]);
    }
    return LLVMConstStructInContext(kernel->context, fields, FIELDS, false);
}

enum igc_result igs_emit_places(struct igc_kernel *kernel) {
    const struct igs_places *places = kernel->places;
    LLVMValueRef *items = ig_arena_array(kernel->arena, places->count + 1, sizeof *items);
    if (!items) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    LLVMTypeRef fields[FIELDS];
    for (unsigned i = 0; i < FIELDS; i++) {
        fields[i] = i < NUMBERS    ? kernel->i32
                    : i == NUMBERS ? kernel->i64
                                   : LLVMPointerTypeInContext(kernel->context, 0);
    }
    LLVMTypeRef type = LLVMStructTypeInContext(kernel->context, fields, FIELDS, false);
    for (uint32_t i = 0; i < places->count; i++) {
        items[i] = place_constant(kernel, &places->items[i]);
    }
    LLVMValueRef array = LLVMConstArray2(type, items, places->count);
    LLVMValueRef list = LLVMAddGlobal(kernel->module, LLVMTypeOf(array), "ingot.places");
    LLVMSetInitializer(list, array);
    LLVMSetLinkage(list, LLVMPrivateLinkage);
    LLVMSetGlobalConstant(list, true);
    LLVMValueRef head[] = {igc_integer(kernel->i64, places->count), list};
    LLVMValueRef both = LLVMConstStructInContext(kernel->context, head, 2, false);
    LLVMValueRef exported =
        LLVMAddGlobal(kernel->module, LLVMTypeOf(both), INGOT_CPU_PLACES_SYMBOL);
    LLVMSetInitializer(exported, both);
    LLVMSetGlobalConstant(exported, true);
    return IGC_CHANGED;
}
