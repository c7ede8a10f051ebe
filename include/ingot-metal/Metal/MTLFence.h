#import <Metal/MTLResource.h>
