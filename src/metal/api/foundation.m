/* What programs expect of Foundation and Core Foundation, and GNUstep lacks. */
#import "metal/api/objects.h"

#include <limits.h>
#include <objc/runtime.h>
#include <unistd.h>

@implementation NSFileManager (IngotMetal)
- (NSString *)destinationOfSymbolicLinkAtPath:(NSString *)path error:(NSError **)error {
    char target[PATH_MAX];
    ssize_t length = readlink([path fileSystemRepresentation], target, sizeof target - 1);
    if (length < 0) {
        im_set_error(error, NSPOSIXErrorDomain, errno, strerror(errno));
        return nil;
    }
    target[length] = 0;
    return [self stringWithFileSystemRepresentation:target length:(NSUInteger)length];
}
@end

/* A Mac takes text of other bytes as ASCII too: sources with a © in a comment are given so. GNUstep gives nil; then the
 * text is read as UTF-8, or byte by byte where it is none. */
typedef id (*make_string)(id, SEL, const char *, NSStringEncoding);
static make_string make_by_class, make_by_init;

static id lenient_string(make_string make, id what, SEL selector, const char *text, NSStringEncoding encoding) {
    const NSStringEncoding others[] = {NSUTF8StringEncoding, NSISOLatin1StringEncoding};
    id made = make(what, selector, text, encoding);
    for (int i = 0; i < 2 && !made && text && encoding == NSASCIIStringEncoding; i++) {
        made = make(what, selector, text, others[i]);
    }
    return made;
}
static id string_by_class(id what, SEL selector, const char *text, NSStringEncoding encoding) {
    return lenient_string(make_by_class, what, selector, text, encoding);
}
static id string_by_init(id what, SEL selector, const char *text, NSStringEncoding encoding) {
    return lenient_string(make_by_init, what, selector, text, encoding);
}

@interface IngotFoundation : NSObject
@end

@implementation IngotFoundation
+ (void)load {
    Method by_class = class_getClassMethod([NSString class], @selector(stringWithCString:encoding:));
    make_by_class = (make_string)method_setImplementation(by_class, (IMP)string_by_class);
    /* the object that +[NSString alloc] gives, which stays itself when an init fails */
    Class holder = [[NSString alloc] class];
    Method by_init = class_getInstanceMethod(holder, @selector(initWithCString:encoding:));
    make_by_init = (make_string)method_getImplementation(by_init);
    if (!class_addMethod(holder, @selector(initWithCString:encoding:), (IMP)string_by_init,
                         method_getTypeEncoding(by_init))) {
        make_by_init = (make_string)method_setImplementation(by_init, (IMP)string_by_init);
    }
}
@end

CFTypeRef CFRetain(CFTypeRef object) {
    return [(id)object retain];
}

void CFRelease(CFTypeRef object) {
    [(id)object release];
}

CFAbsoluteTime CFAbsoluteTimeGetCurrent(void) {
    return [NSDate timeIntervalSinceReferenceDate];
}
