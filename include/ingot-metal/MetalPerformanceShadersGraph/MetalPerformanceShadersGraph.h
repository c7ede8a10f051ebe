/*
 * The names of MPSGraph's classes, so that headers which mention them compile. There are no graphs here: a program
 * that makes one does not link.
 */
#ifndef INGOT_METAL_PERFORMANCE_SHADERS_GRAPH_H
#define INGOT_METAL_PERFORMANCE_SHADERS_GRAPH_H
#ifdef __OBJC__
#import <MetalPerformanceShaders/MetalPerformanceShaders.h>

@interface MPSGraphObject : NSObject
@end
@interface MPSGraphDevice : MPSGraphObject
@end
@interface MPSGraph : MPSGraphObject
@end
@interface MPSGraphTensor : MPSGraphObject <NSCopying>
@property (readonly) MPSDataType dataType;
@property (readonly, nullable) MPSShape *shape;
@end
@interface MPSGraphTensorData : MPSGraphObject
@end
@interface MPSGraphOperation : MPSGraphObject <NSCopying>
@end
@interface MPSGraphExecutable : MPSGraphObject
@end
@interface MPSGraphExecutionDescriptor : MPSGraphObject
@end
@interface MPSGraphCompilationDescriptor : MPSGraphObject
@end
#endif
#endif
