/* What programs expect of Foundation and Core Foundation, and GNUstep lacks. */
#import "metal/api/objects.h"

#include <limits.h>
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

CFTypeRef CFRetain(CFTypeRef object) {
    return [(id)object retain];
}

void CFRelease(CFTypeRef object) {
    [(id)object release];
}

CFAbsoluteTime CFAbsoluteTimeGetCurrent(void) {
    return [NSDate timeIntervalSinceReferenceDate];
}
