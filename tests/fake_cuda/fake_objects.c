/* See fake_objects.h. */
#include <stdlib.h>

#include "fake_objects.h"

enum { MAX_OBJECTS = 65536 };

static struct {
    void *object;
    const void *owner;
    bool is_gone;
} all[MAX_OBJECTS];
static int count;
static size_t live;

void *fake_object_new(size_t size, const void *owner) {
    void *object = count < MAX_OBJECTS ? calloc(1, size) : NULL;
    if (!object) {
        return NULL;
    }
    all[count].object = object;
    all[count++].owner = owner;
    live++;
    return object;
}

static int find(const void *object) {
    int at = object ? count - 1 : -1;
    while (at >= 0 && all[at].object != object) {
        at--;
    }
    return at;
}

bool fake_object_destroy(const void *object, const void *owner) {
    int at = find(object);
    if (at < 0 || all[at].is_gone || all[at].owner != owner) {
        return false;
    }
    all[at].is_gone = true;
    live--;
    return true;
}

void fake_object_destroy_all(const void *owner) {
    for (int i = 0; i < count; i++) {
        fake_object_destroy(all[i].object, owner);
    }
}

bool fake_object_is_refused(const void *object, const void *owner) {
    int at = find(object);
    return at >= 0 && (all[at].is_gone || all[at].owner != owner);
}

bool fake_object_is_ours(const void *object) {
    return find(object) >= 0;
}

size_t fake_object_count(void) {
    return live;
}

/* Behind other destructors, which still look at objects. */
__attribute__((destructor(101))) static void free_all(void) {
    while (count) {
        free(all[--count].object);
    }
}
