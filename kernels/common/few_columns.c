/* See few_columns_host.h. */
#include "common/few_columns_host.h"

enum { LEAST_COLUMNS = 9 }; /* below, a lane has a row */

/* Not on devices with vector loads, nor where several SIMD-groups are to share a row. */
static uint32_t few_chunks(const struct igo_call *call, const struct igo_matrix *matrix) {
    if (igo_knob(call, IGO_ROW_SIMD) > 1 || igo_knob(call, IGO_ROW_VEC) == 4 ||
        matrix->columns < LEAST_COLUMNS || matrix->columns > 32 * FEW_CHUNKS) {
        return 0;
    }
    return matrix->columns <= 32 ? 1 : matrix->columns <= 64 ? 2 : 4;
}

bool igo_launch_few(const struct igo_call *call, struct igo_launch *launch,
                    struct igo_matrix *matrix, const char *kernel, uint32_t most) {
    const uint32_t chunks = few_chunks(call, matrix);
    if (!chunks || matrix->columns > most) {
        return false;
    }
    const uint32_t each = FEW_ROWS / chunks;
    matrix->simds = 1;
    igo_launch_kernel(launch, "%s_few_%u_%s", kernel, chunks, igo_type_name(matrix->tensor->type));
    igo_launch_rows(call, launch, matrix, (matrix->rows + each - 1) / each);
    return true;
}
