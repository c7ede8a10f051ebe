/* Modules, streams and events of the fake driver. They stay to the end of the process, so that one
 * that is used too long is known as such, and is not memory of something else. */
#ifndef FAKE_CUDA_OBJECTS_H
#define FAKE_CUDA_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed; NULL when there are too many. */
void *fake_object_new(size_t size);
/* False when it was not there. */
bool fake_object_destroy(const void *object);
void fake_object_destroy_all(void);
/* False also for what is not ours, such as streams of other libraries. */
bool fake_object_is_gone(const void *object);
bool fake_object_is_ours(const void *object);
size_t fake_object_count(void);

#endif
