/* Queues, groups and semaphores: the part of Grand Central Dispatch that Metal programs use. */
#ifndef INGOT_METAL_DISPATCH_H
#define INGOT_METAL_DISPATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
typedef struct dispatch_object_s *dispatch_object_t;
typedef struct dispatch_queue_s *dispatch_queue_t;
typedef struct dispatch_group_s *dispatch_group_t;
typedef struct dispatch_semaphore_s *dispatch_semaphore_t;
typedef struct dispatch_data_s *dispatch_data_t;
typedef struct dispatch_queue_attr_s *dispatch_queue_attr_t;
typedef dispatch_queue_t dispatch_queue_global_t, dispatch_queue_serial_t, dispatch_queue_main_t;
typedef uint64_t dispatch_time_t;
typedef intptr_t dispatch_once_t;
typedef unsigned qos_class_t, dispatch_qos_class_t;
typedef void (*dispatch_function_t)(void *context);
#ifdef __BLOCKS__
typedef void (^dispatch_block_t)(void);
#endif

#define DISPATCH_TIME_NOW         ((dispatch_time_t)0)
#define DISPATCH_TIME_FOREVER     (~(dispatch_time_t)0)
#define DISPATCH_QUEUE_SERIAL     ((dispatch_queue_attr_t)0)
#define DISPATCH_QUEUE_CONCURRENT ((dispatch_queue_attr_t)1)
#define DISPATCH_APPLY_AUTO       ((dispatch_queue_t)0)
#define DISPATCH_QUEUE_PRIORITY_HIGH       2
#define DISPATCH_QUEUE_PRIORITY_DEFAULT    0
#define DISPATCH_QUEUE_PRIORITY_LOW        (-2)
#define DISPATCH_QUEUE_PRIORITY_BACKGROUND INT16_MIN
enum { QOS_CLASS_USER_INTERACTIVE = 0x21, QOS_CLASS_USER_INITIATED = 0x19, QOS_CLASS_DEFAULT = 0x15,
       QOS_CLASS_UTILITY = 0x11, QOS_CLASS_BACKGROUND = 0x09, QOS_CLASS_UNSPECIFIED = 0 };
#define NSEC_PER_SEC  1000000000ull
#define NSEC_PER_MSEC 1000000ull
#define USEC_PER_SEC  1000000ull
#define NSEC_PER_USEC 1000ull

/* Counted, released by dispatch_release; ARC does not count them. */
void dispatch_retain(void *object);
void dispatch_release(void *object);

dispatch_queue_t dispatch_queue_create(const char *label, dispatch_queue_attr_t attributes);
dispatch_queue_t dispatch_get_global_queue(intptr_t priority, uintptr_t flags);
/* A serial queue like others: there is no run loop that would tie it to the first thread. */
dispatch_queue_t dispatch_get_main_queue(void);
dispatch_queue_attr_t dispatch_queue_attr_make_with_qos_class(dispatch_queue_attr_t attributes, qos_class_t qos,
                                                              int priority);
const char *dispatch_queue_get_label(dispatch_queue_t queue);
/* ingot's own: does the calling thread run work that dispatch_sync gave to this queue? */
bool ingot_dispatch_is_on_queue(dispatch_queue_t queue);
void dispatch_async_f(dispatch_queue_t queue, void *context, dispatch_function_t work);
void dispatch_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t work);
#ifdef __BLOCKS__
void dispatch_async(dispatch_queue_t queue, dispatch_block_t block);
void dispatch_sync(dispatch_queue_t queue, dispatch_block_t block);
void dispatch_barrier_sync(dispatch_queue_t queue, dispatch_block_t block);
void dispatch_barrier_async(dispatch_queue_t queue, dispatch_block_t block);
void dispatch_apply(size_t count, dispatch_queue_t queue, void (^block)(size_t index));
void dispatch_once(dispatch_once_t *predicate, dispatch_block_t block);
void dispatch_group_async(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t block);
void dispatch_group_notify(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t block);
#endif
dispatch_group_t dispatch_group_create(void);
void dispatch_group_enter(dispatch_group_t group);
void dispatch_group_leave(dispatch_group_t group);
intptr_t dispatch_group_wait(dispatch_group_t group, dispatch_time_t timeout);
dispatch_semaphore_t dispatch_semaphore_create(intptr_t value);
intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore, dispatch_time_t timeout);
intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore);
/* Nanoseconds after `when`, which is DISPATCH_TIME_NOW or another such time. */
dispatch_time_t dispatch_time(dispatch_time_t when, int64_t delta);

/* Bytes; the destructor is called with the last reference. NULL: the bytes are copied. */
#ifdef __BLOCKS__
#define DISPATCH_DATA_DESTRUCTOR_DEFAULT ((dispatch_block_t)0)
#define DISPATCH_DATA_DESTRUCTOR_FREE    (_dispatch_data_destructor_free)
extern const dispatch_block_t _dispatch_data_destructor_free;
dispatch_data_t dispatch_data_create(const void *bytes, size_t size, dispatch_queue_t queue, dispatch_block_t destructor);
#endif
size_t dispatch_data_get_size(dispatch_data_t data);
dispatch_data_t dispatch_data_create_map(dispatch_data_t data, const void **bytes, size_t *size);
#ifdef __cplusplus
}
#endif
#endif
