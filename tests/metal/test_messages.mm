/* Objective-C++ and plain message sends, as metal-cpp makes them; C++ exceptions through frames of Objective-C. */
#import "check.h"
#include <objc/message.h>
#include <objc/runtime.h>
#include <stdexcept>
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

int main() {
    @autoreleasepool {
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
