#include "common/float_view.h"

#include "common/matrices.h"

static bool make_view(struct igo_call *call, const ingot_tensor *original,
                      struct igo_float_view *view) {
    *view = (struct igo_float_view){.original = original};
    if (call->failed) {
        return false;
    }
    if (original->type == INGOT_SCALAR_F32 && igo_is_dense(original)) {
        view->tensor = *original;
        return true;
    }
    view->tensor = igo_scratch_tensor(call, INGOT_SCALAR_F32, original->rank, original->shape);
    view->copied = !call->failed;
    return view->copied;
}

bool igo_view_input(struct igo_call *call, const ingot_tensor *original,
                    struct igo_float_view *view) {
    if (!make_view(call, original, view)) {
        return false;
    }
    return !view->copied || call->library->convert(call, original, &view->tensor);
}

bool igo_view_output(struct igo_call *call, const ingot_tensor *original,
                     struct igo_float_view *view) {
    return make_view(call, original, view);
}

bool igo_view_store(struct igo_call *call, const struct igo_float_view *view) {
    if (call->failed) {
        return false;
    }
    return !view->copied || call->library->convert(call, &view->tensor, view->original);
}

void igo_view_release(struct igo_call *call, struct igo_float_view *view) {
    if (view->copied) {
        igo_scratch_release(call, view->tensor.buffer);
    }
    view->copied = false;
}
