/* Host code that operations over rows share. */
#include <math.h>

#include "ops/rows.h"

#include "base/scalar.h"

enum {
    MOST_COLUMNS = INT32_MAX - 4096,
    MIN_GROUPS = 16,
    MIN_PART = 16384, /* elements */
    MOST_KEEPING = 16 /* SIMD-groups of a threadgroup that keeps rows in registers */
};

static void note_alignment(struct igo_matrix *matrix, const ingot_tensor *tensor) {
    matrix->aligned =
        matrix->aligned && igo_aligned(tensor, 4 * (uint32_t)ig_scalar_size(tensor->type));
    matrix->aligned_16 = matrix->aligned_16 && igo_aligned(tensor, 16);
}

static uint64_t rows_of(struct igo_call *call, struct igo_matrix *matrix, const char *name,
                        const ingot_tensor *tensor, bool output) {
    int64_t stride = 0;
    char text[160];
    if (call->failed || !igo_count(tensor)) {
        return 0;
    }
    if (!igo_dense_tail(call, name, tensor, 1)) {
        return 0;
    }
    if (!igo_row_stride(tensor, &stride)) {
        igo_fail(call, INGOT_INVALID_ARGUMENT,
                 "%s has shape %s, and its rows do not lie one stride apart", name,
                 igo_shape_text(tensor, text));
        return 0;
    }
    int64_t columns = tensor->shape[tensor->rank - 1];
    if (output && stride < columns && igo_rows(tensor) > 1) {
        igo_fail(call, INGOT_INVALID_ARGUMENT,
                 "the rows of %s are %lld elements apart, but %lld long", name, (long long)stride,
                 (long long)columns);
        return 0;
    }
    note_alignment(matrix, tensor);
    return (uint64_t)stride;
}

uint64_t igo_matrix_begin(struct igo_call *call, struct igo_matrix *matrix, const char *name,
                          const ingot_tensor *tensor, uint32_t types, bool output) {
    *matrix =
        (struct igo_matrix){.name = name, .tensor = tensor, .aligned = true, .aligned_16 = true};
    if (!igo_tensor(call, name, tensor, types, 1, INGOT_MAX_RANK)) {
        return 0;
    }
    int64_t columns = tensor->shape[tensor->rank - 1];
    if (!IGO_REQUIRE(call, columns <= MOST_COLUMNS, "%s has rows of %lld elements; at most %d fit",
                     name, (long long)columns, MOST_COLUMNS)) {
        return 0;
    }
    matrix->rows = (uint64_t)igo_rows(tensor);
    matrix->columns = (uint32_t)columns;
    return rows_of(call, matrix, name, tensor, output);
}

uint64_t igo_matrix_more(struct igo_call *call, struct igo_matrix *matrix, const char *name,
                         const ingot_tensor *tensor, uint32_t types, bool output) {
    if (call->failed ||
        !igo_tensor(call, name, tensor, types ? types : IGO_FLOATS, 1, INGOT_MAX_RANK) ||
        (!types && !igo_same_type(call, name, tensor, matrix->name, matrix->tensor)) ||
        !igo_same_shape(call, name, tensor, matrix->name, matrix->tensor)) {
        return 0;
    }
    return rows_of(call, matrix, name, tensor, output);
}

bool igo_matrix_vector(struct igo_call *call, struct igo_matrix *matrix, const char *name,
                       const ingot_tensor *tensor) {
    if (call->failed ||
        !igo_tensor(call, name, tensor, IGO_TYPE(matrix->tensor->type) | IGO_TYPE(INGOT_SCALAR_F32),
                    1, 1) ||
        !igo_extent(call, name, tensor, 0, matrix->columns, "the length of a row") ||
        !igo_dense(call, name, tensor)) {
        return false;
    }
    if (matrix->columns) {
        note_alignment(matrix, tensor);
    }
    return true;
}

bool igo_matrix_column(struct igo_call *call, const struct igo_matrix *matrix, const char *name,
                       const ingot_tensor *tensor) {
    if (call->failed) {
        return false;
    }
    ingot_tensor rows = *matrix->tensor;
    rows.rank--;
    char a[160], b[160];
    if (!igo_tensor(call, name, tensor, IGO_TYPE(INGOT_SCALAR_F32), 0, INGOT_MAX_RANK) ||
        !igo_dense(call, name, tensor)) {
        return false;
    }
    bool same = tensor->rank == rows.rank;
    for (uint32_t i = 0; i < rows.rank && same; i++) {
        same = tensor->shape[i] == rows.shape[i];
    }
    return same || igo_fail(call, INGOT_INVALID_ARGUMENT,
                            "%s has shape %s, but %s has %s without its last dimension", name,
                            igo_shape_text(tensor, a), matrix->name, igo_shape_text(&rows, b));
}

bool igo_apart(struct igo_call *call, const struct igo_named *outputs, size_t output_count,
               const struct igo_named *inputs, size_t input_count) {
    for (size_t o = 0; o < output_count; o++) {
        for (size_t i = 0; i < input_count; i++) {
            igo_no_overlap(call, outputs[o].name, outputs[o].tensor, inputs[i].name,
                           inputs[i].tensor, inputs[i].in_place);
        }
        for (size_t i = 0; i < o; i++) {
            igo_no_overlap(call, outputs[o].name, outputs[o].tensor, outputs[i].name,
                           outputs[i].tensor, false);
        }
    }
    return !call->failed;
}

float igo_row_eps(struct igo_call *call, float given, float fallback) {
    IGO_REQUIRE(call, given >= 0 && isfinite(given),
                "eps is %g; it must be a finite number that is not negative", (double)given);
    return given == 0 ? fallback : given;
}

bool igo_matrix_policy(struct igo_call *call, const struct igo_matrix *matrix) {
    struct igo_class size = {0};
    igo_class_size(&size, "row", matrix->columns, 1u << 20);
    return igo_policy(call, matrix->tensor->type, &size);
}

/* Few enough to be in registers: row_in_registers of kernels/common/rows.h. */
static bool in_registers(const struct igo_matrix *matrix) {
    return matrix->kept > 0 && matrix->kept <= 8;
}

uint32_t igo_matrix_keep(const struct igo_call *call, struct igo_matrix *matrix,
                         const uint32_t *numbers, size_t count) {
    uint32_t allowed = igo_knob(call, IGO_ROW_KEEP), step = 128 * igo_knob(call, IGO_ROW_SIMD);
    matrix->kept = 0;
    while (count > 0 && numbers[count - 1] > allowed) {
        count--;
    }
    if (igo_knob(call, IGO_ROW_SIMD) == 0) {
        return 0;
    }
    if (count > 0 && matrix->columns <= (uint64_t)numbers[count - 1] * step) {
        matrix->kept = numbers[count - 1];
    }
    if (in_registers(matrix) && igo_knob(call, IGO_ROW_SIMD) > MOST_KEEPING) {
        matrix->kept = 0;
    }
    return matrix->kept;
}

static uint32_t row_simds(const struct igo_call *call, const struct igo_matrix *matrix) {
    return matrix->simds ? matrix->simds : igo_knob(call, IGO_ROW_SIMD);
}

/* ROW_VECTOR of kernels/common/rows.h. A loop over few kept blocks takes all of them. */
static uint32_t row_vector(const struct igo_call *call, const struct igo_matrix *matrix) {
    if (igo_knob(call, IGO_ROW_VEC) != 4) {
        return 4;
    }
    if (row_simds(call, matrix) == 0 || !matrix->aligned || matrix->columns % 4) {
        return 0;
    }
    uint64_t step = 128 * (uint64_t)row_simds(call, matrix);
    if (!in_registers(matrix)) {
        return matrix->columns % step == 0 ? 2 : 1;
    }
    if (matrix->columns != matrix->kept * step) {
        return 1;
    }
    if (ig_scalar_size(matrix->tensor->type) == 4) {
        return 2;
    }
    return matrix->aligned_16 ? 3 : 1;
}

/* Whether every block is known to be full. */
static bool row_full(const struct igo_call *call, const struct igo_matrix *matrix) {
    const uint32_t vector = row_vector(call, matrix);
    return vector == 2 || vector == 3;
}

void igo_matrix_fill(const struct igo_call *call, struct igo_matrix *matrix) {
    static const uint32_t numbers[] = {3, 5, 6, 7, 12};
    for (size_t i = 0; in_registers(matrix) && i < sizeof numbers / sizeof *numbers; i++) {
        if (numbers[i] > igo_knob(call, IGO_ROW_SIMD)) {
            return;
        }
        matrix->simds = numbers[i];
        if (row_full(call, matrix)) {
            return;
        }
        matrix->simds = 0;
    }
}

const char *igo_matrix_part(const struct igo_call *call, const struct igo_matrix *matrix) {
    return in_registers(matrix) && !row_full(call, matrix) ? "_part" : "";
}

bool igo_matrix_stays(const struct igo_call *call, const struct igo_matrix *matrix) {
    const uint64_t bytes = matrix->rows * matrix->columns * ig_scalar_size(matrix->tensor->type);
    const uint64_t least = (uint64_t)igo_knob(call, IGO_ROW_STAY) << 20;
    return least && bytes >= least && in_registers(matrix) && row_full(call, matrix);
}

struct igo_parts igo_matrix_parts(const struct igo_call *call, const struct igo_matrix *matrix) {
    uint64_t parts = igo_knob(call, IGO_ROW_PARTS), rows = (matrix->rows + parts - 1) / parts;
    uint64_t least = MIN_PART / (matrix->columns ? matrix->columns : 1) + 1;
    if (rows < least) {
        rows = least;
    }
    return (struct igo_parts){rows, (matrix->rows + rows - 1) / rows};
}

void igo_launch_rows(const struct igo_call *call, struct igo_launch *launch,
                     const struct igo_matrix *matrix, uint64_t items) {
    const uint64_t line = 1u << 24;
    uint32_t simds = row_simds(call, matrix), rows = igo_knob(call, IGO_ROW_ROWS);
    if (simds == 0) { /* `rows` SIMD-groups, and a row for each of their threads */
        items = (items + 31) / 32;
    }
    while (rows > 1 && (simds > 1 || items / rows < MIN_GROUPS ||
                        (in_registers(matrix) && rows > MOST_KEEPING))) {
        rows /= 2;
    }
    igo_launch_constant_u32(launch, "ROW_SIMDS", simds);
    igo_launch_constant_u32(launch, "ROW_VECTOR", row_vector(call, matrix));
    uint64_t groups = (items + rows - 1) / rows, lines = (groups + line - 1) / line;
    launch->threadgroups[0] = (uint32_t)(lines > 1 ? line : groups);
    launch->threadgroups[1] = (uint32_t)lines;
    launch->threadgroups[2] = 1;
    launch->group[0] = 32 * (simds ? simds : 1) * rows;
    launch->group[1] = launch->group[2] = 1;
    launch->whole_simdgroups = true;
}
