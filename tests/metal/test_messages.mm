/* Objective-C++ and plain message sends, as metal-cpp makes them; C++ exceptions through frames of Objective-C. */
#import "check.h"
#import <simd/simd.h>
#include <objc/message.h>
#include <objc/runtime.h>
#include <stdexcept>
#include <string>
#include <vector>

template <typename Result, typename... Arguments>
static Result send(const void *object, const char *selector, Arguments... arguments) {
    using function = Result (*)(const void *, SEL, Arguments...);
    return reinterpret_cast<function>(&objc_msgSend)(object, sel_registerName(selector), arguments...);
}

@interface Holder : NSObject {
@public
    std::vector<int> numbers; /* constructed and destroyed with the object */
}
@property (copy) int (^block)(int);
- (MTLRegion)region;
- (double)half;
@end
@implementation Holder
- (MTLRegion)region {
    return MTLRegionMake2D(1, 2, 3, 4);
}
- (double)half {
    return 0.5;
}
@end

/* A constructor that runs before main uses a class of this file, a literal and selectors. */
@interface Later : NSObject
- (NSUInteger)lengthOf:(NSString *)text;
@end
static struct Early {
    NSUInteger length;
    Early() {
        @autoreleasepool {
            Later *later = [[Later alloc] init];
            length = [later lengthOf:@"five!"];
            [later release];
        }
    }
} early;
@implementation Later
- (NSUInteger)lengthOf:(NSString *)text {
    return [text length];
}
@end

/* ---- exceptions of Objective-C in Objective-C++ ---- */

static void raise_number(int number) {
    if (number == 0) {
        throw std::runtime_error("plain");
    }
    [NSException raise:NSInvalidArgumentException format:@"number %d", number];
}

struct Cleaner {
    std::string &log;
    ~Cleaner() { log += "cleaned "; }
};

static std::string catch_object(int number) {
    std::string log;
    try {
        Cleaner cleaner{log};
        @try {
            raise_number(number);
        } @catch (NSString *wrong) {
            log += "wrong ";
        } @catch (NSException *exception) {
            log += std::string([[exception reason] UTF8String]) + " ";
        } @finally {
            log += "finally ";
        }
    } catch (const std::runtime_error &error) {
        log += error.what();
    }
    return log;
}

static std::string throw_again() {
    @try {
        @try {
            raise_number(2);
        } @catch (NSException *exception) {
            @throw;
        }
    } @catch (id object) {
        return [[object reason] UTF8String];
    }
    return "nothing";
}

static void test_exceptions() {
    CHECK(catch_object(1) == "number 1 finally cleaned ");
    CHECK(catch_object(0) == "finally cleaned plain");
    CHECK(throw_again() == "number 2");
    std::string text;
    try {
        dispatch_sync(dispatch_queue_create("test", nullptr), ^{ raise_number(3); });
    } catch (const std::exception &error) {
        text = error.what();
    }
    CHECK(text == "NSInvalidArgumentException: number 3");
    dispatch_queue_t queue = dispatch_queue_create("test", nullptr);
    for (int i = 0; i < 2; i++) { /* a block that throws does not keep the queue */
        bool caught = false;
        try {
            dispatch_sync(queue, ^{
                CHECK(ingot_dispatch_is_on_queue(queue));
                throw std::runtime_error("in a block");
            });
        } catch (const std::runtime_error &) {
            caught = true;
        }
        CHECK(caught && !ingot_dispatch_is_on_queue(queue));
    }
    dispatch_queue_t first = dispatch_get_main_queue(); /* a queue as others, in programs without a run loop */
    __block int done = 0;
    CHECK(first == dispatch_get_main_queue() && !strcmp(dispatch_queue_get_label(first), "com.apple.main-thread"));
    dispatch_async(first, ^{ done = 1; });
    dispatch_sync(first, ^{ done *= 2; });
    CHECK(done == 2);
    @try {
        @throw @"a string";
    } @catch (NSException *exception) {
        CHECK(false);
    } @catch (...) {
        text = "all";
    }
    CHECK(text == "all");
}

/* The types that kernels and programs share. */
static void test_simd() {
    simd_float3 a = simd_make_float3(1, 2, 3), b = {4, 5, 6};
    simd::float4x4 moved = matrix_identity_float4x4;
    moved.columns[3] = simd_make_float4(simd_make_float3(10, 20, 30), 1);
    simd::float4 point = moved * simd_make_float4(a, 1);
    CHECK(point.x == 11 && point.y == 22 && point.z == 33 && point.w == 1);
    CHECK(simd_dot(a, b) == 32 && simd::cross(a, b).y == 6 && simd_length(simd_make_float2(3, 4)) == 5);
    CHECK(sizeof(simd_float3) == 16 && sizeof(matrix_float3x3) == 48 && alignof(simd_packed_float2) == 4);
    CHECK(simd_clamp(simd_int2{-7, 9}, simd_int2{0, 0}, simd_int2{5, 5}).y == 5);
    CHECK(simd_transpose(moved).columns[0].w == 10);
}

int main() {
    @autoreleasepool {
        test_exceptions();
        test_simd();
        Holder *holder = [Holder new];
        holder->numbers.assign(100, 7);
        int base = 5;
        holder.block = ^(int x) { return x + base + holder->numbers[99]; };
        CHECK(holder.block(3) == 15);
        holder.block = nil;
        CHECK([holder region].size.height == 4 && [holder half] == 0.5);
        Holder *none = nil;
        CHECK([none region].size.height == 0 && [none half] == 0);
        bool caught = false;
        try {
            [@[ @1 ] enumerateObjectsUsingBlock:^(id, NSUInteger, BOOL *) { throw std::runtime_error("through"); }];
        } catch (const std::runtime_error &error) {
            caught = std::string(error.what()) == "through";
        }
        CHECK(caught);

        CHECK(early.length == 5);
        void *device = (__bridge void *)MTLCreateSystemDefaultDevice();
        CHECK(std::string([send<id>(device, "name") UTF8String]).rfind("ingot ", 0) == 0);
        CHECK(send<BOOL>(device, "supportsFamily:", (long)MTLGPUFamilyApple7));
        const void *buffer = send<const void *>(device, "newBufferWithLength:options:", 64ul, 0ul);
        CHECK(send<unsigned long>(buffer, "length") == 64 && send<void *>(buffer, "contents"));
        send<void>(buffer, "release");
        CHECK(objc_lookUpClass("MTLFunctionConstantValues") && objc_lookUpClass("MTLCompileOptions"));
    }
    return check_report();
}
