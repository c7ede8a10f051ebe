/*
 * Buffers. Shared and managed ones have contents on every device; private ones are plain memory of the
 * device, and have none. A range that was modified needs no telling: the memory is one.
 */
#import "metal/api/objects.h"

/* GPUs read past the end of a buffer without harm, and programs rest on it where they do not use the values. Behind
 * buffers of whole pages, where nothing else would be, so many bytes can be read: on the CPU they are addresses and no
 * memory, until somebody writes there. */
enum { BEHIND = 64 << 10, BEHIND_ON_CPU = 1 << 20, WHOLE_PAGES = 16 << 10 };

ingot_buffer *im_allocate(IngotDevice *device, NSUInteger length, MTLResourceOptions options) {
    ingot_buffer *whole = NULL, *buffer = NULL;
    BOOL isPrivate = (options & MTLResourceStorageModeMask) == MTLResourceStorageModePrivate;
    const NSUInteger behind = strcmp(device->info.name, "cpu") ? BEHIND : BEHIND_ON_CPU;
    const NSUInteger more = length >= WHOLE_PAGES && length < NSUIntegerMax - behind ? behind : 0;
    ingot_status status = isPrivate ? ingot_buffer_create(device->device, length + more, &whole)
                                    : ingot_buffer_create_shared(device->device, length + more, &whole);
    if (status != INGOT_OK || !more) {
        return status == INGOT_OK ? whole : NULL;
    }
    status = ingot_buffer_create_view(whole, 0, length, &buffer);
    ingot_buffer_release(whole);
    return status == INGOT_OK ? buffer : NULL;
}

@implementation IngotBuffer
- (instancetype)initWithDevice:(IngotDevice *)device
                        buffer:(ingot_buffer *)given
                       options:(MTLResourceOptions)wanted {
    if (!(self = [super init])) {
        ingot_buffer_release(given);
        return nil;
    }
    owner = [device retain];
    buffer = given;
    options = wanted;
    atomic_fetch_add(&device->allocated, ingot_buffer_length(given));
    return self;
}
- (void)dealloc {
    if (owner && !heap) {
        atomic_fetch_sub(&owner->allocated, ingot_buffer_length(buffer));
    }
    ingot_buffer_release(buffer);
    [heap release];
    [owner release];
    [super dealloc];
}
- (id<MTLDevice>)device {
    return (id<MTLDevice>)owner;
}
- (NSUInteger)length {
    return ingot_buffer_length(buffer);
}
- (NSUInteger)allocatedSize {
    return ingot_buffer_length(buffer);
}
- (void *)contents {
    return [self storageMode] == MTLStorageModePrivate ? NULL : ingot_buffer_contents(buffer);
}
- (MTLGPUAddress)gpuAddress {
    return ingot_buffer_address(buffer);
}
- (MTLCPUCacheMode)cpuCacheMode {
    return (options & MTLResourceCPUCacheModeMask) >> MTLResourceCPUCacheModeShift;
}
- (MTLStorageMode)storageMode {
    return (options & MTLResourceStorageModeMask) >> MTLResourceStorageModeShift;
}
- (MTLHazardTrackingMode)hazardTrackingMode {
    NSUInteger mode = (options & MTLResourceHazardTrackingModeMask) >> MTLResourceHazardTrackingModeShift;
    return mode ? mode : MTLHazardTrackingModeTracked;
}
- (MTLResourceOptions)resourceOptions {
    return options;
}
- (id<MTLHeap>)heap {
    return heap;
}
- (NSUInteger)heapOffset {
    return heapOffset;
}
- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state {
    (void)state; /* nothing is ever purged */
    return MTLPurgeableStateNonVolatile;
}
- (void)makeAliasable {
    if (heap && !isAliasable) {
        isAliasable = YES;
        [(id)heap performSelector:@selector(ingotReleaseRangeOf:) withObject:self];
    }
}
- (BOOL)isAliasable {
    return isAliasable;
}
- (void)didModifyRange:(NSRange)range {
    NSUInteger length = [self length];
    if (range.location > length || range.length > length - range.location) {
        IM_RAISE(self, @"range {%lu, %lu} passes the end of the buffer, which has %lu bytes",
                 (unsigned long)range.location, (unsigned long)range.length, (unsigned long)length);
    }
}
- (void)addDebugMarker:(NSString *)marker range:(NSRange)range {
    (void)marker;
    (void)range;
}
- (void)removeAllDebugMarkers {
}
@end
