#import <Metal/MTLCommandBuffer.h>
