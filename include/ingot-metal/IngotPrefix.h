/* ingot-c++ includes this first: what the standard library of a Mac brings along with others of its headers. */
#if defined(__cplusplus) && !defined(INGOT_METAL_PREFIX_H)
#define INGOT_METAL_PREFIX_H
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#if __cplusplus >= 201703L
#include <optional>
#endif
#endif
