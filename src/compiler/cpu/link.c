/*
 * Makes the shared object that the runtime loads, by running LLVM's linker, and checks that it
 * needs nothing but the few functions of libc that compilers call on their own.
 */
#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/file.h"
#include "base/process.h"
#include "compiler/bundled/bundled.h"
#include "compiler/cpu/cpu.h"

#ifndef INGOT_LLVM_BINDIR
#define INGOT_LLVM_BINDIR ""
#endif

/* The first of these that is in a folder of PATH, or beside the LLVM ingotc was built with. */
static const char *find_program(struct ig_arena *arena) {
    static const char *const names[] = {"ld.lld-19", "ld.lld-20", "ld.lld-21", "ld.lld"};
    const char *path = ig_environment("PATH");
    const char *folders = ig_arena_printf(arena, "%s:%s", path ? path : "", INGOT_LLVM_BINDIR);
    for (size_t i = 0; folders && i < sizeof names / sizeof *names; i++) {
        for (const char *p = folders; *p;) {
            size_t length = strcspn(p, ":");
            if (length) {
                const char *program = ig_arena_printf(arena, "%.*s/%s", (int)length, p, names[i]);
                if (program && !access(program, X_OK)) {
                    return program;
                }
            }
            p += length + (p[length] == ':');
        }
    }
    return NULL;
}

/* A linker: its command line begins with these words, of which the second may be NULL. */
struct linker {
    const char *program, *word;
};

static struct linker find_linker(struct ig_arena *arena) {
    const char *named = ig_environment("INGOT_LLD"), *own = igc_bundled_tools();
    if (named && *named) {
        return (struct linker){named, NULL};
    }
    return own ? (struct linker){own, IGC_AS_LLD} : (struct linker){find_program(arena), NULL};
}

/* The name of an undefined symbol, in a table of this type, that libc is not known to have; NULL if
 * there is none. The file is the linker's or LLVM's, but its bounds are checked all the same. */
static const char *find_undefined(const char *bytes, size_t size, uint32_t table) {
    static const char *const allowed[] = {"", "memcpy", "memmove", "memset",
                                          "_GLOBAL_OFFSET_TABLE_"};
    Elf64_Ehdr header;
    if (size < sizeof header) {
        return "(no ELF header)";
    }
    memcpy(&header, bytes, sizeof header);
    for (unsigned i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr symbols, names;
        uint64_t at = header.e_shoff + (uint64_t)i * sizeof symbols;
        if (at > size || size - at < sizeof symbols) {
            return "(section table outside of the file)";
        }
        memcpy(&symbols, bytes + at, sizeof symbols);
        uint64_t names_at = header.e_shoff + (uint64_t)symbols.sh_link * sizeof names;
        if (symbols.sh_type != table || names_at > size || size - names_at < sizeof names) {
            continue;
        }
        memcpy(&names, bytes + names_at, sizeof names);
        for (uint64_t k = 0; k < symbols.sh_size / sizeof(Elf64_Sym); k++) {
            Elf64_Sym symbol;
            uint64_t place = symbols.sh_offset + k * sizeof symbol;
            if (place > size || size - place < sizeof symbol) {
                return "(symbol outside of the file)";
            }
            memcpy(&symbol, bytes + place, sizeof symbol);
            uint64_t name_at = names.sh_offset + symbol.st_name;
            if (symbol.st_shndx != SHN_UNDEF || name_at >= size) {
                continue;
            }
            const char *name = bytes + name_at; /* the file ends in a NUL after its last byte */
            bool known = false;
            for (size_t a = 0; a < sizeof allowed / sizeof *allowed; a++) {
                known |= !strcmp(name, allowed[a]);
            }
            if (!known) {
                return name;
            }
        }
    }
    return NULL;
}

/* It writes through a mapping of the file: on a full disk that is a SIGBUS, or LLVM's own end. */
static ingot_status linker_failed(const char *linker, const char *out,
                                  const struct ig_process_result *result, struct ig_error *error) {
    const char *said = ig_text_string(&result->errors);
    if (result->signal == SIGBUS || strstr(said, "IO failure on output stream")) {
        return ig_fail(error, INGOT_IO_ERROR, "%s cannot write %s: no space left on the disk",
                       linker, out);
    }
    return ig_fail(error, INGOT_INTERNAL_ERROR, "%s failed (status %d, signal %d%s): %s", linker,
                   result->exit_code, result->signal, result->timed_out ? ", out of time" : "",
                   said);
}

struct bytes {
    const void *data;
    size_t size;
};

static ingot_status run_linker(struct ig_arena *arena, struct linker linker, const char *folder,
                               struct bytes object, struct bytes *shared, struct ig_error *error) {
    const char *in = ig_arena_printf(arena, "%s/kernel.o", folder);
    const char *out = ig_arena_printf(arena, "%s/kernel.so", folder);
    if (!in || !out) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the linker's command line");
    }
    ingot_status status = ig_file_write(in, object.data, object.size, error);
    if (status) {
        return status;
    }
    const char *words[] = {
        linker.program, linker.word, "-shared", "--threads=1", "--build-id=none", "-z",
        "noexecstack",  "-z",        "now",     "--Bsymbolic", "--no-rosegment",  in,
        "-o",           out,         NULL};
    const char **arguments = words;
    if (!linker.word) {
        *++arguments = linker.program;
    }
    struct ig_process_result result;
    const struct ig_process process = {.arguments = arguments,
                                       .inside =
                                           linker.word ? igc_bundled_inside(linker.program) : NULL,
                                       .seconds = 120};
    status = ig_process_run(&process, &result, error);
    if (status) {
        error->status = INGOT_NO_COMPILER;
        return INGOT_NO_COMPILER;
    }
    if (result.exit_code || result.signal || result.timed_out) {
        status = linker_failed(linker.program, out, &result, error);
    }
    ig_process_result_free(&result);
    char *bytes = NULL;
    if (!status) {
        status = ig_file_read(out, 0, &bytes, &shared->size, error);
    }
    if (status) {
        return status;
    }
    shared->data = ig_arena_copy(arena, bytes, shared->size);
    free(bytes);
    const char *undefined =
        shared->data ? find_undefined(shared->data, shared->size, SHT_DYNSYM) : NULL;
    if (!shared->data) {
        status =
            ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for %zu bytes of code", shared->size);
    } else if (undefined) {
        status = igc_fail_undefined(undefined, error);
    }
    return status;
}

ingot_status igc_check_object(const void *object, size_t size, struct ig_error *error) {
    const char *undefined = find_undefined(object, size, SHT_SYMTAB);
    return undefined ? igc_fail_undefined(undefined, error) : INGOT_OK;
}

ingot_status igc_link(struct ig_arena *arena, const void *object, size_t object_size,
                      const void **shared, size_t *shared_size, struct ig_error *error) {
    double start = igc_time_now();
    igc_progress_at("link");
    struct linker linker = find_linker(arena);
    if (!linker.program) {
        return ig_fail(error, INGOT_NO_COMPILER,
                       "LLVM's linker was not found: install lld-19 (ld.lld-19 in PATH), or set "
                       "INGOT_LLD to where it is");
    }
    char *folder = NULL;
    ingot_status status = ig_folder_temporary(&folder, error);
    if (status) {
        return status;
    }
    struct bytes made = {NULL, 0};
    status = run_linker(arena, linker, folder, (struct bytes){object, object_size}, &made, error);
    *shared = made.data;
    *shared_size = made.size;
    ig_folder_remove(folder);
    free(folder);
    igc_time_add("link", igc_time_now() - start);
    return status;
}
