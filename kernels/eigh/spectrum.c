/* What the host code of eigh and svd shares. */
#include "eigh/spectrum.h"

#include "common/matrices.h"

bool igo_spectrum(struct igo_call *call, const char *name, const ingot_tensor *t,
                  const ingot_tensor *a, int64_t extent, const char *meaning) {
    char one[160], other[160];
    if (!igo_tensor(call, name, t, IGO_FLOATS, 1, INGOT_MAX_RANK) ||
        !igo_same_type(call, name, t, "a", a)) {
        return false;
    }
    bool same = t->rank == a->rank - 1;
    for (uint32_t i = 0; same && i + 1 < t->rank; i++) {
        same = t->shape[i] == a->shape[i];
    }
    IGO_REQUIRE(call, same, "%s has shape %s, but its batch must be that of a, %s", name,
                igo_shape_text(t, one), igo_shape_text(a, other));
    igo_extent(call, name, t, -1, extent, meaning);
    igo_distinct(call, name, t);
    return igo_no_overlap(call, name, t, "a", a, false);
}
