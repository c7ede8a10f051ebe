#import <Metal/MTLArgument.h>
