/*
 * Exceptions of code that clang compiles: personalities under clang's names, and super sends.
 *
 * @try in .m files is libobjc's; C++ exceptions in .mm files are libstdc++'s. An object that is
 * thrown and comes to a frame of a .mm file is thrown again as a C++ exception
 * (objcxx/exceptions.mm).
 */
#include <objc/message.h>
#include <objc/objc-exception.h>
#include <unwind.h>

#include "metal/objc/objc_support.h"

typedef struct _Unwind_Exception *unwind_exception;
typedef struct _Unwind_Context *unwind_context;

#define PERSONALITY(name)                                                                          \
    _Unwind_Reason_Code name(int version, _Unwind_Action actions, _Unwind_Exception_Class class,   \
                             unwind_exception exception, unwind_context context)

PERSONALITY(__gnu_objc_personality_v0);
PERSONALITY(__gxx_personality_v0) __attribute__((weak)); /* of programs with C++ */
PERSONALITY(__gnustep_objc_personality_v0);
PERSONALITY(__gnustep_objcxx_personality_v0);
id objc_begin_catch(void *exception);
void objc_end_catch(void);
void objc_exception_rethrow(id object);

PERSONALITY(__gnustep_objc_personality_v0) {
    return __gnu_objc_personality_v0(version, actions, class, exception, context);
}

/* "GNUCOBJC": what libobjc throws; the object follows the header. */
#define OBJC_EXCEPTION_CLASS 0x474e55434f424a43u
extern void (*im_throw_as_cxx)(int version, unwind_context context, void *object);
void (*im_throw_as_cxx)(int version, unwind_context context,
                        void *object); /* of programs with C++ */

PERSONALITY(__gnustep_objcxx_personality_v0) {
    if (class == OBJC_EXCEPTION_CLASS && (actions & _UA_SEARCH_PHASE) && im_throw_as_cxx) {
        im_throw_as_cxx(version, context, *(void **)(exception + 1));
    }
    return __gxx_personality_v0(version, actions, class, exception, context);
}

id objc_begin_catch(void *exception) {
    return exception;
}

void objc_end_catch(void) {}

/* The end of @finally in .m files: libobjc's personality has handed over the object. */
void objc_exception_rethrow(id object) {
    objc_exception_throw(object);
}

struct objc_super;
/* What a super send of clang's looks up; libobjc answers with the method alone. */
struct slot {
    Class owner, cached_for;
    const char *types;
    int version;
    IMP method;
};
struct slot *objc_slot_lookup_super(struct objc_super *super, SEL selector);

struct slot *objc_slot_lookup_super(struct objc_super *super, SEL selector) {
    static _Thread_local struct slot slot;
    slot.method = objc_msg_lookup_super(super, selector);
    return &slot;
}
