#import <Metal/MTLCaptureManager.h>
