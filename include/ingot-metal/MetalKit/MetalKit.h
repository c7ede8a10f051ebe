/* MetalKit's classes are for windows and are not here; programs include it for Metal. */
#import <Metal/Metal.h>
