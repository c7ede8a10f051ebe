#ifndef INGOT_KERNELS_COMMON_ROW_PARTS_ARGS_H
#define INGOT_KERNELS_COMMON_ROW_PARTS_ARGS_H

#include "common/args.h"

struct row_parts_args {
    uint32_t columns, parts;
};

#endif
