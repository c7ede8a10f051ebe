/*
 * Weak references that become nil.
 *
 * A table has every weak place with the object that it points to. -[NSObject release] is replaced,
 * when the first weak reference is made, by one that holds the table's lock while the count is
 * lowered: the last release clears the places before anybody else can retain the object through one
 * of them.
 *
 * Not done: objects that count references themselves, without NSObject's release (blocks are such).
 * Weak references to them stay what they are.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "metal/objc/objc_support.h"
#include "metal/objc/send.h"

struct weak_place {
    struct weak_place *next;
    id *place;
    id object;
};

enum { BUCKETS = 1024 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct weak_place *buckets[BUCKETS]; /* by object */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void (*release_plainly)(id, SEL);
static SEL dealloc;

BOOL NSDecrementExtraRefCountWasZero(id object);

static struct weak_place **bucket_of(id object) {
    return &buckets[((uintptr_t)object >> 4) % BUCKETS];
}

/* With the lock held. */
static void clear_places(id object) {
    struct weak_place **link = bucket_of(object);
    while (*link) {
        struct weak_place *entry = *link;
        if (entry->object == object) {
            *entry->place = nil;
            *link = entry->next;
            free(entry);
        } else {
            link = &entry->next;
        }
    }
}

static bool has_places(id object) {
    for (struct weak_place *entry = *bucket_of(object); entry; entry = entry->next) {
        if (entry->object == object) {
            return true;
        }
    }
    return false;
}

static id release_with_places(id object, SEL selector) {
    pthread_mutex_lock(&lock);
    if (!has_places(object)) {
        pthread_mutex_unlock(&lock);
        release_plainly(object, selector);
        return nil;
    }
    BOOL is_last = NSDecrementExtraRefCountWasZero(object);
    if (is_last) {
        clear_places(object);
    }
    pthread_mutex_unlock(&lock);
    if (is_last) {
        objc_send(object, &dealloc, "dealloc");
    }
    return nil;
}

static void replace_release(void) {
    struct objc_method *method =
        class_getInstanceMethod((Class)objc_getClass("NSObject"), sel_registerName("release"));
    release_plainly = (void (*)(id, SEL))(void *)method_getImplementation(method);
    method_setImplementation(method, (IMP)(void *)release_with_places);
}

/* With the lock held. */
static void forget(id *place) {
    if (!*place) {
        return;
    }
    for (struct weak_place **link = bucket_of(*place); *link; link = &(*link)->next) {
        struct weak_place *entry = *link;
        if (entry->place == place) {
            *link = entry->next;
            free(entry);
            return;
        }
    }
}

static void remember(id *place, id value) {
    struct weak_place *entry = value ? malloc(sizeof *entry) : NULL;
    *place = entry ? value : nil; /* without memory: as if the object were gone */
    if (entry) {
        struct weak_place **bucket = bucket_of(value);
        *entry = (struct weak_place){*bucket, place, value};
        *bucket = entry;
    }
}

id objc_initWeak(id *place, id value) {
    *place = nil;
    return objc_storeWeak(place, value);
}

id objc_storeWeak(id *place, id value) {
    pthread_once(&once, replace_release);
    pthread_mutex_lock(&lock);
    forget(place);
    remember(place, value);
    pthread_mutex_unlock(&lock);
    return value;
}

id objc_loadWeakRetained(id *place) {
    pthread_mutex_lock(&lock);
    id object = objc_retain(*place);
    pthread_mutex_unlock(&lock);
    return object;
}

id objc_loadWeak(id *place) {
    return objc_autorelease(objc_loadWeakRetained(place));
}

void objc_destroyWeak(id *place) {
    pthread_mutex_lock(&lock);
    forget(place);
    *place = nil;
    pthread_mutex_unlock(&lock);
}

void objc_copyWeak(id *to, id *from) {
    id object = objc_loadWeakRetained(from);
    objc_initWeak(to, object);
    objc_release(object);
}

void objc_moveWeak(id *to, id *from) {
    objc_copyWeak(to, from);
    objc_destroyWeak(from);
}
