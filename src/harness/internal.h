/* Between the files of the harness. */
#ifndef INGOT_HARNESS_INTERNAL_H
#define INGOT_HARNESS_INTERNAL_H

#include "harness/harness.h"

double igh_now(void); /* seconds of a clock that only goes forward */
double igh_load(ingot_scalar_type type, const void *at);
void igh_store(ingot_scalar_type type, void *at, double value);
/* What a run is of. The last three are for speed, for speed, and for correctness only. */
struct igh_run_desc {
    const struct igh_options *options;
    const struct igh_suite *suite;
    const struct igh_case *test;
    ingot_scalar_type type;
    bool for_speed;
    const struct igh_run *like; /* takes its values from another run; or NULL */
    bool specials;              /* with NaN and infinities among the inputs */
};
/* Declares and fills the tensors; run->error says why not. Close it in every case. */
ingot_status igh_run_open(struct igh_run *run, const struct igh_run_desc *desc);
void igh_run_close(struct igh_run *run);
/* Adds a metric per output: its largest error in units of the bound. */
void igh_compare(struct igh_run *run);
/* Adds a metric per gradient: the reference against central differences. */
void igh_check_gradients(struct igh_run *run);

#endif
