/* Globals that a front end makes and the middle finds by name: a prefix, then a number. */
#ifndef INGOT_COMPILER_IR_GLOBAL_NAMES_H
#define INGOT_COMPILER_IR_GLOBAL_NAMES_H

#define IGI_CONSTANT_PREFIX "__ingot_fc_"      /* a function constant's index */
#define IGI_INPUT_PREFIX    "__ingot_input_"   /* a position at program scope, such as a thread's */
#define IGI_DYNAMIC_PREFIX  "__ingot_dynamic_" /* the middle's: a global without a known value */

#endif
