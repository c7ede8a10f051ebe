/* The list of devices, and what is done once: threads of ours are threads of Foundation too. */
#import "metal/api/objects.h"

#include <pthread.h>

#include "metal/system/objects.h"

MTLDeviceNotificationName const MTLDeviceWasAddedNotification = @"MTLDeviceWasAdded";
MTLDeviceNotificationName const MTLDeviceRemovalRequestedNotification = @"MTLDeviceRemovalRequested";
MTLDeviceNotificationName const MTLDeviceWasRemovedNotification = @"MTLDeviceWasRemoved";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static NSMutableDictionary *opened; /* by libingot's name; lives as long as the program */

static void thread_begins(void) {
    GSRegisterCurrentThread();
}

static void thread_ends(void) {
    GSUnregisterCurrentThread();
}

static IngotDevice *open_device(const char *name) {
    /* As on Apple's GPUs, threads that have ended do not count at a barrier, and vectors lie where their elements may. */
    ingot_device_desc desc = {.lenient_barriers = true, .loose_alignment = true};
    IngotDevice *device = [[IngotDevice alloc] init];
    if (ingot_device_open(name, &desc, &device->device) != INGOT_OK ||
        ingot_device_get_info(device->device, &device->info) != INGOT_OK) {
        fprintf(stderr, "ingot: no Metal device: %s\n", ingot_error_message());
        [device release];
        return nil;
    }
    return device;
}

/* Is it a device on Metal, and so on this library? */
static BOOL is_on_metal(const char *name) {
    return !strncmp(name, "metal", 5);
}

/* The same object for the same name; NULL: $INGOT_DEVICE, or the CPU. For programs on libingot's Metal device the
 * variable names that one, and $INGOT_METAL_DEVICE the one below it. */
IngotDevice *im_device_named(const char *name) {
    const char *wanted = name ? name : getenv("INGOT_DEVICE");
    if (wanted && is_on_metal(wanted)) {
        wanted = getenv("INGOT_METAL_DEVICE");
    }
    pthread_mutex_lock(&lock);
    IngotDevice *device = nil;
    @autoreleasepool {
        if (!opened) {
            im_set_thread_hooks(thread_begins, thread_ends);
            opened = [[NSMutableDictionary alloc] init];
        }
        NSString *key = [NSString stringWithUTF8String:wanted && *wanted ? wanted : "cpu"];
        device = [opened objectForKey:key];
        if (!device) {
            device = open_device([key UTF8String]);
            NSString *full = device ? [NSString stringWithUTF8String:device->info.name] : key;
            IngotDevice *same = device ? [opened objectForKey:full] : nil; /* "cuda" is "cuda:0" */
            if (same) {
                [device release];
                device = same;
            } else if (device) {
                device->index = [opened count];
                [opened setObject:device forKey:full];
                [device release];
            }
            if (device) {
                [opened setObject:device forKey:key];
            }
        }
    }
    pthread_mutex_unlock(&lock);
    return device;
}

/* Programs in C++ often have no pool: on a Mac what they leave lives on, here Foundation would tell of each object. */
static void need_pool(void) {
    if (![NSAutoreleasePool currentPool]) {
        [[NSAutoreleasePool alloc] init]; /* the thread's outermost, for as long as it lives */
    }
}

id<MTLDevice> MTLCreateSystemDefaultDevice(void) {
    need_pool();
    return (id<MTLDevice>)[im_device_named(NULL) retain];
}

NSArray *MTLCopyAllDevices(void) {
    need_pool();
    NSMutableArray *all = [[NSMutableArray alloc] init];
    IngotDevice *first = im_device_named(NULL);
    if (first) {
        [all addObject:first];
    }
    size_t count = ingot_device_count();
    for (size_t i = 0; i < count; i++) {
        ingot_device_info info;
        if (ingot_device_describe(i, &info) == INGOT_OK && !is_on_metal(info.name)) {
            IngotDevice *device = im_device_named(info.name);
            if (device && ![all containsObject:device]) {
                [all addObject:device];
            }
        }
    }
    return all;
}

NSArray *MTLCopyAllDevicesWithObserver(id *observer, MTLDeviceNotificationHandler handler) {
    (void)handler; /* devices neither come nor go */
    if (observer) {
        *observer = nil;
    }
    return MTLCopyAllDevices();
}

void MTLRemoveDeviceObserver(id observer) {
    (void)observer;
}
