/*
 * Exceptions of Objective-C in Objective-C++ (.mm) and C++.
 *
 * libobjc throws objects as exceptions of its own kind, which catch clauses of C++ do not know. clang compiles @catch
 * of .mm files to clauses of C++ whose types are the classes below (the names are of libobjc2). So an object that
 * comes to a frame of Objective-C++ which would catch it is thrown again, as a C++ exception: @catch gets the object,
 * and catch (const std::exception &) the text of an NSException.
 */
#import <Foundation/Foundation.h>

#include <cstring>
#include <exception>
#include <objc/runtime.h>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <unwind.h>

#include <ingot-metal/thrown_object.h>

extern "C" _Unwind_Reason_Code __gxx_personality_v0(int version, _Unwind_Action actions, _Unwind_Exception_Class kind,
                                                    _Unwind_Exception *exception, _Unwind_Context *context);

namespace {

std::string text_of(id object) {
    if (![object isKindOfClass:[NSException class]]) {
        return [[object description] UTF8String];
    }
    NSException *exception = object;
    return std::string([[exception name] UTF8String]) + ": " + [[exception reason] UTF8String];
}

} // namespace

IngotThrownObject::IngotThrownObject(id thrown) : std::runtime_error(text_of(thrown)), object([thrown retain]) {}

IngotThrownObject::IngotThrownObject(const IngotThrownObject &other)
    : std::runtime_error(other), object([other.object retain]) {}

IngotThrownObject::~IngotThrownObject() {
    [object release];
}

/* ---- the types of catch clauses ---- */

namespace gnustep::libobjc {

/* `name`: the class's, or nothing for id. */
struct __objc_type_info : std::type_info {
    explicit __objc_type_info(const char *name) : std::type_info(name) {}
    bool __is_pointer_p() const override { return true; }
    bool __do_catch(const std::type_info *thrown, void **object, unsigned outer) const override;
    virtual bool takes(id object) const = 0;
};

struct __objc_class_type_info : __objc_type_info {
    using __objc_type_info::__objc_type_info;
    ~__objc_class_type_info() override;
    bool takes(id object) const override;
};

struct __objc_id_type_info : __objc_type_info {
    __objc_id_type_info() : __objc_type_info("@id") {}
    ~__objc_id_type_info() override;
    bool takes(id) const override { return true; }
};

bool __objc_type_info::__do_catch(const std::type_info *thrown, void **object, unsigned) const {
    if (*thrown != typeid(IngotThrownObject)) {
        return false;
    }
    id held = static_cast<IngotThrownObject *>(*object)->object;
    if (!takes(held)) {
        return false;
    }
    *object = held;
    return true;
}

__objc_class_type_info::~__objc_class_type_info() = default;
__objc_id_type_info::~__objc_id_type_info() = default;

bool __objc_class_type_info::takes(id object) const {
    Class wanted = objc_getClass(name());
    return wanted && [object isKindOfClass:wanted];
}

} // namespace gnustep::libobjc

extern "C" {
extern gnustep::libobjc::__objc_id_type_info __objc_id_type_info;
gnustep::libobjc::__objc_id_type_info __objc_id_type_info;
}

/* ---- throwing again ---- */

static bool is_always_thrown;

void ingot_throw_objects_as_cxx(void) {
    is_always_thrown = true;
}

/* Would this frame catch the object, as a C++ exception? */
static bool is_caught(int version, _Unwind_Context *context, const std::exception_ptr &made) {
    void *object;
    memcpy(&object, &made, sizeof object);
    auto *header = static_cast<_Unwind_Exception *>(object) - 1; /* it ends where the object begins */
    return __gxx_personality_v0(version, _UA_SEARCH_PHASE, header->exception_class, header, context) ==
           _URC_HANDLER_FOUND;
}

static void throw_as_cxx(int version, _Unwind_Context *context, void *thrown) {
    id object = static_cast<id>(thrown);
    if (is_always_thrown || is_caught(version, context, std::make_exception_ptr(IngotThrownObject(object)))) {
        throw IngotThrownObject(object);
    }
}

/*
 * clang ends @finally in .mm files by __cxa_begin_catch, the block, this call, and __cxa_end_catch on the way out. The
 * last would destroy an exception of C++ that is still under way: only __cxa_rethrow says that it is. The linker has
 * calls of _Unwind_Resume_or_Rethrow in a program's own files come here (ingot-c++).
 */
extern "C" _Unwind_Reason_Code __real__Unwind_Resume_or_Rethrow(_Unwind_Exception *exception)
    __asm__("_Unwind_Resume_or_Rethrow");
extern "C" __attribute__((visibility("default"))) _Unwind_Reason_Code
__wrap__Unwind_Resume_or_Rethrow(_Unwind_Exception *exception) {
    const _Unwind_Exception_Class cxx = 0x474e5543432b2b; /* "GNUCC++", and a byte that says how it is held */
    if (exception->exception_class >> 8 != cxx) {
        return __real__Unwind_Resume_or_Rethrow(exception);
    }
    throw;
}

extern "C" void (*im_throw_as_cxx)(int version, _Unwind_Context *context, void *object);

__attribute__((constructor)) static void install() {
    im_throw_as_cxx = throw_as_cxx;
}
