/*
 * Metal's standard library, whole. Precompiled once and included before every program; the
 * headers that programs name (metal_stdlib and so on) only make their #include resolve.
 */
#pragma once
#include "ingot_macros.h"

#include "ingot_builtins.h"
#include "ingot_traits.h"

#include "ingot_types.h"

#include "ingot_arguments.h"
#include "ingot_array.h"
#include "ingot_integer.h"
#include "ingot_limits.h"
#include "ingot_matrix.h"
#include "ingot_packed.h"
#include "ingot_relational.h"

#include "ingot_math.h"

#include "ingot_atomics.h"
#include "ingot_geometric.h"
#include "ingot_log.h"
#include "ingot_pack.h"
#include "ingot_packed_calls.h"
#include "ingot_simd.h"
#include "ingot_simdgroup_matrix.h"
#include "ingot_sync.h"
#include "ingot_textures.h"

#include "ingot_air.h"
#include "ingot_internals.h"
#include "ingot_parameters.h"

#ifdef __INGOT_TENSORS__ /* for sources that name them */
#include "ingot_tensor_convolution.h"
#include "ingot_tensor_ops.h"
#include "ingot_tensor_parameters.h"
#endif
