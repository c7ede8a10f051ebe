/*
 * metal-archive SOURCE.metal -o OUT.ingot [-I FOLDER]...
 *
 * An archive that holds the text of a source for Metal's compiler and nothing else: the Metal
 * device lists its kernels and compiles them. For builds without ingotc, as on a Mac.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/source_text.h"

enum { MOST_FOLDERS = 64 };

static ingot_status write_archive(const char *name, const struct ig_text *text, const char *output,
                                  struct ig_error *error) {
    const struct ig_code code = {.target = "metal", .bytes = text->data, .size = text->size};
    const struct ig_variant variant = {
        .kernel = "", .constants = "", .code_count = 1, .codes = &code};
    const struct ig_archive archive = {.compiler = "metal-archive",
                                       .source_name = name,
                                       .source = "",
                                       .options = "",
                                       .warnings = "",
                                       .variant_count = 1,
                                       .variants = &variant};
    void *bytes = NULL;
    size_t size = 0;
    ingot_status status = ig_archive_write(&archive, &bytes, &size, error);
    if (status == INGOT_OK) {
        status = ig_file_write(output, bytes, size, error);
    }
    free(bytes);
    return status;
}

int main(int argc, char **argv) {
    const char *folders[MOST_FOLDERS], *source = NULL, *output = NULL;
    size_t count = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-o") && i + 1 < argc) {
            output = argv[++i];
        } else if (!strcmp(argv[i], "-I") && i + 1 < argc && count < MOST_FOLDERS) {
            folders[count++] = argv[++i];
        } else {
            source = argv[i];
        }
    }
    if (!source || !output) {
        fprintf(stderr, "usage: metal-archive SOURCE.metal -o OUT.ingot [-I FOLDER]...\n");
        return 2;
    }
    const char *slash = strrchr(source, '/');
    char *folder = slash ? strndup(source, (size_t)(slash - source)) : strdup(".");
    char *bytes = NULL;
    struct ig_text text = {0};
    struct ig_error error = {0};
    struct ig_source_text from = {.name = slash ? slash + 1 : source,
                                  .own_folder = folder,
                                  .include_dirs = folders,
                                  .include_dir_count = count};
    ingot_status status = ig_file_read(source, 0, &bytes, &from.length, &error);
    if (status == INGOT_OK) {
        from.source = bytes;
        ig_text_puts(&text, "\n"); /* no options */
        status = ig_source_expand(&from, &text, &error);
    }
    if (status == INGOT_OK) {
        status = write_archive(from.name, &text, output, &error);
    }
    if (status != INGOT_OK) {
        fprintf(stderr, "metal-archive: %s\n", ig_error_text(&error));
    }
    ig_error_clear(&error);
    ig_text_free(&text);
    free(bytes);
    free(folder);
    return status != INGOT_OK;
}
