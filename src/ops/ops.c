/* The object behind ingot_ops, and the list of operations. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/file.h"
#include "ops/ops.h"
#include "runtime/objects.h"

enum { MAX_POLICY = 4 << 20 };

static ingot_status add_policy_file(struct igo_policy *policy, const char *path,
                                    struct ig_error *error) {
    char *text = NULL;
    size_t size;
    ingot_status status = ig_file_read(path, MAX_POLICY, &text, &size, error);
    if (!status && strlen(text) != size) {
        status =
            ig_fail(error, INGOT_INVALID_ARGUMENT, "%s holds a zero byte: it is no policy", path);
    }
    if (!status) {
        status = igo_policy_add(policy, path, text, error);
    }
    free(text);
    return status;
}

/* The user's own file, malloc'ed; NULL when there is none. One that INGOT_POLICY names must
 * exist. */
static char *user_policy(void) {
    char *path = ig_policy_path();
    if (path && !ig_environment("INGOT_POLICY") && access(path, R_OK)) {
        free(path);
        return NULL;
    }
    return path;
}

static ingot_status load_policies(ingot_ops *ops, const ingot_ops_desc *desc,
                                  struct ig_error *error) {
    ingot_status status = igo_policy_add(&ops->policy, "default policy", igo_default_policy, error);
    char *path = NULL;
    if (!status && desc->policy_path) {
        path = *desc->policy_path ? strdup(desc->policy_path) : NULL;
    } else if (!status) {
        path = user_policy();
    }
    if (path) {
        status = add_policy_file(&ops->policy, path, error);
    }
    free(path);
    if (!status && desc->policy_text) {
        status = igo_policy_add(&ops->policy, "policy", desc->policy_text, error);
    }
    return status;
}

enum { NOTHING_BYTES = 256 }; /* more than any argument's type */

static void destroy(ingot_ops *ops) {
    igo_pipelines_close(&ops->pipelines);
    ingot_buffer_release(ops->nothing);
    igo_scratch_pool_close(&ops->scratch);
    igo_tables_close(&ops->tables);
    igo_policy_free(&ops->policy);
    for (size_t i = 0; i < ops->choice_capacity; i++) {
        free(ops->choices[i]);
    }
    free(ops->choices);
    ig_fork_remove(&ops->choices_fork);
    pthread_rwlock_destroy(&ops->choices_lock);
    ingot_device_release(ops->device);
    free(ops);
}

ingot_status ingot_ops_create(ingot_device *device, const ingot_ops_desc *desc,
                              ingot_ops **result) {
    const ingot_ops_desc defaults = INGOT_OPS_DESC_INIT;
    if (!device || !result) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_ops_create: %s is NULL",
                           device ? "ops" : "device");
    }
    *result = NULL;
    ingot_ops *ops = calloc(1, sizeof *ops);
    if (!ops) {
        return ig_api_fail(INGOT_OUT_OF_MEMORY, "no memory for the operations' object");
    }
    struct ig_error error = {0};
    atomic_init(&ops->references, 1);
    pthread_rwlock_init(&ops->choices_lock, NULL);
    ig_fork_guard_rwlock(&ops->choices_fork, &ops->choices_lock);
    igo_scratch_pool_open(&ops->scratch);
    igo_tables_open(&ops->tables);
    ops->device = device;
    ops->scratch_from = desc ? desc->scratch : NULL;
    ops->scratch_context = desc ? desc->scratch_context : NULL;
    ingot_device_retain(device);
    ingot_device_get_info(device, &ops->info);
    ingot_status status = igo_pipelines_open(&ops->pipelines, &error);
    if (!status) {
        status = load_policies(ops, desc ? desc : &defaults, &error);
    }
    if (status) {
        destroy(ops);
        return ig_api_result(&error);
    }
    if (!ops->info.unified_memory) {
        status = ingot_buffer_create(device, NOTHING_BYTES, &ops->nothing);
        if (status) {
            destroy(ops);
            return status;
        }
    }
    *result = ops;
    return INGOT_OK;
}

void ingot_ops_retain(ingot_ops *ops) {
    if (ops) {
        ig_retain(&ops->references);
    }
}

void ingot_ops_release(ingot_ops *ops) {
    if (ops && ig_release(&ops->references)) {
        destroy(ops);
    }
}

ingot_device *ingot_ops_device(const ingot_ops *ops) {
    return ops ? ops->device : NULL;
}

size_t ingot_ops_count(void) {
    size_t count = 0;
    for (size_t i = 0; i < igo_archive_count; i++) {
        count += igo_archives[i].library->operation_count;
    }
    return count;
}

ingot_status ingot_ops_describe(size_t index, ingot_ops_info *info) {
    size_t at = index;
    if (!info) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_ops_describe: info is NULL");
    }
    for (size_t i = 0; i < igo_archive_count; i++) {
        const struct igo_library *library = igo_archives[i].library;
        if (at < library->operation_count) {
            *info = library->operations[at];
            return INGOT_OK;
        }
        at -= library->operation_count;
    }
    return ig_api_fail(INGOT_NOT_FOUND, "ingot_ops_describe: index %zu of %zu operations", index,
                       ingot_ops_count());
}

const struct ingot_ops_info *igo_operation_find(const char *name, size_t length) {
    for (size_t i = 0; i < igo_archive_count; i++) {
        const struct igo_library *library = igo_archives[i].library;
        for (size_t k = 0; k < library->operation_count; k++) {
            if (strlen(library->operations[k].name) == length &&
                !strncmp(library->operations[k].name, name, length)) {
                return &library->operations[k];
            }
        }
    }
    return NULL;
}
