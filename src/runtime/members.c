/*
 * The members of structs behind kernels' arguments, for argument buffers: `ingotc --emit members`
 * of the library's source says them, when somebody asks.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/objects.h"

enum { MAX_WORDS = 64, NUMBERS = 8 };

static const char *const *arguments_of(struct ig_arena *arena, const ingot_library *library,
                                       const char *kernel) {
    const struct ig_archive *archive = &library->blob->archive;
    const char **list = ig_arena_array(arena, MAX_WORDS, sizeof *list);
    char *options = ig_arena_string(arena, archive->options);
    if (!list || !options) {
        return NULL;
    }
    const char *const first[] = {"--preprocessed",     "--emit",   "members", "--name",
                                 archive->source_name, "--kernel", kernel};
    size_t count = sizeof first / sizeof *first;
    memcpy(list, first, sizeof first);
    char *rest = NULL;
    for (char *word = strtok_r(options, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (count + 2 >= MAX_WORDS) {
            return NULL;
        }
        if (strncmp(word, "--sanitize", 10) != 0) {
            list[count++] = word;
        }
    }
    return list;
}

static ingot_status ask(const ingot_library *library, const char *kernel, char **text,
                        struct ig_error *error) {
    const char *source = library->blob->archive.source;
    struct ig_compiler compiler;
    struct ig_arena arena = {0};
    char *bytes = NULL;
    size_t size = 0;
    ingot_status status = ig_compiler_find(&compiler, error);
    if (status != INGOT_OK) {
        return status;
    }
    compiler.isolated = library->device->isolated;
    const char *const *arguments = arguments_of(&arena, library, kernel);
    status = arguments ? ig_compiler_run(&compiler, source, strlen(source), arguments, &bytes,
                                         &size, error)
                       : ig_fail(error, INGOT_OUT_OF_MEMORY,
                                 "no memory to describe the arguments of kernel \"%s\"", kernel);
    if (status == INGOT_OK) {
        *text = strndup(bytes, size);
        status =
            *text ? INGOT_OK : ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for %zu bytes", size);
    }
    free(bytes);
    ig_arena_free(&arena);
    ig_compiler_free(&compiler);
    return status;
}

/* A line of --emit members (src/compiler/driver/describe.c); false: it is none. */
static bool read_member(const char *line, uint32_t *argument, ingot_member_info *member) {
    uint32_t id, count, scalar, components, space;
    uint64_t offset, size;
    if (sscanf(line,
               "%" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu32 " %" SCNu32 " %" SCNu32
               " %" SCNu32,
               argument, &id, &offset, &size, &count, &scalar, &components, &space) != NUMBERS) {
        return false;
    }
    *member = (ingot_member_info){.id = id,
                                  .count = count,
                                  .offset = offset,
                                  .size = size,
                                  .pointer_space = space,
                                  .scalar = (ingot_scalar_type)scalar,
                                  .components = components};
    return true;
}

static ingot_status read_members(char *text, const char *kernel, uint32_t index,
                                 ingot_member_info *members, size_t capacity, size_t *count,
                                 struct ig_error *error) {
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        ingot_member_info member;
        uint32_t argument;
        if (!read_member(line, &argument, &member)) {
            return ig_fail(error, INGOT_INTERNAL_ERROR, "the compiler described a member as \"%s\"",
                           line);
        }
        if (argument != index) {
            continue;
        }
        if (member.id == UINT32_MAX) {
            return ig_fail(error, INGOT_UNSUPPORTED,
                           "member %zu of the struct behind argument %u of kernel \"%s\" is no "
                           "pointer, scalar, vector or array of these",
                           *count, index, kernel);
        }
        if (*count < capacity) {
            members[*count] = member;
        }
        ++*count;
    }
    return INGOT_OK;
}

ingot_status ingot_library_argument_members(ingot_library *library, const char *kernel,
                                            uint32_t index, ingot_member_info *members,
                                            size_t capacity, size_t *count) {
    if (!library || !kernel || !count || (capacity && !members)) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_library_argument_members: %s is NULL",
                           !library  ? "library"
                           : !kernel ? "kernel"
                           : !count  ? "count"
                                     : "members");
    }
    *count = 0;
    ingot_library *own = NULL;
    ingot_status status = ingot_library_of_kernel(library, kernel, &own);
    if (status != INGOT_OK) {
        return status;
    }
    struct ig_error error = {0};
    char *text = NULL;
    if (!*own->blob->archive.source) {
        ig_fail(&error, INGOT_UNSUPPORTED,
                "the library of kernel \"%s\" has no source, which says what its structs are",
                kernel);
    } else if (ask(own, kernel, &text, &error) == INGOT_OK) {
        read_members(text, kernel, index, members, capacity, count, &error);
    }
    free(text);
    ingot_library_release(own);
    return ig_api_result(&error);
}
