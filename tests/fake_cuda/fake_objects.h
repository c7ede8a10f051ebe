/* Modules, streams and events of the fake driver, which a context owns. They stay to the end of the
 * process, so that one that is used too long is known as such, and is not memory of something else.
 */
#ifndef FAKE_CUDA_OBJECTS_H
#define FAKE_CUDA_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed; NULL when there are too many. */
void *fake_object_new(size_t size, const void *owner);
/* False when the owner has no such object. */
bool fake_object_destroy(const void *object, const void *owner);
void fake_object_destroy_all(const void *owner);
/* It was destroyed, or is another owner's. False for what was not made here, such as streams of
 * other libraries. */
bool fake_object_is_refused(const void *object, const void *owner);
bool fake_object_is_ours(const void *object);
size_t fake_object_count(void);

#endif
