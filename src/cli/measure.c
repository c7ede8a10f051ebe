/* One row of `ingot bench`: measured, and as JSON. */
#include <string.h>

#include "base/scalar.h"
#include "cli/tools.h"

static void describe_tensors(const struct igh_run *run, struct bench_row *result) {
    for (int i = 0; i < IGH_MAX_SLOTS; i++) {
        const struct igh_tensor *slot = &run->slots[i];
        if (!slot->name) {
            continue;
        }
        struct bench_tensor *tensor = &result->tensors[result->tensor_count++];
        *tensor = (struct bench_tensor){slot->name, slot->tensor, slot->input, slot->output};
        tensor->tensor.buffer = NULL;
    }
}

static bool finish(struct igh_bench *bench, struct ig_error *error, struct bench_row *result) {
    if (error->status) {
        snprintf(result->error, sizeof result->error, "%s", ig_error_text(error));
    }
    ig_error_clear(error);
    igh_bench_close(bench);
    return !*result->error;
}

bool bench_measure(const struct tool_device *device, const struct igh_ceilings *ceilings,
                   const struct tool_row *row, double seconds, struct bench_row *result) {
    struct ig_error error = {0};
    *result = (struct bench_row){.row = *row};
    struct igh_bench *bench = igh_bench_open(&device->options, row->suite, row->test, row->type,
                                             igh_rotate_bytes(), &error);
    if (bench && !igh_bench_measure(bench, seconds, &result->timing, &error)) {
        snprintf(result->variant, sizeof result->variant, "%s", ingot_ops_last_variant());
        snprintf(result->launch, sizeof result->launch, "%s", ingot_ops_last_launch());
        igh_bench_cost(bench, &result->bytes, &result->flops);
        result->sets = igh_bench_sets(bench);
        if (ceilings) {
            result->share = igh_ceiling_share(ceilings, result->bytes, result->flops,
                                              result->timing.median, &result->by_bytes);
        }
        describe_tensors(igh_bench_run(bench), result);
    }
    return finish(bench, &error, result);
}

bool bench_describe(const struct tool_device *device, const struct tool_row *row,
                    struct bench_row *result) {
    struct ig_error error = {0};
    *result = (struct bench_row){.row = *row};
    struct igh_bench *bench =
        igh_bench_open(&device->options, row->suite, row->test, row->type, 0, &error);
    if (bench) {
        igh_bench_cost(bench, &result->bytes, &result->flops);
        result->sets = igh_bench_sets_for(bench, igh_rotate_bytes());
        describe_tensors(igh_bench_run(bench), result);
    }
    return finish(bench, &error, result);
}

static void json_tensor(struct ig_json *json, const struct bench_tensor *tensor) {
    ig_json_object(json, NULL);
    ig_json_string(json, "name", tensor->name);
    ig_json_string(json, "type", ig_scalar_name(tensor->tensor.type));
    ig_json_bool(json, "input", tensor->input);
    ig_json_bool(json, "output", tensor->output);
    ig_json_array(json, "shape");
    for (uint32_t i = 0; i < tensor->tensor.rank; i++) {
        ig_json_i64(json, NULL, tensor->tensor.shape[i]);
    }
    ig_json_array_end(json);
    ig_json_array(json, "strides");
    for (uint32_t i = 0; i < tensor->tensor.rank; i++) {
        ig_json_i64(json, NULL, tensor->tensor.strides[i]);
    }
    ig_json_array_end(json);
    ig_json_object_end(json);
}

static void json_timing(struct ig_json *json, const struct bench_row *row) {
    double median = row->timing.median;
    ig_json_string(json, "variant", row->variant);
    ig_json_string(json, "launch", row->launch);
    ig_json_double(json, "seconds", median);
    ig_json_double(json, "p10", row->timing.p10);
    ig_json_double(json, "p90", row->timing.p90);
    ig_json_double(json, "best", row->timing.best);
    ig_json_double(json, "processor_seconds", row->timing.processor);
    ig_json_u64(json, "samples", row->timing.samples);
    ig_json_u64(json, "launches_per_sample", row->timing.launches);
    ig_json_u64(json, "sets", row->sets);
    ig_json_double(json, "bytes", row->bytes);
    ig_json_double(json, "flops", row->flops);
    ig_json_double(json, "bytes_per_second", median > 0 ? row->bytes / median : 0);
    ig_json_double(json, "flops_per_second", median > 0 ? row->flops / median : 0);
    ig_json_string(json, "ceiling", row->share <= 0 ? NULL : row->by_bytes ? "copy" : "fma");
    ig_json_double(json, "share", row->share);
    if (row->baseline > 0) {
        ig_json_double(json, "baseline_seconds", row->baseline);
        ig_json_bool(json, "regressed", row->regressed);
    }
}

void bench_json_row(struct ig_json *json, const struct bench_row *row) {
    ig_json_object(json, NULL);
    ig_json_string(json, "operation", row->row.suite->operation);
    ig_json_string(json, "type", ig_scalar_name(row->row.type));
    ig_json_string(json, "case", row->row.test->name);
    tool_json_case(json, &row->row);
    if (*row->error) {
        ig_json_string(json, "error", row->error);
    } else {
        ig_json_array(json, "tensors");
        for (size_t i = 0; i < row->tensor_count; i++) {
            json_tensor(json, &row->tensors[i]);
        }
        ig_json_array_end(json);
        json_timing(json, row);
    }
    ig_json_object_end(json);
}

void bench_json_ceilings(struct ig_json *json, const struct igh_ceilings *ceilings) {
    ig_json_object(json, "ceilings");
    ig_json_double(json, "bytes_per_second", ceilings->bytes_per_second);
    ig_json_double(json, "flops_per_second", ceilings->flops_per_second);
    ig_json_object_end(json);
}
