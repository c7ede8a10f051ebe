/* The classes of blocks, under the names that compilers put into blocks. */
#import <Foundation/Foundation.h>

#include "metal/objc/objc_support.h"

@interface NSBlock : NSObject
@end

@implementation NSBlock
- (id)copyWithZone:(NSZone *)zone {
    (void)zone;
    return (id)_Block_copy(self);
}
- (id)copy {
    return (id)_Block_copy(self);
}
- (id)retain {
    return (id)_Block_copy(self);
}
- (oneway void)release {
    _Block_release(self);
}
- (id)autorelease {
    [NSAutoreleasePool addObject:self];
    return self;
}
- (NSUInteger)retainCount {
    return 1;
}
- (void)dealloc {
    if (0) {
        [super dealloc];
    }
}
@end

@interface IngotStackBlock : NSBlock
@end
@implementation IngotStackBlock
@end

@interface IngotMallocBlock : NSBlock
@end
@implementation IngotMallocBlock
@end

@interface IngotGlobalBlock : NSBlock
@end
@implementation IngotGlobalBlock
@end

__asm__(".globl _NSConcreteStackBlock\n.set _NSConcreteStackBlock, _OBJC_CLASS_IngotStackBlock\n"
        ".globl _NSConcreteMallocBlock\n.set _NSConcreteMallocBlock, _OBJC_CLASS_IngotMallocBlock\n"
        ".globl _NSConcreteGlobalBlock\n.set _NSConcreteGlobalBlock, _OBJC_CLASS_IngotGlobalBlock\n");
