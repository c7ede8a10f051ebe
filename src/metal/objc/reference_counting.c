/*
 * What clang calls under automatic reference counting, and for properties: plain messages to
 * GNUstep's objects. Nothing here skips the autorelease pool, as Apple's runtime does for results.
 */
#include "metal/objc/objc_support.h"
#include "metal/objc/send.h"

static SEL retain, release, autorelease, alloc, init;

id objc_retain(id object) {
    return object ? objc_send(object, &retain, "retain") : object;
}

void objc_release(id object) {
    if (object) {
        objc_send(object, &release, "release");
    }
}

id objc_autorelease(id object) {
    return object ? objc_send(object, &autorelease, "autorelease") : object;
}

id objc_retainAutorelease(id object) {
    return objc_autorelease(objc_retain(object));
}

id objc_autoreleaseReturnValue(id object) {
    return objc_autorelease(object);
}

id objc_retainAutoreleaseReturnValue(id object) {
    return objc_retainAutorelease(object);
}

id objc_retainAutoreleasedReturnValue(id object) {
    return objc_retain(object);
}

id objc_unsafeClaimAutoreleasedReturnValue(id object) {
    return object;
}

void objc_storeStrong(id *place, id value) {
    id before = *place;
    objc_retain(value);
    *place = value;
    objc_release(before);
}

id objc_retainBlock(id block) {
    return (id)_Block_copy(block);
}

void *objc_autoreleasePoolPush(void) {
    return objc_send(objc_send((id)objc_getClass("NSAutoreleasePool"), &alloc, "alloc"), &init,
                     "init");
}

void objc_autoreleasePoolPop(void *pool) {
    objc_send((id)pool, &release, "release");
}

id objc_alloc(Class class) {
    return objc_send((id) class, &alloc, "alloc");
}

id objc_allocWithZone(Class class) {
    return objc_send((id) class, &alloc, "alloc");
}

id objc_alloc_init(Class class) {
    return objc_send(objc_send((id) class, &alloc, "alloc"), &init, "init");
}

/* ---- properties: clang's names for what libobjc has as one function ---- */

void objc_setProperty(id object, SEL selector, ptrdiff_t offset, id value, BOOL is_atomic,
                      BOOL is_copied);
void objc_setProperty_atomic(id object, SEL selector, id value, ptrdiff_t offset);
void objc_setProperty_atomic_copy(id object, SEL selector, id value, ptrdiff_t offset);
void objc_setProperty_nonatomic(id object, SEL selector, id value, ptrdiff_t offset);
void objc_setProperty_nonatomic_copy(id object, SEL selector, id value, ptrdiff_t offset);

void objc_setProperty_atomic(id object, SEL selector, id value, ptrdiff_t offset) {
    objc_setProperty(object, selector, offset, value, YES, NO);
}

void objc_setProperty_atomic_copy(id object, SEL selector, id value, ptrdiff_t offset) {
    objc_setProperty(object, selector, offset, value, YES, YES);
}

void objc_setProperty_nonatomic(id object, SEL selector, id value, ptrdiff_t offset) {
    objc_setProperty(object, selector, offset, value, NO, NO);
}

void objc_setProperty_nonatomic_copy(id object, SEL selector, id value, ptrdiff_t offset) {
    objc_setProperty(object, selector, offset, value, NO, YES);
}
