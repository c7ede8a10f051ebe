/* Buffers whose objects lie in memory of somebody else's, who counts their references: <ingot-metal/placed_buffer.h>. */
#import "metal/api/objects.h"

#include <ingot-metal/placed_buffer.h>
#include <objc/runtime.h>

@interface IngotPlacedBuffer : IngotBuffer {
@public
    const struct ingot_metal_counts *counts;
}
@end

@implementation IngotPlacedBuffer
+ (NSString *)metalName {
    return @"MTLBuffer";
}
- (instancetype)retain {
    counts->retain(self);
    return self;
}
- (oneway void)release {
    counts->release(self);
}
- (NSUInteger)retainCount {
    return counts->references(self);
}
/* Weak references are to objects that Foundation counts. */
- (BOOL)allowsWeakReference {
    return NO;
}
@end

static pthread_once_t once = PTHREAD_ONCE_INIT;
static IngotDevice *host_device;
static Class placed_class;

static void prepare(void) {
    @autoreleasepool {
        host_device = im_device_named("cpu");
        placed_class = [IngotPlacedBuffer class];
    }
}

int ingot_metal_place_buffer(void *place, size_t room, void *memory, size_t length,
                             const struct ingot_metal_counts *counts) {
    pthread_once(&once, prepare);
    ingot_buffer *buffer = NULL;
    if (!host_device || class_getInstanceSize(placed_class) > room ||
        ingot_buffer_wrap(host_device->device, memory, length, counts->release_memory, place, &buffer) != INGOT_OK) {
        return 0;
    }
    memcpy(place, &placed_class, sizeof placed_class);
    IngotPlacedBuffer *object = place;
    object->owner = host_device;
    object->buffer = buffer;
    object->options = MTLResourceStorageModeShared;
    object->counts = counts;
    return 1;
}

char *ingot_metal_take_findings(void) {
    char *text = NULL;
    size_t count = host_device ? ingot_device_finding_count(host_device->device) : 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        ingot_finding finding;
        if (ingot_device_finding(host_device->device, i, &finding) == INGOT_OK) {
            size_t added = strlen(finding.report) + 2;
            char *grown = realloc(text, size + added);
            if (grown) {
                text = grown;
                size += (size_t)snprintf(text + size, added, "%s%s", size ? "\n" : "", finding.report);
            }
        }
    }
    if (count) {
        ingot_device_clear_findings(host_device->device);
    }
    return text;
}

void ingot_metal_remove_buffer(void *place) {
    IngotPlacedBuffer *object = place;
    @autoreleasepool {
        [object setLabel:nil];
    }
    ingot_buffer_release(object->buffer);
}
