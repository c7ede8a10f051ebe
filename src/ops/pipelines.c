/*
 * Kernels by folder, name and constants: looked up on every launch, made once. Readers share the
 * lock; a kernel that is missing is made under it, so that two threads do not compile the same.
 */
#include <stdlib.h>
#include <string.h>

#include "ops/ops.h"

struct igo_pipeline {
    uint64_t hash;
    const struct igo_library *library;
    ingot_kernel *kernel;
    size_t constant_count;
    struct igo_constant constants[IGO_MAX_CONSTANTS]; /* names are the operations' own literals */
    char name[];
};

static uint64_t mix(uint64_t hash, uint64_t value) {
    return (hash ^ value) * 0x9e3779b97f4a7c15u ^ hash >> 29;
}

static uint64_t launch_hash(const struct igo_library *library, const struct igo_launch *launch) {
    uint64_t hash = mix(14695981039346656037u, (uintptr_t)library);
    for (const char *c = launch->kernel; *c; c++) {
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    }
    for (size_t i = 0; i < launch->constant_count; i++) {
        hash = mix(hash, (uint64_t)launch->constants[i].name[0] << 32 | launch->constants[i].u);
    }
    return hash ? hash : 1;
}

static bool matches(const struct igo_pipeline *p, uint64_t hash, const struct igo_library *library,
                    const struct igo_launch *launch) {
    if (p->hash != hash || p->library != library || p->constant_count != launch->constant_count ||
        strcmp(p->name, launch->kernel)) {
        return false;
    }
    for (size_t i = 0; i < p->constant_count; i++) {
        if (p->constants[i].u != launch->constants[i].u ||
            strcmp(p->constants[i].name, launch->constants[i].name)) {
            return false;
        }
    }
    return true;
}

static ingot_kernel *find(const struct igo_pipelines *table, uint64_t hash,
                          const struct igo_library *library, const struct igo_launch *launch) {
    for (size_t i = hash; table->capacity; i++) {
        const struct igo_pipeline *p = table->slots[i & (table->capacity - 1)];
        if (!p) {
            return NULL;
        }
        if (matches(p, hash, library, launch)) {
            return p->kernel;
        }
    }
    return NULL;
}

static bool grow(struct igo_pipelines *table) {
    size_t capacity = table->capacity ? 2 * table->capacity : 256;
    struct igo_pipeline **slots = calloc(capacity, sizeof(struct igo_pipeline *));
    if (!slots) {
        return false;
    }
    for (size_t i = 0; i < table->capacity; i++) {
        struct igo_pipeline *p = table->slots[i];
        size_t at = p ? p->hash : 0;
        while (p && slots[at & (capacity - 1)]) {
            at++;
        }
        if (p) {
            slots[at & (capacity - 1)] = p;
        }
    }
    free(table->slots);
    table->slots = slots;
    table->capacity = capacity;
    return true;
}

/* Takes the kernel over in every case. */
static bool insert(struct igo_pipelines *table, uint64_t hash, const struct igo_library *library,
                   const struct igo_launch *launch, ingot_kernel *kernel) {
    size_t length = strlen(launch->kernel) + 1;
    struct igo_pipeline *p = calloc(1, sizeof *p + length);
    if (!p || (table->count * 2 >= table->capacity && !grow(table))) {
        free(p);
        ingot_kernel_release(kernel);
        return false;
    }
    p->hash = hash;
    p->library = library;
    p->kernel = kernel;
    p->constant_count = launch->constant_count;
    memcpy(p->constants, launch->constants, sizeof p->constants);
    memcpy(p->name, launch->kernel, length);
    size_t at = hash;
    while (table->slots[at & (table->capacity - 1)]) {
        at++;
    }
    table->slots[at & (table->capacity - 1)] = p;
    table->count++;
    return true;
}

static ingot_status get_library(ingot_ops *ops, const struct igo_library *library,
                                ingot_library **result, struct ig_error *error) {
    for (size_t i = 0; i < igo_archive_count; i++) {
        const struct igo_archive *archive = &igo_archives[i];
        if (archive->library != library) {
            continue;
        }
        ingot_library **slot = &ops->pipelines.libraries[i];
        if (!*slot) {
            ingot_status status = ingot_library_create_from_memory(
                ops->device, archive->bytes, (size_t)(archive->end - archive->bytes), slot);
            if (status) {
                return ig_fail(error, status, "the kernels of %s: %s", library->name,
                               ingot_error_message());
            }
        }
        *result = *slot;
        return INGOT_OK;
    }
    return ig_fail(error, INGOT_INTERNAL_ERROR, "there is no archive of %s", library->name);
}

static ingot_status make_kernel(ingot_ops *ops, const struct igo_library *library,
                                const struct igo_launch *launch, ingot_kernel **kernel,
                                struct ig_error *error) {
    ingot_library *code = NULL;
    ingot_status status = get_library(ops, library, &code, error);
    if (status) {
        return status;
    }
    ingot_constant constants[IGO_MAX_CONSTANTS];
    for (size_t i = 0; i < launch->constant_count; i++) {
        const struct igo_constant *c = &launch->constants[i];
        constants[i] = (ingot_constant){
            .name = c->name, .bytes = &c->u, .size = c->type == INGOT_SCALAR_BOOL ? 1 : 4};
    }
    const ingot_kernel_desc desc = {
        .name = launch->kernel, .constants = constants, .constant_count = launch->constant_count};
    status = ingot_kernel_create(code, &desc, kernel);
    return status ? ig_fail(error, status, "%s", ingot_error_message()) : INGOT_OK;
}

ingot_status igo_pipeline_get(ingot_ops *ops, const struct igo_library *library,
                              const struct igo_launch *launch, ingot_kernel **kernel,
                              struct ig_error *error) {
    struct igo_pipelines *table = &ops->pipelines;
    uint64_t hash = launch_hash(library, launch);
    pthread_rwlock_rdlock(&table->lock);
    *kernel = find(table, hash, library, launch);
    pthread_rwlock_unlock(&table->lock);
    if (*kernel) {
        return INGOT_OK;
    }
    pthread_rwlock_wrlock(&table->lock);
    ingot_status status = INGOT_OK;
    *kernel = find(table, hash, library, launch);
    if (!*kernel) {
        status = make_kernel(ops, library, launch, kernel, error);
    }
    if (!status && !find(table, hash, library, launch) &&
        !insert(table, hash, library, launch, *kernel)) {
        status = ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for kernel %s", launch->kernel);
    }
    pthread_rwlock_unlock(&table->lock);
    return status;
}

ingot_status igo_pipelines_open(struct igo_pipelines *pipelines, struct ig_error *error) {
    pipelines->libraries =
        calloc(igo_archive_count ? igo_archive_count : 1, sizeof(ingot_library *));
    if (!pipelines->libraries) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the kernel library");
    }
    pthread_rwlock_init(&pipelines->lock, NULL);
    ig_fork_guard_rwlock(&pipelines->fork, &pipelines->lock);
    return INGOT_OK;
}

void igo_pipelines_close(struct igo_pipelines *pipelines) {
    for (size_t i = 0; i < pipelines->capacity; i++) {
        if (pipelines->slots[i]) {
            ingot_kernel_release(pipelines->slots[i]->kernel);
        }
        free(pipelines->slots[i]);
    }
    for (size_t i = 0; pipelines->libraries && i < igo_archive_count; i++) {
        ingot_library_release(pipelines->libraries[i]);
    }
    if (pipelines->libraries) {
        ig_fork_remove(&pipelines->fork);
        pthread_rwlock_destroy(&pipelines->lock);
    }
    free(pipelines->slots);
    free(pipelines->libraries);
    *pipelines = (struct igo_pipelines){0};
}
