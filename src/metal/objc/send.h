/* Messages without arguments, from C. */
#ifndef INGOT_METAL_OBJC_SEND_H
#define INGOT_METAL_OBJC_SEND_H

#include <objc/message.h>
#include <objc/runtime.h>

static inline id objc_send(id object, SEL *selector, const char *name) {
    if (!*selector) {
        *selector = sel_registerName(name);
    }
    IMP method = objc_msg_lookup(object, *selector);
    return ((id(*)(id, SEL))(void *)method)(object, *selector);
}

#endif
