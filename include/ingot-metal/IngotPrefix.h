/* ingot-c++ includes this first: what the standard library of a Mac brings along with others of its headers. */
#if defined(__cplusplus) && !defined(INGOT_METAL_PREFIX_H)
#define INGOT_METAL_PREFIX_H
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#if __cplusplus >= 201703L
#include <optional>
#endif
#if defined(__OBJC__) && defined(__x86_64__)
/* On a Mac a file's classes and selectors are there before anything of it runs. Here clang registers them in a
 * constructor of the file, behind those of its variables: so it is called first. Without Objective-C there is none. */
__asm__(".weakref ingot_registration_of_file, .objc_load_function");
static void __attribute__((constructor(101), used)) ingot_register_file(void) {
    void (*registration)(void);
    __asm__("movq ingot_registration_of_file@GOTPCREL(%%rip), %0" : "=r"(registration));
    if (registration) {
        registration();
    }
}
#endif
#endif
