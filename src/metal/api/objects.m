/* What the classes have in common: messages, errors, exceptions for what is not there. */
#import "metal/api/objects.h"

#include <objc/runtime.h>

@protocol IngotNamed
+ (NSString *)metalName;
@end

static NSString *name_of(Class class) {
    return [class respondsToSelector:@selector(metalName)] ? [(id<IngotNamed>)class metalName]
                                                           : NSStringFromClass(class);
}

void im_raise(id what, SEL selector, NSString *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    NSString *text = [[[NSString alloc] initWithFormat:format arguments:arguments] autorelease];
    va_end(arguments);
    BOOL isClass = [what class] == what;
    NSString *reason = [NSString stringWithFormat:@"%c[%@ %@]: %@", isClass ? '+' : '-', name_of([what class]),
                                                  NSStringFromSelector(selector), text];
    [[NSException exceptionWithName:NSInvalidArgumentException reason:reason userInfo:nil] raise];
    __builtin_unreachable();
}

void im_set_error(NSError **error, NSString *domain, NSInteger code, const char *message) {
    if (error) {
        NSString *text = [NSString stringWithUTF8String:message];
        *error = [NSError errorWithDomain:domain
                                     code:code
                                 userInfo:@{NSLocalizedDescriptionKey : text ? text : @""}];
    }
}

@implementation IngotObject
@synthesize label = _label;

+ (NSString *)metalName {
    return [NSStringFromClass(self) stringByReplacingOccurrencesOfString:@"Ingot" withString:@"MTL"];
}
- (void)doesNotRecognizeSelector:(SEL)selector {
    im_raise(self, selector, @"ingot does not have this");
}
- (void)forwardInvocation:(NSInvocation *)invocation {
    im_raise(self, [invocation selector], @"ingot does not have this");
}
- (NSMethodSignature *)methodSignatureForSelector:(SEL)selector {
    NSMethodSignature *signature = [super methodSignatureForSelector:selector];
    if (!signature) {
        im_raise(self, selector, @"ingot does not have this");
    }
    return signature;
}
- (NSString *)description {
    return [NSString stringWithFormat:@"<%@: %p>%@%@", name_of([self class]), (void *)self,
                                      _label ? @" label " : @"", _label ? _label : @""];
}
- (void)dealloc {
    [_label release];
    [super dealloc];
}
@end

IngotBuffer *im_check_buffer(id what, SEL selector, id object, IngotDevice *device) {
    if (!object) {
        im_raise(what, selector, @"the buffer is nil");
    }
    if (![object isKindOfClass:[IngotBuffer class]]) {
        im_raise(what, selector, @"a buffer is needed, not an object of class %@", [object class]);
    }
    IngotBuffer *buffer = object;
    if (buffer->owner != device) {
        im_raise(what, selector, @"the buffer belongs to device \"%s\", the encoder to device \"%s\"",
                 buffer->owner->info.name, device->info.name);
    }
    return buffer;
}

IngotPipeline *im_check_pipeline(id what, SEL selector, id object, IngotDevice *device) {
    if (![object isKindOfClass:[IngotPipeline class]]) {
        im_raise(what, selector, @"a pipeline is needed, not %@", object ? (id)[object class] : @"nil");
    }
    IngotPipeline *pipeline = object;
    if (pipeline->owner != device) {
        im_raise(what, selector, @"the pipeline belongs to device \"%s\", the encoder to device \"%s\"",
                 pipeline->owner->info.name, device->info.name);
    }
    return pipeline;
}
