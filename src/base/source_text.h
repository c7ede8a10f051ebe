/*
 * One text of a source and the files that it includes, for compilers that open no files, and the
 * form in which archives hold it for them.
 */
#ifndef INGOT_BASE_SOURCE_TEXT_H
#define INGOT_BASE_SOURCE_TEXT_H

#include "base/archive.h"
#include "base/error.h"
#include "base/text.h"

struct ig_source_text {
    const char *name; /* in messages */
    const char *source;
    size_t length;
    const char *own_folder; /* where its includes are looked for first; or NULL */
    const char *const *include_dirs;
    size_t include_dir_count;
    const ingot_define *defines;
    size_t define_count;
};

/* Appends to `text`. */
ingot_status ig_source_expand(const struct ig_source_text *from, struct ig_text *text,
                              struct ig_error *error);

/* An archive's text for a device that compiles itself is the code, for the device's target, of a
 * variant without a kernel's name: a line of options, then the text. NULL: it has none. */
const struct ig_code *ig_archive_text(const struct ig_archive *archive, const char *target);
/* That line, without its end: "--fast-math --msl-version 310". */
void ig_text_options(struct ig_text *text, bool fast_math, uint32_t msl_version);

#endif
