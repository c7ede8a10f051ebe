/*
 * Log states: receive what kernels print with os_log. libingot tells of messages for the whole process, so
 * every log state gets those of every kernel. While no handler is there, messages go to stderr.
 */
#import "metal/api/objects.h"

NSString *const MTLLogStateErrorDomain = @"MTLLogStateErrorDomain";

typedef void (^log_handler)(NSString *, NSString *, MTLLogLevel, NSString *);

@implementation MTLLogStateDescriptor
@synthesize level = _level, bufferSize = _bufferSize;
- (id)copyWithZone:(NSZone *)zone {
    MTLLogStateDescriptor *copy = [[[self class] allocWithZone:zone] init];
    copy->_level = _level;
    copy->_bufferSize = _bufferSize;
    return copy;
}
@end

@interface IngotLogState : IngotObject <MTLLogState> {
@public
    MTLLogLevel level;
    NSMutableArray *handlers;
}
@end

static NSMutableArray *states; /* of NSValue: not retained */

static NSLock *states_lock(void) {
    static NSLock *lock;
    static dispatch_once_t once;
    dispatch_once(&once, ^{
      lock = [[NSLock alloc] init];
    });
    return lock;
}

static void message(void *context, int level, const char *text) {
    (void)context;
    @autoreleasepool {
        NSMutableArray *found = [NSMutableArray array];
        [states_lock() lock];
        for (NSValue *value in states) {
            IngotLogState *state = [value nonretainedObjectValue];
            if (!level || level >= (int)state->level) { /* 0: of no level, such as os_log's default */
                [found addObjectsFromArray:state->handlers];
            }
        }
        [states_lock() unlock];
        NSString *string = [NSString stringWithUTF8String:text];
        for (log_handler handler in found) {
            handler(@"", @"", (MTLLogLevel)level, string ? string : @"");
        }
    }
}

@implementation IngotLogState
- (void)addLogHandler:(log_handler)block {
    id copy = [block copy];
    [states_lock() lock];
    if (!states) {
        states = [[NSMutableArray alloc] init];
    }
    if (![handlers count]) {
        [states addObject:[NSValue valueWithNonretainedObject:self]];
        ingot_set_log_function(message, NULL);
    }
    [handlers addObject:copy];
    [states_lock() unlock];
    [copy release];
}
- (void)dealloc {
    [states_lock() lock];
    [states removeObject:[NSValue valueWithNonretainedObject:self]];
    if (states && ![states count]) {
        ingot_set_log_function(NULL, NULL);
    }
    [states_lock() unlock];
    [handlers release];
    [super dealloc];
}
@end

id im_new_log_state(MTLLogStateDescriptor *descriptor) {
    IngotLogState *state = [[IngotLogState alloc] init];
    state->level = [descriptor level];
    state->handlers = [[NSMutableArray alloc] init];
    return state;
}
