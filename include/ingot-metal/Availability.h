/* Marks of versions, and the numbers of versions. */
#ifndef INGOT_METAL_AVAILABILITY_MACROS_H
#define INGOT_METAL_AVAILABILITY_MACROS_H

#include <TargetConditionals.h>
#include <os/availability.h>

#define __MAC_13_0 130000
#define __MAC_14_0 140000
#define __MAC_15_0 150000
#define __MAC_26_0 260000
#endif
