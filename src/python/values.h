/* Python numbers as the bytes of kernel arguments and function constants. */
#ifndef INGOT_PYTHON_VALUES_H
#define INGOT_PYTHON_VALUES_H

#include "python/objects.h"

struct number {
    bool is_integer;
    bool is_large; /* 2^63 or more: `whole` holds its bits */
    int64_t whole;
    double real;
};

/* Where a value goes: for the messages, and for the type that the kernel declared. */
struct target {
    const char *place; /* the place in words, where it is no kernel's argument; else NULL */
    const char *kernel;
    unsigned index;
    const ingot_argument_info *info; /* NULL: the kernel has no argument there */
    bool strict;
};

/* The beginning of a message: `kernel "k", argument 1 "x"`, in `text`. */
#define PLACE_SIZE 192
const char *place_text(const struct target *target, char text[PLACE_SIZE]);
#define PLACE(target) place_text(target, (char[PLACE_SIZE]){0})

bool is_number(PyObject *object);
bool number_from(PyObject *object, const struct target *where, struct number *number);
/* The value in `type`, at `out`. False, with nothing raised, when it does not fit. */
bool number_put(ingot_scalar_type type, const struct number *number, void *out);
/* The same without the check: what a cast in C would give. */
void number_cast(ingot_scalar_type type, const struct number *number, void *out);

bool scalar_is_float(ingot_scalar_type type);
unsigned scalar_size(ingot_scalar_type type);
const char *scalar_name(ingot_scalar_type type); /* as MSL spells it */
/* "fp16", "int32" …; INGOT_SCALAR_NONE for other texts. */
ingot_scalar_type cast_find(const char *name);

/* Encodes `count` numbers for the target; `cast` may be INGOT_SCALAR_NONE. `out` has room for
 * count * 8 bytes. Returns the size, or 0 with an exception. */
size_t values_encode(const struct target *target, const struct number *numbers, size_t count,
                     ingot_scalar_type cast, unsigned char *out);
/* False with an exception when a value of `given` cannot stand for the declared type. */
bool check_given_type(const struct target *target, ingot_scalar_type given);

#endif
