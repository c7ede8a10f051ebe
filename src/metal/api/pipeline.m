/* Compute pipelines: a kernel of libingot each, and what reflection tells of its arguments. */
#import "metal/api/objects.h"

@implementation MTLPipelineBufferDescriptor
@synthesize mutability = _mutability;
- (id)copyWithZone:(NSZone *)zone {
    MTLPipelineBufferDescriptor *copy = [[[self class] allocWithZone:zone] init];
    copy->_mutability = _mutability;
    return copy;
}
@end

@implementation MTLPipelineBufferDescriptorArray {
    MTLPipelineBufferDescriptor *_list[IM_BUFFERS];
}
- (MTLPipelineBufferDescriptor *)objectAtIndexedSubscript:(NSUInteger)index {
    if (index >= IM_BUFFERS) {
        IM_RAISE(self, @"index %lu is not below %d", (unsigned long)index, IM_BUFFERS);
    }
    if (!_list[index]) {
        _list[index] = [[MTLPipelineBufferDescriptor alloc] init];
    }
    return _list[index];
}
- (void)setObject:(MTLPipelineBufferDescriptor *)descriptor atIndexedSubscript:(NSUInteger)index {
    if (index >= IM_BUFFERS) {
        IM_RAISE(self, @"index %lu is not below %d", (unsigned long)index, IM_BUFFERS);
    }
    [_list[index] release];
    _list[index] = [descriptor copy];
}
- (void)dealloc {
    for (int i = 0; i < IM_BUFFERS; i++) {
        [_list[i] release];
    }
    [super dealloc];
}
@end

@implementation MTLComputePipelineDescriptor {
    MTLPipelineBufferDescriptorArray *_buffers;
}
@synthesize label = _label, computeFunction = _computeFunction,
            threadGroupSizeIsMultipleOfThreadExecutionWidth = _isMultiple,
            maxTotalThreadsPerThreadgroup = _maxThreads, maxCallStackDepth = _maxCallStackDepth,
            supportIndirectCommandBuffers = _supportIndirectCommandBuffers,
            supportAddingBinaryFunctions = _supportAddingBinaryFunctions, preloadedLibraries = _preloadedLibraries,
            insertLibraries = _insertLibraries, binaryArchives = _binaryArchives, linkedFunctions = _linkedFunctions,
            requiredThreadsPerThreadgroup = _requiredThreads;
- (instancetype)init {
    if ((self = [super init])) {
        _buffers = [[MTLPipelineBufferDescriptorArray alloc] init];
        _maxCallStackDepth = 1;
    }
    return self;
}
- (MTLPipelineBufferDescriptorArray *)buffers {
    return _buffers;
}
- (void)reset {
    [self setLabel:nil];
    [self setComputeFunction:nil];
    [self setPreloadedLibraries:nil];
    [self setInsertLibraries:nil];
    [self setBinaryArchives:nil];
    [self setLinkedFunctions:nil];
    _isMultiple = _supportIndirectCommandBuffers = _supportAddingBinaryFunctions = NO;
    _maxThreads = 0;
    _maxCallStackDepth = 1;
    _requiredThreads = (MTLSize){0, 0, 0};
}
- (id)copyWithZone:(NSZone *)zone {
    MTLComputePipelineDescriptor *copy = [[[self class] allocWithZone:zone] init];
    [copy setLabel:_label];
    [copy setComputeFunction:_computeFunction];
    [copy setPreloadedLibraries:_preloadedLibraries];
    [copy setInsertLibraries:_insertLibraries];
    [copy setBinaryArchives:_binaryArchives];
    [copy setLinkedFunctions:_linkedFunctions];
    copy->_isMultiple = _isMultiple;
    copy->_maxThreads = _maxThreads;
    copy->_maxCallStackDepth = _maxCallStackDepth;
    copy->_supportIndirectCommandBuffers = _supportIndirectCommandBuffers;
    copy->_supportAddingBinaryFunctions = _supportAddingBinaryFunctions;
    copy->_requiredThreads = _requiredThreads;
    return copy;
}
- (void)dealloc {
    [self reset];
    [_buffers release];
    [super dealloc];
}
@end

@implementation MTLArgument {
@public
    NSString *_name;
    ingot_argument_info _info;
}
- (void)dealloc {
    [_name release];
    [super dealloc];
}
- (NSString *)name {
    return _name;
}
- (MTLBindingType)type {
    return _info.kind == INGOT_ARGUMENT_THREADGROUP ? MTLBindingTypeThreadgroupMemory : MTLBindingTypeBuffer;
}
- (MTLBindingAccess)access {
    return _info.writable ? MTLBindingAccessReadWrite : MTLBindingAccessReadOnly;
}
- (NSUInteger)index {
    return _info.index;
}
- (BOOL)isUsed {
    return _info.used;
}
- (BOOL)isActive {
    return _info.active;
}
- (BOOL)isArgument {
    return YES;
}
- (NSUInteger)bufferAlignment {
    return _info.type_align;
}
- (NSUInteger)bufferDataSize {
    return _info.type_size;
}
- (NSUInteger)threadgroupMemoryAlignment {
    return _info.type_align;
}
- (NSUInteger)threadgroupMemoryDataSize {
    return _info.type_size;
}
- (MTLDataType)bufferDataType {
    static const MTLDataType first[] = {
        [INGOT_SCALAR_BOOL] = MTLDataTypeBool, [INGOT_SCALAR_I8] = MTLDataTypeChar,
        [INGOT_SCALAR_U8] = MTLDataTypeUChar,  [INGOT_SCALAR_I16] = MTLDataTypeShort,
        [INGOT_SCALAR_U16] = MTLDataTypeUShort, [INGOT_SCALAR_I32] = MTLDataTypeInt,
        [INGOT_SCALAR_U32] = MTLDataTypeUInt,  [INGOT_SCALAR_I64] = MTLDataTypeLong,
        [INGOT_SCALAR_U64] = MTLDataTypeULong, [INGOT_SCALAR_F16] = MTLDataTypeHalf,
        [INGOT_SCALAR_BF16] = MTLDataTypeBFloat, [INGOT_SCALAR_F32] = MTLDataTypeFloat,
    };
    BOOL isKnown = _info.scalar != INGOT_SCALAR_NONE && (size_t)_info.scalar < sizeof first / sizeof *first;
    return isKnown && _info.components ? first[_info.scalar] + _info.components - 1 : MTLDataTypeStruct;
}
@end

@implementation MTLComputePipelineReflection {
@public
    NSMutableArray *_bindings;
}
- (NSArray *)bindings {
    return _bindings;
}
- (NSArray *)arguments {
    return _bindings;
}
- (void)dealloc {
    [_bindings release];
    [super dealloc];
}
@end

@implementation IngotPipeline
- (instancetype)initWithDevice:(IngotDevice *)device kernel:(ingot_kernel *)kernel {
    if (!(self = [super init])) {
        ingot_kernel_release(kernel);
        return nil;
    }
    owner = [device retain];
    pipeline.kernel = kernel;
    if (im_pipeline_init(&pipeline, kernel) != INGOT_OK) {
        [self release];
        return nil;
    }
    maxThreads = pipeline.info.max_threads_per_threadgroup;
    return self;
}
- (void)dealloc {
    ingot_kernel_release(pipeline.kernel);
    [owner release];
    [super dealloc];
}
- (id<MTLDevice>)device {
    return (id<MTLDevice>)owner;
}
- (NSUInteger)maxTotalThreadsPerThreadgroup {
    return maxThreads;
}
- (NSUInteger)threadExecutionWidth {
    return pipeline.info.thread_execution_width;
}
- (NSUInteger)staticThreadgroupMemoryLength {
    return pipeline.info.static_threadgroup_memory_length;
}
- (BOOL)supportIndirectCommandBuffers {
    return supportsIndirect;
}
- (NSUInteger)allocatedSize {
    return 0;
}
- (MTLSize)requiredThreadsPerThreadgroup {
    return (MTLSize){0, 0, 0};
}
- (MTLComputePipelineReflection *)newReflection {
    MTLComputePipelineReflection *reflection = [[MTLComputePipelineReflection alloc] init];
    reflection->_bindings = [[NSMutableArray alloc] init];
    for (uint32_t i = 0; i < pipeline.info.argument_count; i++) {
        MTLArgument *argument = [[MTLArgument alloc] init];
        if (ingot_kernel_argument_info(pipeline.kernel, i, &argument->_info) == INGOT_OK) {
            argument->_name = [[NSString alloc] initWithUTF8String:argument->_info.name];
            [reflection->_bindings addObject:argument];
        }
        [argument release];
    }
    return reflection;
}
+ (NSString *)metalName {
    return @"MTLComputePipelineState";
}
@end
