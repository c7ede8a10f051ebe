#ifndef INGOT_METAL_MTL_LOG_STATE_H
#define INGOT_METAL_MTL_LOG_STATE_H
#import <Metal/MTLTypes.h>

typedef NS_ENUM(NSInteger, MTLLogLevel) {
    MTLLogLevelUndefined = 0,
    MTLLogLevelDebug = 1,
    MTLLogLevelInfo = 2,
    MTLLogLevelNotice = 3,
    MTLLogLevelError = 4,
    MTLLogLevelFault = 5,
};
MTL_EXTERN NSString *const MTLLogStateErrorDomain;
@interface MTLLogStateDescriptor : NSObject <NSCopying>
@property MTLLogLevel level;
@property NSInteger bufferSize;
@end
/* Receives what kernels print with os_log. */
@protocol MTLLogState <NSObject>
- (void)addLogHandler:(void (^)(NSString *subSystem, NSString *category, MTLLogLevel level, NSString *message))block;
@end
@protocol MTLLogContainer <NSFastEnumeration>
@end
#endif
