/* Included by all parts of the bridge. */
#pragma once

#define FMT_HEADER_ONLY 1
#include <ATen/ATen.h>
#include <ATen/mps/MPSDevice.h>
#include <ATen/mps/MPSStream.h>
#include <ATen/native/mps/OperationUtils.h>
#include <c10/metal/error.h>
#include <fmt/args.h>
#include <fmt/ranges.h>
#include <torch/mps.h>
#include <torch/version.h>

#include <array>
#include <mutex>
#include <vector>

#include <ingot-metal/thrown_object.h>

#include "mps_bridge.h"

namespace ingot_bridge {

/* The extension module's side; an error where ingot.mps is not on. */
const mps_host& host();

/* Is there work of any stream that was not waited for? */
bool has_work();
/* Waits for all of it; throws the first error. */
void settle();

} // namespace ingot_bridge
