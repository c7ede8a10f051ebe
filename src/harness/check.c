/* One case, checked: the reference, repeated runs bit by bit, special values, gradients. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scalar.h"
#include "harness/internal.h"

bool igh_case_has_type(const struct igh_suite *suite, const struct igh_case *test,
                       ingot_scalar_type type) {
    uint32_t types = test->types ? test->types & suite->types : suite->types;
    return types & IGH_TYPE(type);
}

/* Outputs start as a pattern that no kernel writes, so that an element left out is seen; what is
 * also read starts from its own values. */
static bool reset_outputs(struct igh_run *run) {
    for (int i = 0; i < IGH_MAX_SLOTS; i++) {
        struct igh_tensor *slot = &run->slots[i];
        if (!slot->output || !slot->tensor.buffer) {
            continue;
        }
        ingot_buffer *live = slot->tensor.buffer;
        uint64_t length = ingot_buffer_length(live);
        bool first = slot->input && !slot->pristine;
        ingot_status status = INGOT_OK;
        if (first) {
            status = ingot_buffer_create(run->device, length, &slot->pristine);
        }
        if (!status && slot->input) {
            status = ingot_stream_copy(run->stream, first ? live : slot->pristine, 0,
                                       first ? slot->pristine : live, 0, length);
        } else if (!status && length <= (uint64_t)1
                                            << 30) { /* larger ones are mostly never touched */
            status = ingot_stream_fill(run->stream, live, 0, length, 0xff);
        }
        if (status) {
            ig_fail(&run->error, status, "%s: %s", slot->name, ingot_error_message());
            return false;
        }
    }
    return true;
}

static bool launch_once(struct igh_run *run) {
    if (!reset_outputs(run)) {
        return false;
    }
    ingot_status status = run->suite->launch(run);
    if (!status) {
        status = ingot_stream_wait(run->stream);
    }
    if (status) {
        ig_fail(&run->error, status, "%s", ingot_error_message());
    }
    return !status;
}

static uint64_t hash_outputs(const struct igh_run *run) {
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < IGH_MAX_SLOTS; i++) {
        const struct igh_tensor *slot = &run->slots[i];
        if (!slot->output || !slot->tensor.buffer ||
            ingot_buffer_length(slot->tensor.buffer) > (uint64_t)1 << 30) {
            continue;
        }
        const char *bytes = igh_bytes(run, i);
        for (uint64_t k = 0, n = ingot_buffer_length(slot->tensor.buffer); bytes && k < n; k++) {
            hash = (hash ^ (unsigned char)bytes[k]) * 1099511628211u;
        }
    }
    return hash;
}

/* ---- the reference, once for all devices ---- */

static uint64_t hash_inputs(const struct igh_run *run) {
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < IGH_MAX_SLOTS; i++) {
        const struct igh_tensor *slot = &run->slots[i];
        for (int64_t k = 0, n = slot->input ? igh_count(run, i) : 0; k < n; k++) {
            uint64_t bits;
            memcpy(&bits, &slot->values[k], sizeof bits);
            hash = (hash ^ bits ^ hash >> 29) * 1099511628211u;
        }
        hash = (hash ^ (uint64_t)igh_count(run, i)) * 1099511628211u;
    }
    return hash;
}

static void free_reference(struct igh_reference *reference) {
    for (int i = 0; i < IGH_MAX_SLOTS; i++) {
        free(reference->expected[i]);
    }
    *reference = (struct igh_reference){0};
}

/* Fills `expected`: from what is kept of the same inputs, or by the reference. */
static void find_expected(struct igh_run *run, struct igh_reference *kept) {
    uint64_t inputs = kept ? hash_inputs(run) : 0;
    if (!kept || !kept->is_known || kept->inputs != inputs) {
        if (kept) {
            free_reference(kept);
            kept->inputs = inputs;
        }
        run->suite->reference(run);
        return;
    }
    for (int i = 0; i < IGH_MAX_SLOTS; i++) {
        if (kept->expected[i]) {
            free(run->slots[i].expected);
            run->slots[i].expected = kept->expected[i];
            kept->expected[i] = NULL;
        }
    }
}

/* The gradients' metrics, which depend on the reference alone. */
static void find_gradients(struct igh_run *run, struct igh_reference *kept) {
    size_t before = run->metric_count;
    if (kept && kept->is_known) {
        for (size_t i = 0; i < kept->gradient_count; i++) {
            const struct igh_metric *metric = &kept->gradients[i];
            igh_metric(run, metric->name, metric->value, metric->bound);
        }
        return;
    }
    igh_check_gradients(run);
    for (size_t i = before; kept && i < run->metric_count && i - before < 8; i++) {
        kept->gradients[i - before] = run->metrics[i];
        kept->gradient_count = i - before + 1;
    }
}

/* At the end of a run: its expected values become those that are kept. */
static void keep_expected(struct igh_run *run, struct igh_reference *kept) {
    kept->bytes = 0;
    for (int i = 0; i < IGH_MAX_SLOTS; i++) {
        struct igh_tensor *slot = &run->slots[i];
        if (slot->output) {
            kept->expected[i] = slot->expected;
            slot->expected = NULL;
            kept->bytes += (uint64_t)igh_count(run, i) * sizeof(double);
        }
    }
    kept->is_known = true;
}

void igh_references_free(struct igh_references *references) {
    free_reference(&references->plain);
    free_reference(&references->specials);
}

static bool run_and_compare(struct igh_run *run, const struct igh_options *options) {
    struct igh_reference *kept = !options->references || !run->suite->reference ? NULL
                                 : run->specials ? &options->references->specials
                                                 : &options->references->plain;
    uint32_t repeats = run->specials ? 1 : options->repeats ? options->repeats : 3;
    if (!launch_once(run)) {
        return false;
    }
    uint64_t first = hash_outputs(run);
    uint32_t different = 0;
    for (uint32_t i = 1; i < repeats; i++) {
        if (!launch_once(run)) {
            return false;
        }
        different += hash_outputs(run) != first;
    }
    if (run->suite->reference) {
        find_expected(run, kept);
    }
    igh_compare(run);
    if (run->suite->verify && !run->error.status) {
        run->suite->verify(run);
    }
    if (repeats > 1) {
        igh_metric(run, "runs that differ", different, 0);
    }
    if (options->gradients && run->suite->gradient_count && !run->specials) {
        find_gradients(run, kept);
    }
    if (kept) {
        keep_expected(run, kept);
    }
    return true;
}

static double severity(const struct igh_metric *metric) {
    return isnan(metric->value) ? INFINITY
           : metric->bound > 0  ? metric->value / metric->bound
           : metric->value <= 0 ? 0
                                : INFINITY;
}

static void take_metrics(const struct igh_run *run, struct igh_result *result) {
    for (size_t i = 0; i < run->metric_count && result->metric_count < IGH_MAX_METRICS; i++) {
        struct igh_metric *metric = &result->metrics[result->metric_count++];
        *metric = run->metrics[i];
        if (run->specials) {
            snprintf(metric->name, sizeof metric->name, "%.30s, specials", run->metrics[i].name);
        }
    }
}

static void judge(struct igh_result *result) {
    result->worst = NULL;
    for (size_t i = 0; i < result->metric_count; i++) {
        const struct igh_metric *metric = &result->metrics[i];
        bool fine = metric->value <= metric->bound;
        if (!result->worst || severity(metric) > severity(result->worst)) {
            result->worst = metric;
        }
        if (!fine && result->passed) {
            result->passed = false;
            if (!*result->message) {
                snprintf(result->message, sizeof result->message, "%s is %.3g; at most %.3g",
                         metric->name, metric->value, metric->bound);
            }
        }
    }
}

static void check_with(const struct igh_run_desc *desc, struct igh_result *result) {
    struct igh_run run;
    const bool specials = desc->specials;
    bool ran = !igh_run_open(&run, desc) && run_and_compare(&run, desc->options);
    if (ran && !specials) {
        snprintf(result->variant, sizeof result->variant, "%s", ingot_ops_last_variant());
        snprintf(result->launch, sizeof result->launch, "%s", ingot_ops_last_launch());
    }
    for (int i = 0; i < IGH_MAX_SLOTS; i++) {
        result->is_empty |= run.slots[i].name && !igh_count(&run, i);
    }
    result->has_specials |= specials;
    take_metrics(&run, result);
    if (run.error.status) {
        result->passed = false;
        if (!*result->message) {
            snprintf(result->message, sizeof result->message, "%s%s", specials ? "specials: " : "",
                     ig_error_text(&run.error));
        }
    }
    igh_run_close(&run);
}

void igh_check(const struct igh_options *options, const struct igh_suite *suite,
               const struct igh_case *test, ingot_scalar_type type, struct igh_result *result) {
    double start = igh_now();
    *result = (struct igh_result){.passed = true};
    struct igh_run_desc desc = {.options = options, .suite = suite, .test = test, .type = type};
    check_with(&desc, result);
    if (test->uses & IGH_SPECIALS) {
        desc.specials = true;
        check_with(&desc, result);
    }
    judge(result);
    result->seconds = igh_now() - start;
}
