/* GNUstep's headers look for blocks here. */
#ifndef INGOT_METAL_BLOCKS_RUNTIME_H
#define INGOT_METAL_BLOCKS_RUNTIME_H
#include <Block.h>
#endif
