/* The arguments of a call: memory is bound where it lies, numbers are copied. */
#include "python/call.h"
#include "python/context.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define GUARD_BYTES ((size_t)1 << 20)

static struct target target_of(const struct call *call, size_t index) {
    const struct signature *signature = call->signature;
    return (struct target){
        .kernel = signature->name,
        .index = (unsigned)index,
        .info = signature->declared[index] ? &signature->infos[index] : NULL,
        .strict = call->shader->strict,
    };
}

/* Room for the bytes of an argument, until the call is released. */
static void *take_bytes(struct call *call, size_t index, size_t size) {
    size_t start = (call->small_used + 15) & ~(size_t)15;
    if (start + size <= sizeof call->small) {
        call->small_used = start + size;
        return call->small + start;
    }
    void *memory = malloc(size);
    if (!memory) {
        PyErr_NoMemory();
    }
    return call->heaps[index] = memory;
}

static bool bind_bytes(struct call *call, size_t index, const void *bytes, size_t size) {
    call->args[index] = (ingot_arg){.bytes = bytes, .size = size};
    return true;
}

/* ---- memory ---- */

/* Memory for tensors without elements: touching it is a fault that the kernel is told of. */
static char *guard_memory(void) {
    static _Atomic(char *) guard;
    char *there = atomic_load(&guard);
    if (there) {
        return there;
    }
    void *memory =
        mmap(NULL, GUARD_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        PyErr_NoMemory();
        return NULL;
    }
    if (!atomic_compare_exchange_strong(&guard, &there, memory)) {
        munmap(memory, GUARD_BYTES); /* another thread was quicker */
        return there;
    }
    return memory;
}

/* The same on a GPU: no more than room, since nothing there is told of a fault without harm. */
static bool bind_nothing(struct call *call, size_t index) {
    static _Atomic(ingot_buffer *) rooms[CONTEXT_CUDA_DEVICES];
    ingot_buffer *room = atomic_load(&rooms[call->gpu]), *made = NULL;
    if (!room) {
        ingot_status status = ingot_buffer_create(call->device, 4096, &made);
        if (status != INGOT_OK) {
            raise_status(status);
            return false;
        }
        if (atomic_compare_exchange_strong(&rooms[call->gpu], &room, made)) {
            room = made;
        } else {
            ingot_buffer_release(made); /* another thread was quicker */
        }
    }
    ingot_buffer_retain(room);
    call->args[index] = (ingot_arg){.buffer = room};
    return true;
}

/* `owner` and `heap` (may be NULL) outlive the work. */
static bool bind_memory(struct call *call, size_t index, void *pointer, uint64_t length,
                        PyObject *owner, void *heap) {
    void *keeper = NULL;
    if (call->queued) {
        keeper = pending_keep(owner, heap);
        if (!keeper) {
            free(heap);
            PyErr_NoMemory();
            return false;
        }
    } else {
        Py_INCREF(owner);
        call->owners[index] = owner;
    }
    ingot_buffer *buffer = NULL;
    ingot_status status = /* its device was compared with the call's */
        ingot_buffer_wrap_address(call->device, (uintptr_t)pointer, length,
                                  keeper ? pending_done : NULL, keeper, &buffer);
    if (status != INGOT_OK) {
        if (keeper) {
            pending_done(keeper);
        }
        raise_status(status);
        return false;
    }
    call->args[index] = (ingot_arg){.buffer = buffer};
    return true;
}

static void release_buffer(PyObject *capsule) {
    ingot_buffer_release(PyCapsule_GetPointer(capsule, NULL));
}

/* Memory that a kernel reaches by an address in an argument: what keeps it. Where kernels are
 * checked that is a buffer too, so that the address counts as one of live memory. */
static PyObject *keep_reachable(const struct call *call, const struct memory *memory) {
    if (call->gpu >= 0 || !context_is_sanitized() || !memory->pointer || !memory->length) {
        Py_INCREF(memory->owner);
        return memory->owner;
    }
    ingot_buffer *buffer = NULL;
    ingot_status status = ingot_buffer_wrap_address(call->device, (uintptr_t)memory->pointer,
                                                    memory->length, NULL, NULL, &buffer);
    if (status != INGOT_OK) {
        return raise_status(status);
    }
    PyObject *capsule = PyCapsule_New(buffer, NULL, release_buffer);
    if (!capsule) {
        ingot_buffer_release(buffer);
        return NULL;
    }
    return Py_BuildValue("(ON)", memory->owner, capsule);
}

static bool may_write(const ingot_argument_info *info) {
    return info && info->writable && info->space != INGOT_SPACE_CONSTANT;
}

/* Numbers are copied for the call: what a kernel writes to them is lost, or lands elsewhere. */
static bool check_numbers_go_in(const struct target *target) {
    if (!may_write(target->info)) {
        return true;
    }
    raise_error(INGOT_INVALID_ARGUMENT,
                "%s: a number was given, but the kernel may write to this argument (it declares no "
                "const)",
                PLACE(target));
    return false;
}

/* A 0-dim tensor or array as a number. */
static bool bind_value(struct call *call, const struct target *target,
                       const struct memory *memory) {
    struct number number = {0};
    if (!memory->pointer) {
        raise_argument("%s: the array of one element has no memory", PLACE(target));
        return false;
    }
    unsigned char *bytes = take_bytes(call, target->index, 16);
    if (!bytes) {
        return false;
    }
    if (memory->kind == 'f' && memory->item_size == 8) {
        memcpy(&number.real, memory->pointer, sizeof number.real);
    } else if (memory->kind == 'i' && memory->item_size == 8) {
        number.is_integer = true;
        memcpy(&number.whole, memory->pointer, sizeof number.whole);
        number.real = (double)number.whole;
    } else if (memory->item_size > 16) {
        raise_argument("%s: an element of %u bytes cannot be passed by value", PLACE(target),
                       memory->item_size);
        return false;
    } else {
        memcpy(bytes, memory->pointer, memory->item_size);
        return check_given_type(target, memory_scalar(memory)) &&
               bind_bytes(call, target->index, bytes, memory->item_size);
    }
    size_t size = values_encode(target, &number, 1, INGOT_SCALAR_NONE, bytes);
    return size && bind_bytes(call, target->index, bytes, size);
}

/* A contiguous copy of `value`, remembered so that results can go back. */
static PyObject *contiguous_copy(struct call *call, PyObject *value, bool tensor, bool writable) {
    PyObject *copy;
    if (tensor) {
        copy = PyObject_CallMethod(value, "contiguous", NULL);
    } else {
        PyObject *numpy = PyImport_ImportModule("numpy");
        copy = numpy ? PyObject_CallMethod(numpy, "ascontiguousarray", "O", value) : NULL;
        Py_XDECREF(numpy);
    }
    if (!copy) {
        return NULL;
    }
    Py_INCREF(value);
    call->copies[call->copy_count].original = value;
    call->copies[call->copy_count].copy = copy;
    call->copies[call->copy_count++].write_back = writable;
    return copy;
}

/* strict: the elements must be of the declared type. */
static bool check_elements(const struct target *target, const struct memory *memory) {
    ingot_scalar_type given = memory_scalar(memory);
    if (!target->strict || !target->info || target->info->scalar == INGOT_SCALAR_NONE) {
        return true;
    }
    if (given == INGOT_SCALAR_NONE) {
        raise_error(INGOT_LAUNCH_ERROR,
                    "%s: elements of kind '%c' and %u bytes were given, but the kernel declares %s",
                    PLACE(target), memory->kind, memory->item_size, target->info->type_name);
        return false;
    }
    return check_given_type(target, given);
}

/* Strides are ignored: there has to be memory for as many elements from the first one on. Expanded
 * and reversed arrays have less, and what lies behind is not theirs. */
static bool check_extent(const struct target *target, const struct memory *memory) {
    uint64_t needed = (uint64_t)memory->count * memory->item_size;
    if (memory->kind == '?' || needed <= memory->length) {
        return true;
    }
    raise_error(INGOT_INVALID_ARGUMENT,
                "%s: %lld elements of %u bytes have only %llu bytes of memory from the first one "
                "on (the array is expanded or reversed), and the kernel does not see its strides; "
                "contiguous=\"copy\" passes a copy",
                PLACE(target), (long long)memory->count, memory->item_size,
                (unsigned long long)memory->length);
    return false;
}

static bool bind_array(struct call *call, const struct target *target, PyObject *value,
                       struct memory *memory, bool tensor) {
    size_t index = target->index;
    bool writable = target->info && target->info->writable;
    if (memory->read_only && writable) {
        raise_error(INGOT_INVALID_ARGUMENT,
                    "%s: the array is read-only, but the kernel may write it (it declares no "
                    "const)",
                    PLACE(target));
        return false;
    }
    if (!check_elements(target, memory)) {
        return false;
    }
    if (!memory->contiguous && call->contiguity == CONTIGUITY_REFUSE) {
        raise_error(INGOT_INVALID_ARGUMENT,
                    "%s: the array of %lld elements in %d dimensions is not contiguous, and the "
                    "kernel does not see its strides",
                    PLACE(target), (long long)memory->count, memory->ndim);
        return false;
    }
    if (!memory->contiguous && call->contiguity == CONTIGUITY_COPY) {
        PyObject *copy = contiguous_copy(call, value, tensor, writable);
        if (!copy) {
            return false;
        }
        memory_release(memory);
        if (memory_of(copy, memory, target) <= MEMORY_NONE) {
            return false;
        }
    }
    bool one = target->info && target->info->is_reference;
    if (!one && !check_extent(target, memory)) {
        return false;
    }
    char *pointer = memory->pointer;
    uint64_t length = memory->length;
    if (!pointer || memory->count == 0 || length == 0) {
        if (call->gpu >= 0) {
            return bind_nothing(call, index);
        }
        pointer = guard_memory();
        length = GUARD_BYTES;
        if (!pointer) {
            return false;
        }
    }
    return bind_memory(call, index, pointer, length, memory->owner, NULL);
}

/* All tensors of a call are on one device. */
static bool check_device(const struct call *call, const struct target *target,
                         const struct memory *memory, bool tensor) {
    if (memory->on_cuda ? memory->gpu == call->gpu : call->gpu < 0) {
        return true;
    }
    char here[24] = "cpu", there[24] = "cpu";
    if (memory->on_cuda) {
        snprintf(here, sizeof here, "cuda:%d", memory->gpu);
    }
    if (call->gpu >= 0) {
        snprintf(there, sizeof there, "cuda:%d", call->gpu);
    }
    raise_error(INGOT_UNSUPPORTED, "%s: the %s is on device %s, but the kernel runs on device %s",
                PLACE(target), tensor ? "tensor" : "array", here, there);
    return false;
}

/* Bytes of a number of the kernel's type; 0 where it is a struct. */
static uint64_t number_size(const ingot_argument_info *info) {
    unsigned room = info->components == 3 ? 4 : info->components;
    return info->scalar && room ? info->type_size / room : 0;
}

static bool bind_found(struct call *call, const struct target *target, PyObject *value,
                       struct memory *memory, bool tensor) {
    const ingot_argument_info *info = target->info;
    bool foreign = call->shader->mps && !memory->on_mps;
    bool written = may_write(info);
    if (!memory->is_scalar && call->first_elements < 0) {
        call->first_elements = memory->count;
    }
    if (!memory->is_scalar && memory->count == call->first_elements && !call->narrow &&
        !info->is_reference && number_size(info) > memory->item_size) {
        call->narrow = info;
        call->narrow_size = memory->item_size;
    }
    if (memory->is_scalar && !check_numbers_go_in(target)) {
        return false;
    }
    if (memory->ndim == 0 && memory->count == 1 && !written && !memory->on_mps &&
        !memory->on_cuda) {
        return bind_value(call, target, memory);
    }
    if (!check_device(call, target, memory, tensor)) {
        return false;
    }
    if (foreign) {
        raise_error(INGOT_UNSUPPORTED, "%s: the %s is on device cpu, but should be on device mps",
                    PLACE(target), tensor ? "tensor" : "array");
        return false;
    }
    return bind_array(call, target, value, memory, tensor);
}

/* A parameter of type tensor<device T, ...>: the kernel sees extents and strides. */
static bool is_tensor_parameter(const ingot_argument_info *info) {
    return info && strncmp(info->type_name, "tensor<", 7) == 0;
}

static bool bind_view(struct call *call, const struct target *target, const struct memory *memory,
                      bool tensor) {
    if (memory->ndim < 1 || memory->ndim > INGOT_TENSOR_RANK) {
        raise_error(INGOT_INVALID_ARGUMENT,
                    "%s: a %s of %d dimensions was given, where the kernel declares %s; 1 to %d "
                    "dimensions are possible",
                    PLACE(target), tensor ? "tensor" : "array", memory->ndim,
                    target->info->type_name, INGOT_TENSOR_RANK);
        return false;
    }
    if (!check_device(call, target, memory, tensor)) {
        return false;
    }
    ingot_tensor_argument *view = calloc(1, sizeof *view);
    if (!view) {
        PyErr_NoMemory();
        return false;
    }
    char *pointer = memory->pointer;
    if (call->gpu < 0 && (!pointer || !memory->count)) {
        pointer = guard_memory();
    }
    view->address = (uintptr_t)pointer;
    memcpy(view->extents, memory->extents, sizeof view->extents);
    memcpy(view->strides, memory->strides, sizeof view->strides);
    PyObject *owner = keep_reachable(call, memory);
    if (!owner) {
        free(view);
        return false;
    }
    if (call->queued) {
        bool good = bind_memory(call, target->index, view, sizeof *view, owner, view);
        Py_DECREF(owner);
        return good;
    }
    call->owners[target->index] = owner;
    call->heaps[target->index] = view;
    return bind_bytes(call, target->index, view, sizeof *view);
}

/* ---- lists ---- */

/* Addresses of tensors: an argument buffer. */
static bool bind_tensors(struct call *call, const struct target *target, PyObject *list,
                         Py_ssize_t count) {
    uint64_t *addresses = malloc((size_t)count * sizeof *addresses);
    PyObject *owners = PyTuple_New(count);
    if (!addresses || !owners) {
        free(addresses);
        Py_XDECREF(owners);
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        struct memory memory = {0};
        PyObject *item = PySequence_GetItem(list, i);
        enum memory_found found = item ? memory_of(item, &memory, target) : MEMORY_ERROR;
        bool good = found > MEMORY_NONE;
        if (found == MEMORY_NONE) {
            PyObject *text = shown(item);
            raise_argument("%s: element %zd of the list is %V, where a tensor is needed as for "
                           "element 0",
                           PLACE(target), i, text, "another thing");
            Py_XDECREF(text);
        }
        if (good && call->shader->mps && !memory.on_mps) {
            raise_error(INGOT_UNSUPPORTED,
                        "%s: element %zd of the list is on device cpu, but should be on device mps",
                        PLACE(target), i);
            memory_release(&memory);
            good = false;
        }
        bool flat = memory.contiguous || call->contiguity == CONTIGUITY_IGNORE;
        if (good && !flat) {
            raise_error(INGOT_INVALID_ARGUMENT,
                        "%s: element %zd of the list is not contiguous, and the kernel does not "
                        "see its strides; elements of lists are not copied",
                        PLACE(target), i);
        }
        if (good && (!flat || !check_device(call, target, &memory, true) ||
                     !check_extent(target, &memory))) {
            memory_release(&memory);
            good = false;
        }
        PyObject *owner = good ? keep_reachable(call, &memory) : NULL;
        if (good) {
            memory_release(&memory);
            good = owner != NULL;
        }
        Py_XDECREF(item);
        if (!good) {
            free(addresses);
            Py_DECREF(owners);
            return false;
        }
        char *pointer = memory.pointer;
        if (call->gpu < 0 && (!pointer || !memory.count)) {
            pointer = guard_memory();
        }
        addresses[i] = (uintptr_t)pointer;
        PyTuple_SetItem(owners, i, owner);
    }
    bool good;
    if (call->queued) {
        good = bind_memory(call, target->index, addresses, (uint64_t)count * sizeof *addresses,
                           owners, addresses);
        Py_DECREF(owners);
    } else {
        call->owners[target->index] = owners;
        call->heaps[target->index] = addresses;
        good = bind_bytes(call, target->index, addresses, (size_t)count * sizeof *addresses);
    }
    return good;
}

/* Of one argument; INGOT_SCALAR_NONE when there is none. False with an exception. */
static bool find_cast(const struct call *call, const struct target *target,
                      ingot_scalar_type *cast) {
    *cast = INGOT_SCALAR_NONE;
    PyObject *text = call->casts;
    if (!text || text == Py_None) {
        return true;
    }
    if (PyDict_Check(text)) {
        PyObject *key = PyLong_FromSize_t(target->index);
        text = key ? PyDict_GetItemWithError(call->casts, key) : NULL;
        Py_XDECREF(key);
        if (!text) {
            return !PyErr_Occurred();
        }
    }
    const char *name = PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    *cast = name ? cast_find(name) : INGOT_SCALAR_NONE;
    if (*cast == INGOT_SCALAR_NONE && !PyErr_Occurred()) {
        PyObject *given = shown(text);
        raise_error(INGOT_INVALID_ARGUMENT,
                    "%s: %V is not a cast; there are fp16, bf16, int32, int16, int8, uint8",
                    PLACE(target), given, "this");
        Py_XDECREF(given);
    }
    return *cast != INGOT_SCALAR_NONE;
}

static bool bind_numbers(struct call *call, const struct target *target, PyObject *list,
                         size_t count) {
    ingot_scalar_type cast;
    if (!check_numbers_go_in(target) || !find_cast(call, target, &cast)) {
        return false;
    }
    struct number *numbers = malloc(count * sizeof *numbers);
    unsigned char *bytes = numbers ? take_bytes(call, target->index, count * 8) : NULL;
    bool good = bytes != NULL;
    if (!numbers) {
        PyErr_NoMemory();
    }
    for (size_t i = 0; i < count && good; i++) {
        PyObject *item = PySequence_GetItem(list, (Py_ssize_t)i);
        good = item && number_from(item, target, &numbers[i]);
        Py_XDECREF(item);
        if (good && numbers[i].is_integer != numbers[0].is_integer) {
            if (numbers[0].is_integer) {
                raise_argument("%s: the list begins with an int, but its element %zu is a float",
                               PLACE(target), i);
                good = false;
            }
            numbers[i].is_integer = numbers[0].is_integer;
        }
    }
    size_t size = good ? values_encode(target, numbers, count, cast, bytes) : 0;
    free(numbers);
    return size && bind_bytes(call, target->index, bytes, size);
}

static bool bind_list(struct call *call, const struct target *target, PyObject *list) {
    Py_ssize_t count = PySequence_Size(list);
    if (count <= 0 || count > 1 << 24) {
        if (!PyErr_Occurred()) {
            raise_error(INGOT_INVALID_ARGUMENT,
                        "%s: a list of %zd elements was given; 1 to %d are possible", PLACE(target),
                        count, 1 << 24);
        }
        return false;
    }
    PyObject *first = PySequence_GetItem(list, 0);
    if (!first) {
        return false;
    }
    bool number = is_number(first);
    Py_DECREF(first);
    return number ? bind_numbers(call, target, list, (size_t)count)
                  : bind_tensors(call, target, list, count);
}

static bool bind_number(struct call *call, const struct target *target, PyObject *value) {
    struct number number;
    ingot_scalar_type cast;
    if (!check_numbers_go_in(target) || !find_cast(call, target, &cast) ||
        !number_from(value, target, &number)) {
        return false;
    }
    unsigned char *bytes = take_bytes(call, target->index, 8);
    size_t size = bytes ? values_encode(target, &number, 1, cast, bytes) : 0;
    return size && bind_bytes(call, target->index, bytes, size);
}

/* ---- */

bool call_bind(struct call *call, size_t index, PyObject *value) {
    struct target target = target_of(call, index);
    call->args[index] = (ingot_arg){0};
    call->owners[index] = NULL;
    call->heaps[index] = NULL;
    call->count = index + 1;
    if (PyFloat_Check(value) || PyLong_Check(value)) {
        return bind_number(call, &target, value);
    }
    if (value == Py_None) { /* absent: the launch validator knows whether that may be */
        return true;
    }
    if (PyTuple_Check(value) || PyList_Check(value)) {
        return bind_list(call, &target, value);
    }
    struct memory memory;
    enum memory_found found = memory_of(value, &memory, &target);
    if (found == MEMORY_NONE) {
        raise_argument("%s: a value of type %R cannot be an argument of a kernel", PLACE(&target),
                       (PyObject *)Py_TYPE(value));
    }
    if (found <= MEMORY_NONE) {
        return false;
    }
    bool tensor = found == MEMORY_TENSOR;
    bool good = is_tensor_parameter(target.info)
                    ? bind_view(call, &target, &memory, tensor)
                    : bind_found(call, &target, value, &memory, tensor);
    memory_release(&memory);
    return good;
}

void call_drop_gaps(struct call *call) {
    const struct signature *signature = call->signature;
    for (size_t i = 0; i < call->count && i < signature->end; i++) {
        if (signature->declared[i]) {
            continue;
        }
        ingot_buffer_release(call->args[i].buffer);
        call->args[i] = (ingot_arg){0};
    }
}

bool call_write_back(struct call *call) {
    for (size_t i = 0; i < call->copy_count; i++) {
        PyObject *original = call->copies[i].original, *copy = call->copies[i].copy;
        if (!call->copies[i].write_back) {
            continue;
        }
        PyObject *result = NULL;
        if (tensor_check(original)) {
            PyObject *plain = PyObject_CallMethod(original, "detach", NULL);
            result = plain ? PyObject_CallMethod(plain, "copy_", "O", copy) : NULL;
            Py_XDECREF(plain);
        } else {
            PyObject *numpy = PyImport_ImportModule("numpy");
            PyObject *view = numpy ? PyObject_CallMethod(numpy, "asarray", "O", original) : NULL;
            result = view ? PyObject_CallMethod(numpy, "copyto", "OO", view, copy) : NULL;
            Py_XDECREF(view);
            Py_XDECREF(numpy);
        }
        if (!result) {
            return false;
        }
        Py_DECREF(result);
    }
    return true;
}

void call_release(struct call *call) {
    for (size_t i = 0; i < call->count; i++) {
        ingot_buffer_release(call->args[i].buffer);
        Py_XDECREF(call->owners[i]);
        free(call->heaps[i]);
    }
    for (size_t i = 0; i < call->copy_count; i++) {
        Py_DECREF(call->copies[i].original);
        Py_DECREF(call->copies[i].copy);
    }
}
