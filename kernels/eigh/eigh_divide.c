/* eigh of larger matrices on GPUs: the launches that divide.h describes. */
#include "eigh/eigh.h"
#include "triangular/reflectors.h"

enum { STEP_GROUPS = 128, STEP_ROWS = 8 };

struct divided {
    struct igo_call *call;
    struct eigh_args args;
    struct eigh_divide_args divide;
    ingot_buffer *state, *work, *reflections, *products, *joint, *vectors[2], *leaves, *t, *taken;
    bool quick;
};

static uint32_t divide_up(uint32_t x, uint32_t by) {
    return (x + by - 1) / by;
}

static struct igo_launch launch_of(const char *kernel, uint32_t x, uint32_t y, uint32_t z,
                                   uint32_t threads) {
    return (struct igo_launch){.library = &igo_library_eigh,
                               .kernel = kernel,
                               .group = {threads, 1, 1},
                               .threadgroups = {x, y, z},
                               .whole_simdgroups = true};
}

static void dispatch(struct divided *d, struct igo_launch *launch, ingot_buffer *const *buffers,
                     size_t count, bool args, bool divide) {
    for (size_t i = 0; i < count; i++) {
        igo_launch_buffer(launch, buffers[i], 0);
    }
    if (args) {
        igo_launch_bytes(launch, &d->args, sizeof d->args);
    }
    if (divide) {
        igo_launch_bytes(launch, &d->divide, sizeof d->divide);
    }
    igo_dispatch(d->call, launch);
}

#define BUFFERS(...)                                                                               \
    (ingot_buffer *const[]){__VA_ARGS__},                                                          \
        sizeof((ingot_buffer *const[]){__VA_ARGS__}) / sizeof(ingot_buffer *)

static void reduce(struct divided *d, const ingot_tensor *a) {
    const uint32_t n = d->args.n, count = d->args.count;
    struct igo_launch measure = launch_of("eigh_measure", count, 1, 1, 1024);
    igo_launch_tensor(&measure, a, NULL);
    dispatch(d, &measure, BUFFERS(d->state), true, false);
    struct igo_launch fill = launch_of("eigh_fill", d->args.ld, count, 1, 32);
    igo_launch_tensor(&fill, a, NULL);
    dispatch(d, &fill, BUFFERS(d->state, d->work, d->reflections), true, false);
    for (uint32_t k = 0; k < n && !d->call->failed; k++) {
        d->args.step = k;
        const uint32_t rows = n - k - 1, most = divide_up(rows, STEP_ROWS);
        const uint32_t groups =
            most < STEP_GROUPS ? most : divide_up(rows, STEP_ROWS * divide_up(most, STEP_GROUPS));
        struct igo_launch step = launch_of("eigh_step", groups ? groups : 1, count, 1, 256);
        step.threadgroup_lengths[0] = 2 * d->args.ld * (uint32_t)sizeof(float);
        step.threadgroup_length_count = 1;
        dispatch(d, &step, BUFFERS(d->state, d->work, d->reflections, d->products), true, false);
    }
}

/* Joins neighbours at one level. */
static void join(struct divided *d, uint32_t level) {
    const uint32_t count = d->args.count, nodes = 1u << (d->divide.levels - level);
    d->divide.level = level;
    const uint32_t size = divide_up(d->args.n, nodes) + 1, simds = 8;
    struct igo_launch begin = launch_of("eigh_join", nodes, count, 1, 256);
    dispatch(d, &begin, BUFFERS(d->state, d->joint, d->vectors[0]), true, true);
    static const char *const kernels[] = {"eigh_roots", "eigh_weights"};
    for (size_t i = 0; i < 2; i++) {
        struct igo_launch step =
            launch_of(kernels[i], divide_up(size, simds), nodes, count, 32 * simds);
        dispatch(d, &step, BUFFERS(d->joint), false, true);
    }
    struct igo_launch mix = launch_of("eigh_mix", divide_up(size, simds), nodes, count, 32 * simds);
    dispatch(d, &mix, BUFFERS(d->joint, d->work), false, true);
    const bool wide = size >= 1024;
    const uint32_t tile = wide ? 128 : 64;
    struct igo_launch multiply =
        launch_of(wide ? "eigh_multiply_128" : "eigh_multiply_64", 2 * nodes * count,
                  divide_up(size / 2 + 1, tile), divide_up(size, tile), PRODUCT_THREADS);
    dispatch(d, &multiply, BUFFERS(d->work, d->vectors[0], d->vectors[1]), false, true);
    ingot_buffer *const next = d->vectors[1];
    d->vectors[1] = d->vectors[0];
    d->vectors[0] = next;
    d->divide.turn ^= 1;
}

/* The reflections, last first, applied to the eigenvectors of the tridiagonal matrix. */
static void reflect(struct divided *d) {
    const int64_t ld = d->args.ld, n = d->args.n, block = IGO_REFLECTORS;
    const uint32_t count = d->args.count, blocks = (uint32_t)(ld / block);
    const struct igo_reflectors triangles = {
        .v = {.memory = {.buffer = d->reflections}, .row = 1, .column = ld, .matrix = block * ld},
        .rows = (uint32_t)n,
        .width = (uint32_t)block,
        .taus = d->state,
        .t = d->t,
        .first_tau = 8 + 2 * (uint64_t)ld,
        .tau_matrix = 8 + 5 * (uint64_t)ld,
        .t_matrix = (uint64_t)(blocks * block * block),
        .blocks = blocks,
        .batch = count};
    igo_reflector_triangles(d->call, &triangles, d->taken);
    for (uint32_t b = blocks; b-- > 0 && !d->call->failed;) {
        const int64_t first = b * block, width = n - 1 - first < block ? n - 1 - first : block;
        if (width <= 0) {
            continue;
        }
        const struct igo_reflection r = {.v = {.memory = {.buffer = d->reflections},
                                               .first = first * ld + first,
                                               .row = 1,
                                               .column = ld,
                                               .matrix = ld * ld},
                                         .target = {.memory = {.buffer = d->vectors[0]},
                                                    .first = first,
                                                    .row = 1,
                                                    .column = ld,
                                                    .matrix = ld * ld},
                                         .t = d->t,
                                         .first_t = (uint64_t)(b * block * block),
                                         .t_matrix = (uint64_t)(blocks * block * block),
                                         .rows = (uint32_t)(n - first),
                                         .width = (uint32_t)width,
                                         .columns = (uint32_t)n,
                                         .batch = count};
        igo_reflect(d->call, &r, d->taken);
    }
}

/* Parts of k are fewer, the larger the batch, so that neither end of it bounds the other. */
static uint64_t taken_floats(const struct igo_call *call, uint32_t n, uint32_t most) {
    uint64_t floats = 0;
    for (uint32_t batch = 1;; batch = 2 * batch < most ? 2 * batch : most) {
        const struct igo_reflection r = {
            .rows = n, .width = IGO_REFLECTORS, .columns = n, .batch = batch};
        const struct igo_reflectors t = {.rows = n,
                                         .width = IGO_REFLECTORS,
                                         .blocks = divide_up(n, IGO_REFLECTORS),
                                         .batch = batch};
        const uint64_t one = 2 * igo_reflect_floats(call, &r),
                       other = 2 * igo_reflector_floats(call, &t);
        floats = one > floats ? one : floats;
        floats = other > floats ? other : floats;
        if (batch == most) {
            return floats;
        }
    }
}

static void decompose(struct divided *d, const ingot_tensor *a, const ingot_tensor *values,
                      const ingot_tensor *vectors) {
    const uint32_t n = d->args.n, count = d->args.count;
    reduce(d, a);
    d->divide.turn = 0;
    struct igo_launch leaf =
        launch_of(d->quick ? "eigh_leaf_quick" : "eigh_leaf", 1u << d->divide.levels, count, 1, 32);
    dispatch(d, &leaf, BUFFERS(d->state, d->joint, d->vectors[0], d->leaves), true, true);
    for (uint32_t level = 1; level <= d->divide.levels && !d->call->failed; level++) {
        join(d, level);
    }
    reflect(d);
    struct igo_launch output =
        launch_of("eigh_output", divide_up(n, 32), divide_up(n, 32), count, 256);
    igo_launch_buffer(&output, d->state, 0);
    igo_launch_buffer(&output, d->joint, 0);
    igo_launch_buffer(&output, d->vectors[0], 0);
    igo_launch_tensor(&output, values, NULL);
    igo_launch_tensor(&output, vectors, NULL);
    dispatch(d, &output, NULL, 0, true, true);
}

bool eigh_divide(struct igo_call *call, const struct eigh_plan *plan) {
    const uint64_t n = plan->args.n, ld = (n + 63) / 64 * 64, square = ld * ld;
    struct divided d = {.call = call, .args = plan->args, .quick = plan->quick};
    d.args.ld = (uint32_t)ld;
    d.divide.n = (uint32_t)n;
    d.divide.ld = (uint32_t)ld;
    while (divide_up((uint32_t)n, 1u << d.divide.levels) > EIGH_LEAF) {
        d.divide.levels++;
    }
    if (2 * ld * sizeof(float) > igo_threadgroup_memory(call)) {
        return false;
    }
    const uint64_t sizes[] = {8 + 5 * ld,
                              square,
                              square,
                              2 * ld,
                              EIGH_JOINT_ARRAYS * ld,
                              square,
                              square,
                              (uint64_t)EIGH_LEAF_FLOATS << d.divide.levels,
                              ld * IGO_REFLECTORS};
    uint64_t each = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        each += 4 * sizes[i];
    }
    uint64_t most = 4 * igo_batch_scratch_bytes(call) / each;
    most = most < 1 ? 1 : most < plan->count ? most : plan->count;
    ingot_buffer **const buffers[] = {&d.state,      &d.work,   &d.reflections,
                                      &d.products,   &d.joint,  &d.vectors[0],
                                      &d.vectors[1], &d.leaves, &d.t};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        *buffers[i] = igo_scratch(call, 4 * most * sizes[i]);
    }
    d.taken = igo_scratch(call, 4 * taken_floats(call, (uint32_t)n, (uint32_t)most));
    for (uint64_t at = 0; at < plan->count && !call->failed; at += most) {
        d.args.count = (uint32_t)(plan->count - at < most ? plan->count - at : most);
        const ingot_tensor a = eigh_part(&plan->a, at, n * n),
                           values = eigh_part(&plan->values, at, n),
                           vectors = eigh_part(&plan->vectors, at, n * n);
        decompose(&d, &a, &values, &vectors);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (*buffers[i]) {
            igo_scratch_release(call, *buffers[i]);
        }
    }
    if (d.taken) {
        igo_scratch_release(call, d.taken);
    }
    return true;
}
