/* The inside of src/ops: the object behind ingot_ops, its kernels and its policy. */
#ifndef INGOT_OPS_INTERNAL_H
#define INGOT_OPS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "ops/call.h"
#include "runtime/objects.h"

/* ---- made by the build from the folders of kernels/ (registry.c.in) ---------------------- */

struct igo_archive { /* of one folder */
    const struct igo_library *library;
    const unsigned char *bytes; /* an .ingot archive in the library's own memory */
    const unsigned char *end;
};
extern const struct igo_archive igo_archives[];
extern const size_t igo_archive_count;
extern const char igo_default_policy[]; /* all kernels/NAME/NAME.policy, one after the other */

const struct ingot_ops_info *igo_operation_find(const char *name, size_t length);

/* ---- tensor.c ------------------------------------------------------------------------------- */

bool igo_is_dense_tail(const ingot_tensor *tensor, uint32_t dims);
bool igo_span(const ingot_tensor *tensor, uint64_t *first, uint64_t *end);

/* ---- policy.c ------------------------------------------------------------------------------- */

struct igo_rule {       /* one line of a policy */
    const char *device; /* "cpu", "cpu:x86-64-v4", "*" */
    const struct ingot_ops_info *operation;
    const char *pattern; /* type and class, "bf16/row<=4096" */
    uint32_t set;        /* bit per knob */
    uint32_t values[IGO_MAX_KNOBS];
};

struct igo_policy {
    struct igo_rule *rules; /* later ones win */
    size_t count, capacity;
    struct ig_arena arena;
};

/* Adds the rules of `text`; `name` is what messages call it. Nothing is added on failure. */
ingot_status igo_policy_add(struct igo_policy *policy, const char *name, const char *text,
                            struct ig_error *error);
void igo_policy_free(struct igo_policy *policy);
/* What a rule's device is compared with. */
struct igo_policy_device {
    const struct ig_device_kind *kind;
    const char *target;
};
/* values[] gets the fallbacks, then what the rules say. `subject` is "type/class". */
void igo_policy_resolve(const struct igo_policy *policy, const struct igo_policy_device *device,
                        const struct ingot_ops_info *operation, const char *subject,
                        uint32_t *values);
/* Does "bf16/row4096" match "bf16/row<=8192"? Exposed for tests. */
bool igo_policy_matches(const char *pattern, const char *subject);

/* ---- pipelines.c: kernels by name and constants --------------------------------------------- */

struct igo_pipeline;
struct igo_pipelines {
    pthread_rwlock_t lock;
    struct ig_fork_hook fork;
    struct igo_pipeline **slots; /* open addressing */
    size_t capacity, count;
    ingot_library **libraries; /* by archive, made on first use */
};
ingot_status igo_pipelines_open(struct igo_pipelines *pipelines, struct ig_error *error);
void igo_pipelines_close(struct igo_pipelines *pipelines);
/* The kernel belongs to the table. */
ingot_status igo_pipeline_get(ingot_ops *ops, const struct igo_library *library,
                              const struct igo_launch *launch, ingot_kernel **kernel,
                              struct ig_error *error);

/* ---- scratch.c --------------------------------------------------------------------------------
 */

struct igo_scratch_pool {
    pthread_mutex_t lock;
    struct ig_fork_hook fork;
    ingot_buffer *buffers[32];
    const void *orders[32]; /* of the streams that used them last */
    size_t count;
    uint64_t bytes;
};
void igo_scratch_pool_open(struct igo_scratch_pool *pool);
void igo_scratch_pool_close(struct igo_scratch_pool *pool);

/* ---- tables.c ---------------------------------------------------------------------------------
 */

enum { IGO_MET_TABLES = 16 };
struct igo_tables {
    pthread_mutex_t lock;
    struct ig_fork_hook fork;
    struct igo_kept_table *kept;
    size_t count;
    uint64_t uses;
    uint64_t met[IGO_MET_TABLES]; /* the last ones, by their hashes */
    size_t met_count;
};
void igo_tables_open(struct igo_tables *tables);
void igo_tables_close(struct igo_tables *tables);

/* ---- resolved policies, by operation and subject -----------------------------------------------
 */

struct igo_choice {
    const struct ingot_ops_info *operation;
    char subject[64];
    uint32_t knobs[IGO_MAX_KNOBS];
    char key[IGO_KEY_SIZE];
};

struct ingot_ops {
    atomic_uint references;
    ingot_device *device;
    ingot_device_info info;
    struct igo_policy policy;
    struct igo_pipelines pipelines;
    struct igo_scratch_pool scratch;
    struct igo_tables tables;
    ingot_buffer *nothing; /* bound for absent tensors; NULL where memory is unified */
    void *(*scratch_from)(void *context, uint64_t bytes); /* instead of the pool; or NULL */
    void *scratch_context;
    pthread_rwlock_t choices_lock;
    struct ig_fork_hook choices_fork;
    struct igo_choice **choices; /* open addressing */
    size_t choice_capacity, choice_count;
};

#endif
