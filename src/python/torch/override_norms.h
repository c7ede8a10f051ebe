/* What the overrides of norms share. */
#ifndef INGOT_PYTHON_TORCH_OVERRIDE_NORMS_H
#define INGOT_PYTHON_TORCH_OVERRIDE_NORMS_H

#include "python/torch/override_route.h"
#include "python/torch/register.h"

enum { NORM_LONGEST_SHAPE = 64 };

/* The normalised shape, argument 1, which the call owns as a list. */
cpp_ints norm_shape(struct override_call *call, int64_t shape[NORM_LONGEST_SHAPE]);
/* Is the norm over the last dimension only, with a parameter (or none) of the input's type? */
bool norm_is_affine(const struct tensor_facts *x, cpp_ints shape, torch_tensor *parameter);
/* By the limit for calls with a gradient, or by that for calls without. */
enum override_route norm_route(const struct override_call *call, const struct tensor_facts *x,
                               enum limit limit, enum limit limit_direct);
/* Runs an operator of torch.ops.ingot by a route that is not torch's. `values` are its arguments.
 */
void norm_run(struct override_call *call, enum override_route route, size_t op,
              const torch_value *values);

#endif
