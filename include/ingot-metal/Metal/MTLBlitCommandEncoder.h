#import <Metal/MTLCommandEncoder.h>
