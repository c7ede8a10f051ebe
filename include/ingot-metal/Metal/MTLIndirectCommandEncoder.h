#import <Metal/MTLIndirectCommandBuffer.h>
