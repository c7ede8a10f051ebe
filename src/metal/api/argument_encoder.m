/*
 * Argument encoders. From descriptors: members by their indices, each at the next place that its type's
 * alignment allows, as the compiler lays out a struct of them. From a function's argument: as the compiler has
 * laid out the struct behind it. Pointers are addresses of 8 bytes.
 *
 * Not there: textures, samplers, and structs within the struct.
 */
#import "metal/api/objects.h"

@implementation MTLArgumentDescriptor
@synthesize dataType = _dataType, index = _index, arrayLength = _arrayLength, access = _access,
            constantBlockAlignment = _constantBlockAlignment;
+ (MTLArgumentDescriptor *)argumentDescriptor {
    return [[[self alloc] init] autorelease];
}
- (id)copyWithZone:(NSZone *)zone {
    MTLArgumentDescriptor *copy = [[[self class] allocWithZone:zone] init];
    copy->_dataType = _dataType;
    copy->_index = _index;
    copy->_arrayLength = _arrayLength;
    copy->_access = _access;
    copy->_constantBlockAlignment = _constantBlockAlignment;
    return copy;
}
@end

enum { MAX_LENGTH = 1 << 30 }; /* of what the descriptors say, in bytes; so sums of them stay small */

struct member {
    NSUInteger index, count, size, offset;
    BOOL isPointer;
};

@interface IngotArgumentEncoder : IngotObject <MTLArgumentEncoder> {
@public
    IngotDevice *owner;
    struct member *members;
    NSUInteger count, length, alignment;
    IngotBuffer *target;
    NSUInteger targetOffset;
}
@end

static NSUInteger size_of(MTLDataType type) {
    static const struct {
        MTLDataType first;
        NSUInteger size;
    } scalars[] = {
        {MTLDataTypeFloat, 4}, {MTLDataTypeHalf, 2},   {MTLDataTypeInt, 4},  {MTLDataTypeUInt, 4},
        {MTLDataTypeShort, 2}, {MTLDataTypeUShort, 2}, {MTLDataTypeChar, 1}, {MTLDataTypeUChar, 1},
        {MTLDataTypeBool, 1},  {MTLDataTypeLong, 8},   {MTLDataTypeULong, 8}, {MTLDataTypeBFloat, 2},
    };
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        if (type >= scalars[i].first && type < scalars[i].first + 4) {
            NSUInteger components = type - scalars[i].first + 1;
            return scalars[i].size * (components == 3 ? 4 : components);
        }
    }
    return type == MTLDataTypePointer ? 8 : 0;
}

@implementation IngotArgumentEncoder
- (void)dealloc {
    free(members);
    [target release];
    [owner release];
    [super dealloc];
}
- (id<MTLDevice>)device {
    return (id<MTLDevice>)owner;
}
- (NSUInteger)encodedLength {
    return length;
}
- (NSUInteger)alignment {
    return alignment;
}
- (void)setArgumentBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset {
    IngotBuffer *checked = buffer ? im_check_buffer(self, _cmd, buffer, owner) : nil;
    NSUInteger bytes = [checked length];
    if (checked && (![checked contents] || offset > bytes || length > bytes - offset)) {
        IM_RAISE(self, @"%lu bytes at offset %lu do not fit a buffer of %lu bytes%@", (unsigned long)length,
                 (unsigned long)offset, (unsigned long)bytes, [checked contents] ? @"" : @" without contents");
    }
    [checked retain];
    [target release];
    target = checked;
    targetOffset = offset;
}
- (void)setArgumentBuffer:(id<MTLBuffer>)buffer startOffset:(NSUInteger)start arrayElement:(NSUInteger)element {
    NSUInteger offset;
    if (__builtin_mul_overflow(element, length, &offset) || __builtin_add_overflow(offset, start, &offset)) {
        IM_RAISE(self, @"element %lu of %lu bytes each passes the end of any buffer", (unsigned long)element,
                 (unsigned long)length);
    }
    [self setArgumentBuffer:buffer offset:offset];
}
- (char *)placeOf:(NSUInteger)index isPointer:(BOOL)isPointer for:(SEL)selector {
    if (!target) {
        im_raise(self, selector, @"no argument buffer was set");
    }
    for (NSUInteger i = 0; i < count; i++) {
        const struct member *member = &members[i];
        if (index >= member->index && index - member->index < member->count) {
            if (member->isPointer != isPointer) {
                im_raise(self, selector, @"index %lu is %@", (unsigned long)index,
                         isPointer ? @"a constant, not a buffer" : @"a buffer, not a constant");
            }
            return (char *)[target contents] + targetOffset + member->offset + (index - member->index) * member->size;
        }
    }
    im_raise(self, selector, @"no argument has index %lu", (unsigned long)index);
}
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index {
    char *place = [self placeOf:index isPointer:YES for:_cmd];
    IngotBuffer *checked = buffer ? im_check_buffer(self, _cmd, buffer, owner) : nil;
    if (checked && offset > [checked length]) {
        IM_RAISE(self, @"offset %lu passes the end of the buffer at index %lu, which has %lu bytes",
                 (unsigned long)offset, (unsigned long)index, (unsigned long)[checked length]);
    }
    uint64_t address = checked ? [checked gpuAddress] + offset : 0;
    memcpy(place, &address, sizeof address);
}
- (void)setBuffers:(const id<MTLBuffer> *)buffers offsets:(const NSUInteger *)offsets withRange:(NSRange)range {
    IM_NEED_LIST(self, buffers, range.length);
    IM_NEED_LIST(self, offsets, range.length);
    for (NSUInteger i = 0; i < range.length; i++) {
        [self setBuffer:buffers[i] offset:offsets[i] atIndex:range.location + i];
    }
}
- (void *)constantDataAtIndex:(NSUInteger)index {
    return [self placeOf:index isPointer:NO for:_cmd];
}
@end

id im_new_argument_encoder(IngotDevice *device, NSArray *arguments) {
    SEL selector = @selector(newArgumentEncoderWithArguments:);
    NSArray *sorted = [arguments sortedArrayUsingComparator:^(id a, id b) {
      NSUInteger first = [(MTLArgumentDescriptor *)a index], second = [(MTLArgumentDescriptor *)b index];
      return (NSComparisonResult)(first < second ? NSOrderedAscending : first > second ? NSOrderedDescending : NSOrderedSame);
    }];
    IngotArgumentEncoder *encoder = [[[IngotArgumentEncoder alloc] init] autorelease];
    encoder->owner = [device retain];
    encoder->members = calloc([sorted count] + 1, sizeof *encoder->members);
    encoder->alignment = 8;
    for (MTLArgumentDescriptor *descriptor in sorted) {
        NSUInteger size = size_of([descriptor dataType]);
        if (!size) {
            im_raise(device, selector, @"data type %lu at index %lu: ingot has pointers, scalars and vectors here",
                     (unsigned long)[descriptor dataType], (unsigned long)[descriptor index]);
        }
        NSUInteger alignment = [descriptor constantBlockAlignment] > size ? [descriptor constantBlockAlignment] : size;
        struct member *member = &encoder->members[encoder->count++];
        member->index = [descriptor index];
        member->count = [descriptor arrayLength] ? [descriptor arrayLength] : 1;
        member->size = size;
        member->isPointer = [descriptor dataType] == MTLDataTypePointer;
        if (alignment > MAX_LENGTH || member->count > MAX_LENGTH / size || encoder->length > MAX_LENGTH) {
            im_raise(device, selector, @"index %lu: arrays of %lu and an alignment of %lu make more than %d bytes",
                     (unsigned long)member->index, (unsigned long)member->count, (unsigned long)alignment, MAX_LENGTH);
        }
        member->offset = (encoder->length + alignment - 1) / alignment * alignment;
        encoder->length = member->offset + member->count * size;
        encoder->alignment = alignment > encoder->alignment ? alignment : encoder->alignment;
    }
    encoder->length = (encoder->length + encoder->alignment - 1) / encoder->alignment * encoder->alignment;
    return [encoder retain];
}

@implementation IngotFunction (ArgumentEncoder)
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)index NS_RETURNS_RETAINED {
    const char *name = [kernel UTF8String];
    size_t count = 0;
    ingot_status status = ingot_library_argument_members(library->library, name, (uint32_t)index, NULL, 0, &count);
    ingot_member_info *found = calloc(count + 1, sizeof *found);
    struct member *members = calloc(count + 1, sizeof *members);
    if (status == INGOT_OK && count) {
        status = ingot_library_argument_members(library->library, name, (uint32_t)index, found, count, &count);
    }
    if (status != INGOT_OK || !count || !found || !members) {
        free(found);
        free(members);
        IM_RAISE(self, @"index %lu of kernel %@: %@", (unsigned long)index, kernel,
                 status != INGOT_OK ? [NSString stringWithUTF8String:ingot_error_message()]
                                    : @"no argument there points to a struct");
    }
    IngotArgumentEncoder *encoder = [[IngotArgumentEncoder alloc] init];
    encoder->owner = [library->owner retain];
    encoder->members = members;
    encoder->count = count;
    encoder->alignment = 8;
    for (size_t i = 0; i < count; i++) {
        const ingot_member_info *from = &found[i];
        NSUInteger end = from->offset + from->count * from->size;
        members[i] = (struct member){.index = from->id,
                                     .count = from->count,
                                     .size = from->size,
                                     .offset = from->offset,
                                     .isPointer = from->pointer_space != 0};
        encoder->length = end > encoder->length ? end : encoder->length;
        encoder->alignment = from->size == 16 ? 16 : encoder->alignment;
    }
    encoder->length = (encoder->length + encoder->alignment - 1) / encoder->alignment * encoder->alignment;
    free(found);
    return encoder;
}
@end
