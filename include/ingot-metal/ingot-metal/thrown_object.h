/* An object of Objective-C that was thrown, as C++ sees it. */
#ifndef INGOT_METAL_THROWN_OBJECT_H
#define INGOT_METAL_THROWN_OBJECT_H

#import <Foundation/Foundation.h>

#include <stdexcept>

/* what(): an NSException's name and reason, or the description of another object. */
struct __attribute__((visibility("default"))) IngotThrownObject : std::runtime_error {
    explicit IngotThrownObject(id thrown);
    IngotThrownObject(const IngotThrownObject &other);
    ~IngotThrownObject() override;
    id object;
};

/* From now on at the first frame of Objective-C++, also where nothing there catches it: for programs whose handlers
 * are in C++ that other compilers made. */
__attribute__((visibility("default"))) void ingot_throw_objects_as_cxx(void);

#endif
