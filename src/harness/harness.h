/*
 * The harness: one table of cases per operation drives correctness, determinism, gradients,
 * benchmarks, tuning and health, on every device. Uses the public API and base only.
 *
 * A suite (kernels/NAME/NAME_cases.c) says how a case's tensors look, how the operation is
 * called, what the result is in double precision and how far from it the operation may be.
 * Tensors of a case are numbered slots, declared in `declare`.
 */
#ifndef INGOT_HARNESS_H
#define INGOT_HARNESS_H

#include "base/error.h"
#include "base/text.h"
#include "ingot/ops.h"

#define IGH_TYPE(scalar) (1u << (scalar))
#define IGH_FLOATS                                                                                 \
    (IGH_TYPE(INGOT_SCALAR_F32) | IGH_TYPE(INGOT_SCALAR_F16) | IGH_TYPE(INGOT_SCALAR_BF16))
#define IGH_F32_BF16 (IGH_TYPE(INGOT_SCALAR_F32) | IGH_TYPE(INGOT_SCALAR_BF16))

enum { IGH_MAX_SLOTS = 16, IGH_MAX_METRICS = 24 };

/* What a case is for. */
enum {
    IGH_CHECK = 1,    /* compared with the reference */
    IGH_BENCH = 2,    /* a row of `ingot bench` (and of the comparison with other libraries) */
    IGH_TUNE = 4,     /* a point that `ingot tune` sweeps */
    IGH_SPECIALS = 8, /* also run with NaN and infinities among the inputs */
    IGH_SLOW = 16,    /* left out unless all cases are asked for */
    IGH_LARGE = 32,   /* a row of `ingot bench --large`, of a size for GPUs */
};

/* What most cases of a size that is worth measuring are for. */
#define IGH_ALL (IGH_CHECK | IGH_BENCH | IGH_TUNE)

struct igh_case {
    const char *name; /* "32x4096 causal": unique in the suite */
    int64_t n[10];    /* sizes; their meaning is the suite's */
    double f[4];      /* numbers, likewise */
    uint32_t flags;   /* likewise */
    uint32_t uses;    /* IGH_CHECK | …; 0 = IGH_CHECK */
    uint32_t types;   /* bit per type; 0 = all of the suite's */
};

/* A suite's table of cases. */
#define IGH_CASES(table) .cases = table, .case_count = sizeof table / sizeof *table

/* How an input is filled. The same seed and kind give the same values everywhere. */
enum igh_fill_kind {
    IGH_NORMAL,  /* mean a, standard deviation b (0, 0 = 0, 1) */
    IGH_UNIFORM, /* a to b */
    IGH_INTEGER, /* whole numbers, a <= x < b */
    IGH_CONSTANT /* a */
};
struct igh_fill {
    enum igh_fill_kind kind;
    double a, b;
};

struct igh_tensor {
    const char *name;
    ingot_tensor tensor;
    bool input, output; /* both: read and written */
    bool exact;         /* gets no special values */
    bool is_set;        /* by igh_set */
    struct igh_fill fill;
    double *values;         /* of inputs, rounded to their type, in dense row-major order */
    double *expected;       /* of outputs: the reference puts them here, dense row-major */
    ingot_buffer *pristine; /* the inputs' bytes before the run, for read-and-written ones */
    char *host;             /* the buffer's contents, or a copy where the host cannot reach them */
    bool is_sent;           /* the device has the values, and `host` need not */
};

struct igh_metric { /* one thing that was measured against its bound */
    char name[48];
    double value, bound; /* passes when value <= bound; a NaN fails */
};

struct igh_run {
    ingot_ops *ops;
    ingot_device *device;
    ingot_stream *stream;
    const struct igh_suite *suite;
    const struct igh_case *test;
    ingot_scalar_type type;
    bool for_speed; /* no double precision copies are made */
    bool specials;
    uint64_t seed;
    struct igh_tensor slots[IGH_MAX_SLOTS];
    struct igh_metric metrics[IGH_MAX_METRICS];
    size_t metric_count;
    struct ig_error error;
    void *own;                  /* the suite's, freed with free() */
    const struct igh_run *like; /* in runs for speed: the first set, whose inputs are copied */
};

struct igh_bound { /* |got - expected| <= ulps * (ulp of expected in its type) + absolute */
    double ulps;
    double absolute;
};

struct igh_suite {
    const char *operation; /* its name in the registry */
    uint32_t types;
    const struct igh_case *cases;
    size_t case_count;
    /* What n, f and the bits of flags are called in reports, NULL at the end; may be NULL. */
    const char *const *size_names, *const *number_names, *const *flag_names;
    /* Declares the slots with igh_input, igh_output, igh_inout. */
    void (*declare)(struct igh_run *run);
    /* Calls the operation on run->stream. */
    ingot_status (*launch)(struct igh_run *run);
    /* Fills `expected` of the outputs from `values` of the inputs. */
    void (*reference)(struct igh_run *run);
    /* How far the output in `slot` may be from `expected`; NULL = half an ulp and a bit. */
    struct igh_bound (*bound)(const struct igh_run *run, int slot);
    /* Instead of reference and bound, or besides them: adds metrics with igh_metric, from
     * igh_got. */
    void (*verify)(struct igh_run *run);
    /* Bytes that must move and floating-point operations, for bench; NULL = not benched. */
    void (*cost)(const struct igh_run *run, double *bytes, double *flops);

    /* Gradients: `forward` computes the forward result from the inputs' `values` alone, into out
     * (as many elements as slot `upstream`, which holds dL/dout). For each pair the expected
     * values of output `gradient` are compared with central differences of L by input `by`. */
    void (*forward)(const struct igh_run *run, double *out);
    int upstream;
    struct {
        int by, gradient;
    } gradients[8];
    size_t gradient_count;
};

/* One folder's suites; the build makes the list of all. */
struct igh_suites {
    const struct igh_suite *const *suites;
    size_t count;
};
extern const struct igh_suites *const igh_all_suites[];
extern const size_t igh_all_suites_count;

/* ---- for suites ---------------------------------------------------------------------------- */

/* Dense tensors. `slot` is the caller's number for it. */
void igh_input(struct igh_run *run, int slot, const char *name, ingot_scalar_type type,
               uint32_t rank, const int64_t *shape, struct igh_fill fill);
void igh_output(struct igh_run *run, int slot, const char *name, ingot_scalar_type type,
                uint32_t rank, const int64_t *shape);
void igh_inout(struct igh_run *run, int slot, const char *name, ingot_scalar_type type,
               uint32_t rank, const int64_t *shape, struct igh_fill fill);
/* After the declaration: other strides (in elements) and a first element further in. */
void igh_strides(struct igh_run *run, int slot, const int64_t *strides, int64_t first);
/* After the declaration: the slot gets no NaN or infinity when specials are put in. */
void igh_no_specials(struct igh_run *run, int slot);
/* The tensor for a descriptor, or NULL when the slot was not declared in this case. */
const ingot_tensor *igh_tensor(const struct igh_run *run, int slot);
int64_t igh_count(const struct igh_run *run, int slot);
/* Inputs' values, outputs' expected values. */
const double *igh_values(const struct igh_run *run, int slot);
double *igh_expected(const struct igh_run *run, int slot);
/* What the operation put out, as doubles, dense row-major; malloc'ed, NULL when memory is out. */
double *igh_got(const struct igh_run *run, int slot);
/* The bytes of the slot's buffer as the device has them now; NULL when they cannot be had. Lives
 * as long as the run. */
const char *igh_bytes(const struct igh_run *run, int slot);
/* Custom inputs: called from `declare` after igh_input; the values are rounded to the slot's type
 * and stored. Does nothing in runs for speed unless `always`. `values` has igh_count elements. */
void igh_set(struct igh_run *run, int slot, const double *values, bool always);
void igh_metric(struct igh_run *run, const char *name, double value, double bound);
/* A value of the run's own generator, for custom inputs: uniform in [0, 1). */
double igh_random(struct igh_run *run);
/* Distance between neighbouring numbers of the type around x. */
double igh_ulp(ingot_scalar_type type, double x);

/* ---- for tools ------------------------------------------------------------------------------ */

struct igh_result {
    bool passed;
    bool is_empty;     /* one of its tensors has no elements */
    bool has_specials; /* NaN and infinities were tried too */
    char variant[128], launch[128];
    struct igh_metric metrics[IGH_MAX_METRICS]; /* error of each output, determinism, gradients */
    size_t metric_count;
    const struct igh_metric *worst; /* highest value / bound; NULL when there are none */
    char message[1024];             /* why it failed; "" otherwise */
    double seconds;                 /* all of it */
};

/* What the reference of a case gave, and its gradients: where the inputs are the same, another
 * device's run takes it from here. Zero at first. */
struct igh_reference {
    bool is_known;
    uint64_t inputs; /* a hash of their values */
    double *expected[IGH_MAX_SLOTS];
    struct igh_metric gradients[8];
    size_t gradient_count;
    uint64_t bytes;
};
struct igh_references {
    struct igh_reference plain, specials; /* the run without special values and the one with */
};
void igh_references_free(struct igh_references *references);

struct igh_options {
    ingot_ops *ops;
    ingot_stream *stream; /* of the same device */
    uint32_t repeats;     /* runs compared bit by bit; 0 = 3 */
    bool gradients;       /* check the reference's gradients by finite differences too */
    struct igh_references *references; /* of this case, for the next device; NULL: not kept */
};

/* Does the suite's case exist for the type? */
bool igh_case_has_type(const struct igh_suite *suite, const struct igh_case *test,
                       ingot_scalar_type type);
/* Correctness, determinism, specials, gradients of one case. Never fails as a call. */
void igh_check(const struct igh_options *options, const struct igh_suite *suite,
               const struct igh_case *test, ingot_scalar_type type, struct igh_result *result);

/* A run whose tensors are made, to be launched many times (bench, tune). NULL with error set on
 * failure. As many independent sets of tensors are used in turn as make up `rotate_bytes`, so
 * that caches do not flatter. */
struct igh_bench;
struct igh_bench *igh_bench_open(const struct igh_options *options, const struct igh_suite *suite,
                                 const struct igh_case *test, ingot_scalar_type type,
                                 uint64_t rotate_bytes, struct ig_error *error);
void igh_bench_close(struct igh_bench *bench);
/* From now on launches with these operations, of the same device: another policy. */
void igh_bench_use(struct igh_bench *bench, ingot_ops *ops);
/* Tensors and sizes of the first set, for reports. */
const struct igh_run *igh_bench_run(const struct igh_bench *bench);
size_t igh_bench_sets(const struct igh_bench *bench);
/* How many sets it would take to pass `rotate_bytes`. */
size_t igh_bench_sets_for(const struct igh_bench *bench, uint64_t rotate_bytes);
void igh_bench_cost(const struct igh_bench *bench, double *bytes, double *flops);
/* Launches once on the next set of tensors. */
ingot_status igh_bench_launch(struct igh_bench *bench);
/* Seconds per launch of `count` launches in a row, waited for. */
ingot_status igh_bench_time(struct igh_bench *bench, uint32_t count, double *seconds,
                            struct ig_error *error);

struct igh_timing { /* seconds per launch */
    double median, p10, p90, best;
    double processor;           /* the least that a sample took of all this process's threads */
    uint32_t samples, launches; /* samples, and launches in each */
};
/* Warms up, then takes samples for about `seconds`; each sample is a number of launches in a row
 * that takes about a millisecond, waited for. */
ingot_status igh_bench_measure(struct igh_bench *bench, double seconds, struct igh_timing *timing,
                               struct ig_error *error);
/* More than the last-level cache holds: what rotates past it. */
uint64_t igh_rotate_bytes(void);

/* What the device does at best, by kernels that only copy or only multiply and add. */
struct igh_ceilings {
    double bytes_per_second; /* read and written */
    double flops_per_second; /* float32; a multiply-add counts two */
};
ingot_status igh_ceilings_measure(const struct igh_options *options, struct igh_ceilings *ceilings,
                                  struct ig_error *error);
/* The share of the ceiling that limits this work, and which it is; 0 when nothing is counted. */
double igh_ceiling_share(const struct igh_ceilings *ceilings, double bytes, double flops,
                         double seconds, bool *by_bytes);

#endif
