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

static bool run_and_compare(struct igh_run *run, uint32_t repeats, bool gradients) {
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
        run->suite->reference(run);
    }
    igh_compare(run);
    if (run->suite->verify && !run->error.status) {
        run->suite->verify(run);
    }
    if (repeats > 1) {
        igh_metric(run, "runs that differ", different, 0);
    }
    if (gradients && run->suite->gradient_count && !run->specials) {
        igh_check_gradients(run);
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
    uint32_t repeats = specials ? 1 : desc->options->repeats ? desc->options->repeats : 3;
    bool ran =
        !igh_run_open(&run, desc) && run_and_compare(&run, repeats, desc->options->gradients);
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
