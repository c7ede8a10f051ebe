/* The back ends: a line for each. Those of the machine that compiles come first. */
#include "compiler/cpu/cpu.h"
#include "compiler/cpu/debug/debug.h"
#include "compiler/driver/driver.h"
#include "compiler/nvptx/nvptx.h"

const struct igc_backend *const igc_backends[] = {&igv_backend, &igp_backend, &igd_backend, NULL};
