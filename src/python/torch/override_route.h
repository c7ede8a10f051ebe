/* Which way a call of a composition goes that is met above autograd. Include python.h before. */
#ifndef INGOT_PYTHON_TORCH_OVERRIDE_ROUTE_H
#define INGOT_PYTHON_TORCH_OVERRIDE_ROUTE_H

#include "python/torch/override.h"

/* torch's composition; ingot's operator with its gradient; ingot's operator at once */
enum override_route { ROUTE_TORCH, ROUTE_DISPATCHER, ROUTE_BYPASS };

/* Is there no gradient to ask for, and no mode of Python that is to see the call? */
bool override_may_bypass(const struct override_call *call);
/* For a call that the limits allow; `direct` is what override_may_bypass said. Looks at Python. */
enum override_route override_route(const struct override_call *call, bool direct);

#endif
