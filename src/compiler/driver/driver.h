/* The linear pipeline of ingotc: see docs/architecture.md. */
#ifndef INGOT_COMPILER_DRIVER_H
#define INGOT_COMPILER_DRIVER_H

#include "compiler/frontend/frontend.h"
#include "compiler/vectorise/vectorise.h"

/* The CPU levels that ingotc can make code for; NULL-terminated names. */
const struct igv_target *igc_target_find(const char *name); /* NULL if unknown */
const char *const *igc_target_names(void);

#endif
