/*
 * Counters: the one set of all Apple GPUs, times. Encoders are sampled at their start and their end, as on an Apple
 * GPU; samples between dispatches are not there, and the device says so.
 */
#import "metal/api/objects.h"

MTLCommonCounter const MTLCommonCounterTimestamp = @"GPUTimestamp";
MTLCommonCounterSet const MTLCommonCounterSetTimestamp = @"timestamp";
NSString *const MTLCounterErrorDomain = @"MTLCounterErrorDomain";

@interface IngotCounter : IngotObject <MTLCounter, MTLCounterSet>
@end
@implementation IngotCounter {
@public
    NSString *_name;
    NSArray *_counters; /* of a set */
}
- (NSString *)name {
    return _name;
}
- (NSArray *)counters {
    return _counters;
}
@end

NSArray *im_counter_sets(void) {
    static NSArray *sets;
    static dispatch_once_t once;
    dispatch_once(&once, ^{
      IngotCounter *time = [[IngotCounter alloc] init], *set = [[IngotCounter alloc] init];
      time->_name = MTLCommonCounterTimestamp;
      set->_name = MTLCommonCounterSetTimestamp;
      set->_counters = [[NSArray alloc] initWithObjects:time, nil];
      sets = [[NSArray alloc] initWithObjects:set, nil];
    });
    return sets;
}

@implementation MTLCounterSampleBufferDescriptor
@synthesize counterSet = _counterSet, label = _label, storageMode = _storageMode, sampleCount = _sampleCount;
- (id)copyWithZone:(NSZone *)zone {
    MTLCounterSampleBufferDescriptor *copy = [[[self class] allocWithZone:zone] init];
    [copy setCounterSet:_counterSet];
    [copy setLabel:_label];
    copy->_storageMode = _storageMode;
    copy->_sampleCount = _sampleCount;
    return copy;
}
- (void)dealloc {
    [_counterSet release];
    [_label release];
    [super dealloc];
}
@end

@interface IngotCounterSampleBuffer : IngotObject <MTLCounterSampleBuffer> {
@public
    IngotDevice *owner;
    struct im_samples *samples;
}
@end
@implementation IngotCounterSampleBuffer
- (void)dealloc {
    im_samples_release(samples);
    [owner release];
    [super dealloc];
}
- (id<MTLDevice>)device {
    return (id<MTLDevice>)owner;
}
- (NSUInteger)sampleCount {
    return im_samples_count(samples);
}
- (void)checkRange:(NSRange)range for:(SEL)selector of:(id)caller {
    NSUInteger count = im_samples_count(samples);
    if (range.location > count || range.length > count - range.location) {
        im_raise(caller, selector, @"samples %lu to %lu of a buffer of %lu", (unsigned long)range.location,
                 (unsigned long)(range.location + range.length), (unsigned long)count);
    }
}
- (NSData *)resolveCounterRange:(NSRange)range {
    [self checkRange:range for:_cmd of:self];
    NSMutableData *data = [NSMutableData dataWithLength:range.length * sizeof(MTLCounterResultTimestamp)];
    MTLCounterResultTimestamp *results = [data mutableBytes];
    for (NSUInteger i = 0; i < range.length; i++) {
        results[i].timestamp = im_samples_value(samples, range.location + i);
    }
    return data;
}
@end

id im_new_counter_sample_buffer(IngotDevice *device, MTLCounterSampleBufferDescriptor *descriptor, NSError **error) {
    if (error) {
        *error = nil;
    }
    if ([descriptor counterSet] != [im_counter_sets() objectAtIndex:0] || ![descriptor sampleCount]) {
        im_set_error(error, MTLCounterErrorDomain, MTLCounterSampleBufferErrorInvalid,
                     [descriptor sampleCount] ? "the counter set is not one of the device's" : "sampleCount is 0");
        return nil;
    }
    IngotCounterSampleBuffer *buffer = [[IngotCounterSampleBuffer alloc] init];
    buffer->samples = im_samples_create([descriptor sampleCount]);
    if (!buffer->samples) {
        [buffer release];
        im_set_error(error, MTLCounterErrorDomain, MTLCounterSampleBufferErrorOutOfMemory, "no memory");
        return nil;
    }
    buffer->owner = [device retain];
    [buffer setLabel:[descriptor label]];
    return buffer;
}

/* ---- attachments of passes ---- */

@implementation MTLComputePassSampleBufferAttachmentDescriptor
@synthesize sampleBuffer = _sampleBuffer, startOfEncoderSampleIndex = _start, endOfEncoderSampleIndex = _end;
- (id)copyWithZone:(NSZone *)zone {
    MTLComputePassSampleBufferAttachmentDescriptor *copy = [[[self class] allocWithZone:zone] init];
    [copy setSampleBuffer:_sampleBuffer];
    copy->_start = _start;
    copy->_end = _end;
    return copy;
}
- (void)dealloc {
    [_sampleBuffer release];
    [super dealloc];
}
@end
@implementation MTLBlitPassSampleBufferAttachmentDescriptor
@end

@implementation MTLComputePassSampleBufferAttachmentDescriptorArray {
    MTLComputePassSampleBufferAttachmentDescriptor *_list[IM_ATTACHMENTS];
}
+ (Class)attachmentClass {
    return [MTLComputePassSampleBufferAttachmentDescriptor class];
}
- (void)check:(NSUInteger)index for:(SEL)selector {
    if (index >= IM_ATTACHMENTS) {
        im_raise(self, selector, @"index %lu is not below %d", (unsigned long)index, IM_ATTACHMENTS);
    }
}
- (id)objectAtIndexedSubscript:(NSUInteger)index {
    [self check:index for:_cmd];
    if (!_list[index]) {
        _list[index] = [[[[self class] attachmentClass] alloc] init];
    }
    return _list[index];
}
- (void)setObject:(MTLComputePassSampleBufferAttachmentDescriptor *)attachment atIndexedSubscript:(NSUInteger)index {
    [self check:index for:_cmd];
    [_list[index] release];
    _list[index] = [attachment copy];
}
- (MTLComputePassSampleBufferAttachmentDescriptor *)setAt:(NSUInteger)index {
    return _list[index] && [_list[index] sampleBuffer] ? _list[index] : nil;
}
- (void)copyTo:(MTLComputePassSampleBufferAttachmentDescriptorArray *)other {
    for (NSUInteger i = 0; i < IM_ATTACHMENTS; i++) {
        [other setObject:_list[i] atIndexedSubscript:i];
    }
}
- (void)dealloc {
    for (int i = 0; i < IM_ATTACHMENTS; i++) {
        [_list[i] release];
    }
    [super dealloc];
}
@end
@implementation MTLBlitPassSampleBufferAttachmentDescriptorArray
+ (Class)attachmentClass {
    return [MTLBlitPassSampleBufferAttachmentDescriptor class];
}
- (MTLBlitPassSampleBufferAttachmentDescriptor *)objectAtIndexedSubscript:(NSUInteger)index {
    return (MTLBlitPassSampleBufferAttachmentDescriptor *)[super objectAtIndexedSubscript:index];
}
@end

static void sample(IngotEncoder *self, SEL selector, IngotCounterSampleBuffer *buffer, NSUInteger index) {
    if (index != MTLCounterDontSample &&
        !im_commands_sample(&self->commandBuffer->work.commands, buffer->samples, index)) {
        im_raise(self, selector, @"no memory");
    }
}

@implementation IngotEncoder (Counters)
- (void)sampleInto:(MTLComputePassSampleBufferAttachmentDescriptorArray *)attachments for:(SEL)selector {
    IM_ENTER(commandBuffer);
    for (NSUInteger i = 0; i < IM_ATTACHMENTS; i++) {
        MTLComputePassSampleBufferAttachmentDescriptor *one = [attachments setAt:i];
        IngotCounterSampleBuffer *buffer = (IngotCounterSampleBuffer *)[one sampleBuffer];
        if (!one) {
            continue;
        }
        if (![(id)buffer isKindOfClass:[IngotCounterSampleBuffer class]]) {
            im_raise(self, selector, @"a counter sample buffer is needed, not %@", [(id)buffer class]);
        }
        if (buffer->owner != commandBuffer->owner->owner) {
            im_raise(self, selector, @"the sample buffer belongs to device \"%s\", the encoder to device \"%s\"",
                     buffer->owner->info.name, commandBuffer->owner->owner->info.name);
        }
        NSUInteger places[] = {[one startOfEncoderSampleIndex], [one endOfEncoderSampleIndex]};
        for (int at = 0; at < 2; at++) {
            if (places[at] != MTLCounterDontSample) {
                [buffer checkRange:NSMakeRange(places[at], 1) for:selector of:self];
            }
        }
        sample(self, selector, buffer, places[0]);
        ends[endCount].buffer = [buffer retain];
        ends[endCount++].index = places[1];
    }
}
- (void)sampleEnd:(SEL)selector {
    for (int i = 0; i < endCount; i++) {
        sample(self, selector, ends[i].buffer, ends[i].index);
    }
}
- (void)sampleCountersInBuffer:(id)buffer atSampleIndex:(NSUInteger)index withBarrier:(BOOL)barrier {
    (void)barrier;
    IM_RAISE(self, @"sample %lu of %@: the device samples at the start and end of encoders alone (supportsCounterSampling:)",
             (unsigned long)index, buffer);
}
@end

@implementation IngotBlitEncoder (Counters)
- (void)resolveCounters:(id<MTLCounterSampleBuffer>)object
                inRange:(NSRange)range
      destinationBuffer:(id<MTLBuffer>)destination
      destinationOffset:(NSUInteger)offset {
    IM_ENTER(commandBuffer);
    [self needOpen:_cmd];
    if (![(id)object isKindOfClass:[IngotCounterSampleBuffer class]]) {
        IM_RAISE(self, @"a counter sample buffer is needed, not %@", object ? (id)[(id)object class] : @"nil");
    }
    IngotCounterSampleBuffer *samples = (IngotCounterSampleBuffer *)object;
    [samples checkRange:range for:_cmd of:self];
    ingot_buffer *target = im_check_buffer(self, _cmd, destination, commandBuffer->owner->owner)->buffer;
    uint64_t size = range.length * sizeof(MTLCounterResultTimestamp), length = ingot_buffer_length(target);
    if (offset % 8 || offset > length || size > length - offset) {
        IM_RAISE(self, @"%llu bytes to offset %lu, which must be a multiple of 8, of a buffer of %llu bytes",
                 (unsigned long long)size, (unsigned long)offset, (unsigned long long)length);
    }
    if (range.length && !im_commands_resolve(&commandBuffer->work.commands, samples->samples, range.location,
                                             range.length, target, offset)) {
        IM_RAISE(self, @"no memory");
    }
}
@end
