/* libobjc's header, and the functions that send messages. */
#ifndef INGOT_METAL_OBJC_MESSAGE_H
#define INGOT_METAL_OBJC_MESSAGE_H

#include_next <objc/message.h>

#ifdef __cplusplus
extern "C" {
#endif
id objc_msgSend(id receiver, SEL selector, ...);
double objc_msgSend_fpret(id receiver, SEL selector, ...);
void objc_msgSend_stret(id receiver, SEL selector, ...);
#ifdef __cplusplus
}
#endif
#endif
