/*
 * How a program starts: crt1.o of glibc 2.34 and later calls a version of __libc_start_main that
 * older ones lack, and leaves the constructors to it. The old version gets a function for them, as
 * crt1.o used to do. Linked with --wrap=__libc_start_main.
 */
#include <stddef.h>

typedef int program_fn(int argc, char **argv, char **environment);
typedef void constructor_fn(int argc, char **argv, char **environment);

int old_start(program_fn *program, int argc, char **argv, constructor_fn *before,
              void (*after)(void), void (*unload)(void), void *stack_end);
__asm__(".symver old_start,__libc_start_main@" OLDEST_GLIBC);
int __wrap___libc_start_main(program_fn *program, int argc, char **argv, constructor_fn *before,
                             void (*after)(void), void (*unload)(void), void *stack_end);

extern constructor_fn *__init_array_start[] __attribute__((visibility("hidden")));
extern constructor_fn *__init_array_end[] __attribute__((visibility("hidden")));

static void construct(int argc, char **argv, char **environment) {
    for (constructor_fn **each = __init_array_start; each < __init_array_end; each++) {
        (*each)(argc, argv, environment);
    }
}

int __wrap___libc_start_main(program_fn *program, int argc, char **argv, constructor_fn *before,
                             void (*after)(void), void (*unload)(void), void *stack_end) {
    (void)before;
    (void)after;
    return old_start(program, argc, argv, construct, NULL, unload, stack_end);
}
