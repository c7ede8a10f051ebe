/* Which way a call of a composition goes that is met above autograd. Include python.h before. */
#ifndef INGOT_PYTHON_TORCH_OVERRIDE_WAY_H
#define INGOT_PYTHON_TORCH_OVERRIDE_WAY_H

#include "python/torch/override.h"

/* torch's composition; ingot's operator with its gradient; ingot's operator at once */
enum way { WAY_TORCH, WAY_DISPATCHER, WAY_DIRECT };

/* Is there no gradient to ask for, and no mode of Python that is to see the call? */
bool call_may_go_direct(const struct call *call);
/* For a call that the limits allow; `direct` is what call_may_go_direct said. Looks at Python. */
enum way call_way(const struct call *call, bool direct);

#endif
