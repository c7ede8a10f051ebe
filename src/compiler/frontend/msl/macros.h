/* Macros as clang -dD prints them, for what clang -E leaves unexpanded: pragmas. */
#ifndef INGOT_COMPILER_FRONTEND_MACROS_H
#define INGOT_COMPILER_FRONTEND_MACROS_H

#include "base/text.h"

struct igc_macro;
struct igc_macros { /* zero-initialise */
    struct igc_macro *items;
    size_t count, capacity;
    bool failed; /* memory ran out */
};

/* Takes a line `#define NAME …`; its bytes must outlive the table. */
void igc_macro_define(struct igc_macros *macros, const char *line, const char *end);
/* Appends [text, end) with macros replaced. No # and ##; nesting is limited. */
void igc_macro_expand(const struct igc_macros *macros, const char *text, const char *end,
                      struct ig_text *out);
void igc_macros_free(struct igc_macros *macros);

#endif
