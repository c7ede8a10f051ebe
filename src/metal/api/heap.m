/*
 * Heaps: one buffer of libingot, of which the heap's buffers are views. An automatic heap gives the first
 * free range that is large enough; a placement heap takes the caller's offsets, which may overlap. A
 * buffer that is made aliasable gives its range back while it still lives, as Metal has it.
 *
 * Also fences and residency sets, which need nothing: work of a queue runs in order, and all memory is
 * resident. Work of different queues is not ordered by fences on a Mac either.
 */
#import "metal/api/objects.h"

enum { HEAP_ALIGNMENT = 256 };

@implementation MTLHeapDescriptor
@synthesize size = _size, storageMode = _storageMode, cpuCacheMode = _cpuCacheMode,
            hazardTrackingMode = _hazardTrackingMode, type = _type;
- (instancetype)init {
    if ((self = [super init])) {
        _storageMode = MTLStorageModePrivate;
    }
    return self;
}
- (MTLResourceOptions)resourceOptions {
    return _cpuCacheMode << MTLResourceCPUCacheModeShift | _storageMode << MTLResourceStorageModeShift |
           _hazardTrackingMode << MTLResourceHazardTrackingModeShift;
}
- (void)setResourceOptions:(MTLResourceOptions)options {
    _cpuCacheMode = (options & MTLResourceCPUCacheModeMask) >> MTLResourceCPUCacheModeShift;
    _storageMode = (options & MTLResourceStorageModeMask) >> MTLResourceStorageModeShift;
    _hazardTrackingMode = (options & MTLResourceHazardTrackingModeMask) >> MTLResourceHazardTrackingModeShift;
}
- (id)copyWithZone:(NSZone *)zone {
    MTLHeapDescriptor *copy = [[[self class] allocWithZone:zone] init];
    copy->_size = _size;
    copy->_type = _type;
    [copy setResourceOptions:[self resourceOptions]];
    return copy;
}
@end

struct range {
    NSUInteger offset, length;
};

@interface IngotHeapBuffer : IngotBuffer
@end

@interface IngotHeap : IngotObject <MTLHeap> {
@public
    IngotDevice *owner;
    ingot_buffer *memory;
    MTLHeapDescriptor *descriptor;
    struct range *used; /* by offset */
    NSUInteger usedCount, usedCapacity;
    NSLock *lock;
}
@end

@implementation IngotHeap
- (void)dealloc {
    if (memory) {
        atomic_fetch_sub(&owner->allocated, ingot_buffer_length(memory));
    }
    ingot_buffer_release(memory);
    free(used);
    [descriptor release];
    [lock release];
    [owner release];
    [super dealloc];
}
- (id<MTLDevice>)device {
    return (id<MTLDevice>)owner;
}
- (MTLStorageMode)storageMode {
    return [descriptor storageMode];
}
- (MTLCPUCacheMode)cpuCacheMode {
    return [descriptor cpuCacheMode];
}
- (MTLHazardTrackingMode)hazardTrackingMode {
    return [descriptor hazardTrackingMode] ? [descriptor hazardTrackingMode] : MTLHazardTrackingModeUntracked;
}
- (MTLResourceOptions)resourceOptions {
    return [descriptor resourceOptions];
}
- (MTLHeapType)type {
    return [descriptor type];
}
- (NSUInteger)size {
    return ingot_buffer_length(memory);
}
- (NSUInteger)currentAllocatedSize {
    return ingot_buffer_length(memory);
}
- (NSUInteger)allocatedSize {
    return ingot_buffer_length(memory);
}
- (NSUInteger)usedSize {
    NSUInteger sum = 0;
    [lock lock];
    for (NSUInteger i = 0; i < usedCount; i++) {
        sum += used[i].length;
    }
    [lock unlock];
    return sum;
}
- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state {
    (void)state;
    return MTLPurgeableStateNonVolatile;
}

static NSUInteger align_up(NSUInteger value, NSUInteger alignment) {
    return (value + alignment - 1) / alignment * alignment;
}

/* The gap before used[i], or after the last. */
- (struct range)gapBefore:(NSUInteger)i alignment:(NSUInteger)alignment {
    NSUInteger start = i ? align_up(used[i - 1].offset + used[i - 1].length, alignment) : 0;
    NSUInteger end = i < usedCount ? used[i].offset : [self size];
    return (struct range){start, end > start ? end - start : 0};
}
- (NSUInteger)maxAvailableSizeWithAlignment:(NSUInteger)alignment {
    NSUInteger largest = 0;
    if (!alignment || (alignment & (alignment - 1))) {
        IM_RAISE(self, @"alignment %lu is not a power of two", (unsigned long)alignment);
    }
    [lock lock];
    for (NSUInteger i = 0; i <= usedCount; i++) {
        struct range gap = [self gapBefore:i alignment:alignment];
        largest = gap.length > largest ? gap.length : largest;
    }
    [lock unlock];
    return largest;
}

/* NSNotFound when no gap is large enough. */
- (NSUInteger)takeRange:(NSUInteger)length {
    NSUInteger found = NSNotFound;
    [lock lock];
    if (usedCount == usedCapacity) {
        NSUInteger capacity = usedCapacity ? 2 * usedCapacity : 16;
        struct range *grown = realloc(used, capacity * sizeof *grown);
        used = grown ? grown : used;
        usedCapacity = grown ? capacity : usedCapacity;
    }
    for (NSUInteger i = 0; usedCount < usedCapacity && i <= usedCount && found == NSNotFound; i++) {
        struct range gap = [self gapBefore:i alignment:HEAP_ALIGNMENT];
        if (gap.length >= length) {
            memmove(used + i + 1, used + i, (usedCount - i) * sizeof *used);
            used[i] = (struct range){gap.offset, length};
            usedCount++;
            found = gap.offset;
        }
    }
    [lock unlock];
    return found;
}
- (void)giveRange:(NSUInteger)offset {
    [lock lock];
    for (NSUInteger i = 0; i < usedCount; i++) {
        if (used[i].offset == offset) {
            memmove(used + i, used + i + 1, (--usedCount - i) * sizeof *used);
            break;
        }
    }
    [lock unlock];
}
/* A buffer of the heap has become aliasable, or is gone. */
- (void)ingotReleaseRangeOf:(IngotBuffer *)buffer {
    if ([descriptor type] == MTLHeapTypeAutomatic) {
        [self giveRange:buffer->heapOffset];
    }
}

- (id)viewOf:(NSUInteger)length at:(NSUInteger)offset options:(MTLResourceOptions)options {
    ingot_buffer *view = NULL;
    if (ingot_buffer_create_view(memory, offset, length, &view) != INGOT_OK) {
        return nil;
    }
    MTLResourceOptions kept = [self resourceOptions] | (options & MTLResourceHazardTrackingModeMask);
    IngotBuffer *buffer = [[IngotHeapBuffer alloc] initWithDevice:owner buffer:view options:kept];
    if (buffer) {
        atomic_fetch_sub(&owner->allocated, length); /* the heap's memory is counted already */
        buffer->heap = (id<MTLHeap>)[self retain];
        buffer->heapOffset = offset;
    }
    return buffer;
}
static void check_storage(IngotHeap *self, SEL selector, MTLResourceOptions options) {
    if ((options & MTLResourceStorageModeMask) != ([self resourceOptions] & MTLResourceStorageModeMask)) {
        im_raise(self, selector, @"storage mode %lu is asked for, the heap's is %lu",
                 (unsigned long)((options & MTLResourceStorageModeMask) >> MTLResourceStorageModeShift),
                 (unsigned long)[self storageMode]);
    }
}
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
    if ([descriptor type] != MTLHeapTypeAutomatic) {
        IM_RAISE(self, @"the heap is not automatic: give an offset");
    }
    check_storage(self, _cmd, options);
    NSUInteger offset = length ? [self takeRange:length] : NSNotFound;
    id buffer = offset == NSNotFound ? nil : [self viewOf:length at:offset options:options];
    if (!buffer && offset != NSNotFound) {
        [self giveRange:offset];
    }
    return buffer;
}
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length
                             options:(MTLResourceOptions)options
                              offset:(NSUInteger)offset {
    if ([descriptor type] != MTLHeapTypePlacement) {
        IM_RAISE(self, @"offset %lu is given, but the heap is not a placement heap", (unsigned long)offset);
    }
    check_storage(self, _cmd, options);
    return [self viewOf:length at:offset options:options];
}
@end

@implementation IngotHeapBuffer
- (void)dealloc {
    if (!isAliasable) {
        [(IngotHeap *)heap ingotReleaseRangeOf:self];
    }
    [super dealloc];
}
+ (NSString *)metalName {
    return @"MTLBuffer";
}
@end

id im_new_heap(IngotDevice *device, MTLHeapDescriptor *descriptor) {
    NSUInteger size = align_up([descriptor size], HEAP_ALIGNMENT);
    ingot_buffer *memory = im_allocate(device, size, [descriptor resourceOptions]);
    if (!memory) {
        return nil;
    }
    IngotHeap *heap = [[IngotHeap alloc] init];
    heap->owner = [device retain];
    heap->memory = memory;
    heap->descriptor = [descriptor copy];
    heap->lock = [[NSLock alloc] init];
    atomic_fetch_add(&device->allocated, ingot_buffer_length(memory));
    return heap;
}

@interface IngotFence : IngotObject <MTLFence> {
@public
    IngotDevice *owner;
}
@end
@implementation IngotFence
- (id<MTLDevice>)device {
    return (id<MTLDevice>)owner;
}
- (void)dealloc {
    [owner release];
    [super dealloc];
}
@end

id im_new_fence(IngotDevice *device) {
    IngotFence *fence = [[IngotFence alloc] init];
    fence->owner = [device retain];
    return fence;
}

@implementation MTLResidencySetDescriptor
@synthesize label = _label, initialCapacity = _initialCapacity;
- (id)copyWithZone:(NSZone *)zone {
    MTLResidencySetDescriptor *copy = [[[self class] allocWithZone:zone] init];
    [copy setLabel:_label];
    copy->_initialCapacity = _initialCapacity;
    return copy;
}
- (void)dealloc {
    [_label release];
    [super dealloc];
}
@end

@interface IngotResidencySet : IngotObject <MTLResidencySet> {
@public
    IngotDevice *owner;
    NSMutableSet *allocations;
}
@end
@implementation IngotResidencySet
- (void)dealloc {
    [allocations release];
    [owner release];
    [super dealloc];
}
- (id<MTLDevice>)device {
    return (id<MTLDevice>)owner;
}
- (uint64_t)allocatedSize {
    uint64_t sum = 0;
    for (id<MTLAllocation> allocation in allocations) {
        sum += [allocation allocatedSize];
    }
    return sum;
}
- (NSUInteger)allocationCount {
    return [allocations count];
}
- (NSArray *)allAllocations {
    return [allocations allObjects];
}
- (BOOL)containsAllocation:(id<MTLAllocation>)allocation {
    return [allocations containsObject:allocation];
}
- (void)addAllocation:(id<MTLAllocation>)allocation {
    if (!allocation) {
        IM_RAISE(self, @"the allocation is nil");
    }
    [allocations addObject:allocation];
}
- (void)addAllocations:(const id<MTLAllocation> *)resources count:(NSUInteger)count {
    IM_NEED_LIST(self, resources, count);
    for (NSUInteger i = 0; i < count; i++) {
        [self addAllocation:resources[i]];
    }
}
- (void)removeAllocation:(id<MTLAllocation>)allocation {
    [allocations removeObject:allocation];
}
- (void)removeAllocations:(const id<MTLAllocation> *)resources count:(NSUInteger)count {
    IM_NEED_LIST(self, resources, count);
    for (NSUInteger i = 0; i < count; i++) {
        [allocations removeObject:resources[i]];
    }
}
- (void)removeAllAllocations {
    [allocations removeAllObjects];
}
- (void)requestResidency {
}
- (void)endResidency {
}
- (void)commit {
}
@end

id im_new_residency_set(IngotDevice *device, MTLResidencySetDescriptor *descriptor) {
    IngotResidencySet *set = [[IngotResidencySet alloc] init];
    set->owner = [device retain];
    set->allocations = [[NSMutableSet alloc] init];
    [set setLabel:[descriptor label]];
    return set;
}
