/*
 * Code into the process: an ELF shared object from an archive → dlopen.
 *
 * The object goes into a memory file that is opened by its path under /proc; where the
 * system forbids that, into a private temporary folder. $INGOT_KEEP_OBJECTS=DIR writes the
 * objects to DIR and loads them from there, which is what profilers want.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/file.h"
#include "base/hash.h"
#include "runtime/cpu/cpu.h"

/* Debuggers read a loaded object through its path, so some descriptors stay open; all of them
 * would use up the process's limit. */
#define MAX_KEPT_DESCRIPTORS 128

static atomic_int kept_descriptors;
static atomic_uint load_counter;

/* dlopen takes a path that it has seen before for the object it loaded then, and descriptor
 * numbers are reused. So a path whose descriptor is going to be closed spells a number in
 * redundant "./" and ".//" parts. */
static void unique_path(char *path, size_t size, int fd, unsigned number) {
    int length = snprintf(path, size, "/proc/%ld/fd/", (long)getpid());
    for (int bit = 0; bit < 32; bit++) {
        length +=
            snprintf(path + length, size - (size_t)length, "%s", number >> bit & 1 ? ".//" : "./");
    }
    snprintf(path + length, size - (size_t)length, "%d", fd);
}

static void *open_memory_file(const struct ig_code *code, const char *name, int *kept) {
    char path[256];
    *kept = -1;
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    if (ig_write_all(fd, code->bytes, code->size)) {
        close(fd);
        return NULL;
    }
    bool keep = atomic_fetch_add(&kept_descriptors, 1) < MAX_KEPT_DESCRIPTORS;
    if (keep) {
        snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getpid(), fd);
    } else {
        unique_path(path, sizeof path, fd, atomic_fetch_add(&load_counter, 1));
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle && keep) {
        *kept = fd;
        return handle;
    }
    atomic_fetch_sub(&kept_descriptors, 1);
    close(fd);
    return handle;
}

static void *open_from_folder(const struct ig_code *code, const char *folder, const char *name) {
    char *path = NULL;
    uint8_t digest[32];
    char hex[65];
    struct ig_hash hash;
    ig_hash_begin(&hash);
    ig_hash_bytes(&hash, code->bytes, code->size);
    ig_hash_end(&hash, digest);
    ig_hash_hex(digest, hex);
    if (asprintf(&path, "%s/%s-%.16s.so", folder, name, hex) < 0) {
        return NULL;
    }
    void *handle = NULL;
    if (ig_folder_make(folder, NULL) == INGOT_OK &&
        ig_file_write(path, code->bytes, code->size, NULL) == INGOT_OK) {
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    free(path);
    return handle;
}

static void *open_temporary(const struct ig_code *code, const char *name) {
    char *folder = NULL;
    if (ig_folder_temporary(&folder, NULL) != INGOT_OK) {
        return NULL;
    }
    void *handle = open_from_folder(code, folder, name);
    ig_folder_remove(folder);
    free(folder);
    return handle;
}

/* The kernel's name with only what is safe in a file name. */
static void safe_name(const char *kernel, char *name, size_t size) {
    size_t length = 0;
    for (; kernel[length] && length + 1 < size; length++) {
        char c = kernel[length];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        name[length] = plain || c == '_' || c == '-' ? c : '_';
    }
    name[length] = '\0';
}

/* Code with checks calls the sanitizer, so a device without one cannot run it. */
static ingot_status find_places(const ingot_device *device, struct cpu_code *code, const char *name,
                                struct ig_error *error) {
    if (!(code->kernel->flags & INGOT_CPU_KERNEL_SANITIZED)) {
        return INGOT_OK;
    }
    code->places = dlsym(code->handle, INGOT_CPU_PLACES_SYMBOL);
    if (!*device->sanitize || !code->places) {
        return ig_fail(error, INGOT_BAD_ARCHIVE, "the code of kernel \"%s\" has checks, but %s",
                       name,
                       code->places ? "the device was opened without the sanitizer"
                                    : "no table of their places");
    }
    return INGOT_OK;
}

static ingot_status check_kernel(const struct ingot_cpu_kernel *kernel, const char *name,
                                 struct ig_error *error) {
    if (!kernel) {
        return ig_fail(error, INGOT_BAD_ARCHIVE, "the code of kernel \"%s\" does not export %s",
                       name, INGOT_CPU_KERNEL_SYMBOL);
    }
    if (kernel->abi_version != INGOT_CPU_ABI_VERSION) {
        return ig_fail(error, INGOT_BAD_ARCHIVE,
                       "the code of kernel \"%s\" has CPU ABI version %u, but this runtime has %u",
                       name, kernel->abi_version, INGOT_CPU_ABI_VERSION);
    }
    bool any = kernel->row != NULL;
    for (int ids = 0; ids < INGOT_CPU_IDS_COUNT; ids++) {
        any = any || kernel->simdgroup[ids] || kernel->group[ids];
    }
    if (!any) {
        return ig_fail(error, INGOT_BAD_ARCHIVE, "the code of kernel \"%s\" has no entry", name);
    }
    return INGOT_OK;
}

ingot_status cpu_code_load(ingot_device *device, const struct ig_variant *variant,
                           const struct ig_code *code, void **loaded, struct ig_error *error) {
    char name[64];
    safe_name(variant->kernel, name, sizeof name);
    cpu_signals_take_back();
    struct cpu_code *result = calloc(1, sizeof *result);
    if (!result) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to load kernel \"%s\"",
                       variant->kernel);
    }
    result->fd = -1;
    const char *folder = ig_environment("INGOT_KEEP_OBJECTS");
    if (folder && *folder) {
        result->handle = open_from_folder(code, folder, name);
    }
    if (!result->handle) {
        result->handle = open_memory_file(code, name, &result->fd);
    }
    if (!result->handle) {
        result->handle = open_temporary(code, name);
    }
    if (!result->handle) {
        const char *reason = dlerror();
        free(result);
        return ig_fail(error, INGOT_BAD_ARCHIVE, "the code of kernel \"%s\" cannot be loaded: %s",
                       variant->kernel, reason ? reason : "the system refused");
    }
    result->kernel = dlsym(result->handle, INGOT_CPU_KERNEL_SYMBOL);
    ingot_status status = check_kernel(result->kernel, variant->kernel, error);
    if (status == INGOT_OK) {
        status = find_places(device, result, variant->kernel, error);
    }
    if (status != INGOT_OK) {
        cpu_code_unload(device, result);
        return status;
    }
    *loaded = result;
    return INGOT_OK;
}

void cpu_code_unload(ingot_device *device, void *loaded) {
    (void)device;
    struct cpu_code *code = loaded;
    dlclose(code->handle);
    if (code->fd >= 0) {
        close(code->fd);
        atomic_fetch_sub(&kept_descriptors, 1);
    }
    free(code);
}
