/* Ctrl-C while Python's main thread waits for a kernel. */
#ifndef INGOT_PYTHON_INTERRUPT_H
#define INGOT_PYTHON_INTERRUPT_H

#include "python/python.h"

#include "ingot/ingot.h"

int interrupt_init(void); /* 0, or -1 with a Python exception */

/* Waits for the stream, without the GIL. When this is the main thread, and SIGINT would raise
 * KeyboardInterrupt, SIGINT ends the stream's work: the result is INGOT_CANCELLED, and raise_status
 * raises what Python's handler of the signal does. */
ingot_status interruptible_wait(ingot_stream *stream);
/* The same for calls that queue work on the stream and wait, in any order, from here to
 * interruptible_leave, which is to be called if this is true. */
bool interruptible_enter(ingot_stream *stream);
void interruptible_leave(void);

#endif
