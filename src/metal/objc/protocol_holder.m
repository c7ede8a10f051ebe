/*
 * Protocols that a program names by @protocol(…). clang puts them into a category of the class below, which does not
 * exist, so that a runtime of its own sees them. GCC's libobjc makes objects of a category's protocols when the
 * category is added to its class; so here the class exists. Its class Protocol cannot be retained, which ARC does to all
 * objects: protocols live as long as their module.
 */
#import <Foundation/Foundation.h>
#include <objc/Protocol.h>

@interface __ObjC_Protocol_Holder_Ugly_Hack : NSObject
@end

@implementation __ObjC_Protocol_Holder_Ugly_Hack
@end

@implementation Protocol (IngotReferences)
- (id)retain {
    return self;
}
- (oneway void)release {
}
- (id)autorelease {
    return self;
}
- (NSUInteger)retainCount {
    return NSUIntegerMax;
}
@end
