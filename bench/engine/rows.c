/* Sizes, data and launches of the rows. */
#include "rows.h"

#include <stdlib.h>
#include <string.h>

enum { LARGE = 16 << 20, IN_CACHE = 64 << 10, ROWS = 2048, COLUMNS = 4096, STARTS = 1 << 20 };
enum { MATVEC = 4096, MATMUL = 1024 };

static uint32_t next_random(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static bool add_buffer(struct bench_row *row, size_t bytes) {
    void *data = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!data) {
        return false;
    }
    memset(data, 0, bytes);
    row->buffers[row->buffer_count++] = (struct bench_buffer){data, bytes};
    return true;
}

static bool add_floats(struct bench_row *row, size_t count, float scale) {
    if (!add_buffer(row, 4 * count)) {
        return false;
    }
    float *data = row->buffers[row->buffer_count - 1].data;
    uint32_t state = 12345u + (uint32_t)row->buffer_count;
    for (size_t i = 0; i < count; i++) {
        data[i] = ((float)(next_random(&state) >> 8) * 0x1p-23f - 1.0f) * scale;
    }
    return true;
}

static void launch(struct bench_row *row, uint32_t groups, uint32_t group, size_t items) {
    uint32_t metal[] = {groups, 1, 1}, threads[] = {group, 1, 1}, global[] = {groups * group, 1, 1};
    memcpy(row->groups, metal, sizeof metal);
    memcpy(row->group, threads, sizeof threads);
    memcpy(row->cl_global, global, sizeof global);
    memcpy(row->cl_local, threads, sizeof threads);
    row->items = items;
}

static bool make_saxpy(struct bench_row *row, uint32_t n) {
    row->kernel = "saxpy";
    row->plain = plain_saxpy;
    row->output = 1;
    row->scalars[row->scalar_count++].f = 1e-3f;
    row->bytes = 12.0 * n;
    row->work = n;
    row->unit = "elements";
    launch(row, n / 1024, 1024, n);
    return add_floats(row, n, 1.0f) && add_floats(row, n, 1.0f);
}

static bool make_rms_norm(struct bench_row *row) {
    row->kernel = "rms_norm";
    row->plain = plain_rms_norm;
    row->output = 2;
    row->scalars[row->scalar_count++].u = COLUMNS;
    row->scalars[row->scalar_count++].f = 1e-5f;
    row->work = (double)ROWS * COLUMNS;
    row->bytes = 8 * row->work;
    row->unit = "elements";
    launch(row, ROWS, 1024, ROWS);
    return add_floats(row, (size_t)ROWS * COLUMNS, 1.0f) && add_floats(row, COLUMNS, 1.0f) &&
           add_buffer(row, (size_t)ROWS * COLUMNS * 4);
}

static bool make_softmax(struct bench_row *row) {
    row->kernel = "softmax";
    row->plain = plain_softmax;
    row->output = 1;
    row->scalars[row->scalar_count++].u = COLUMNS;
    row->work = (double)ROWS * COLUMNS;
    row->bytes = 8 * row->work;
    row->unit = "elements";
    launch(row, ROWS, 1024, ROWS);
    return add_floats(row, (size_t)ROWS * COLUMNS, 4.0f) &&
           add_buffer(row, (size_t)ROWS * COLUMNS * 4);
}

static bool make_collatz(struct bench_row *row) {
    row->kernel = "collatz";
    row->plain = plain_collatz;
    row->output = 1;
    row->integers = true;
    row->work = STARTS;
    row->bytes = 8.0 * STARTS;
    row->unit = "elements";
    launch(row, STARTS / 256, 256, STARTS);
    if (!add_buffer(row, 4ul * STARTS) || !add_buffer(row, 4ul * STARTS)) {
        return false;
    }
    uint32_t *start = row->buffers[0].data;
    for (uint32_t i = 0; i < STARTS; i++) {
        start[i] = i + 1;
    }
    return true;
}

static bool make_matvec(struct bench_row *row) {
    row->kernel = "matvec_q4";
    row->plain = plain_matvec_q4;
    row->output = 4;
    row->scalars[row->scalar_count++].u = MATVEC;
    row->work = (double)MATVEC * MATVEC;
    row->bytes = row->work / 2 + row->work / 64 * 8;
    row->unit = "weights";
    launch(row, MATVEC / 2, 64, MATVEC);
    if (!add_buffer(row, (size_t)MATVEC * MATVEC / 2)) {
        return false;
    }
    uint32_t *words = row->buffers[0].data, state = 1;
    for (size_t i = 0; i < (size_t)MATVEC * MATVEC / 8; i++) {
        words[i] = next_random(&state);
    }
    return add_floats(row, (size_t)MATVEC * MATVEC / 64, 0.1f) &&
           add_floats(row, (size_t)MATVEC * MATVEC / 64, 0.1f) && add_floats(row, MATVEC, 1.0f) &&
           add_buffer(row, 4ul * MATVEC);
}

static bool make_matmul(struct bench_row *row) {
    row->kernel = "matmul";
    row->plain = plain_matmul;
    row->output = 2;
    row->scalars[row->scalar_count++].u = MATMUL;
    row->work = 2.0 * MATMUL * MATMUL * MATMUL;
    row->bytes = 12.0 * MATMUL * MATMUL;
    row->unit = "flop";
    launch(row, MATMUL / 64, 128, MATMUL);
    row->groups[1] = MATMUL / 64;
    uint32_t global[] = {MATMUL / 4, MATMUL / 4, 1}, local[] = {16, 16, 1};
    memcpy(row->cl_global, global, sizeof global);
    memcpy(row->cl_local, local, sizeof local);
    size_t count = (size_t)MATMUL * MATMUL;
    return add_floats(row, count, 1.0f) && add_floats(row, count, 1.0f) &&
           add_buffer(row, 4 * count);
}

const char *bench_row_name(unsigned index) {
    static const char *const names[BENCH_ROWS] = {
        "saxpy, 16 M",        "saxpy, in cache",   "RMSNorm 2048x4096", "softmax 2048x4096",
        "Collatz, divergent", "4-bit matvec 4096", "matmul 1024, f32"};
    return index < BENCH_ROWS ? names[index] : "";
}

bool bench_row_make(unsigned index, struct bench_row *row) {
    *row = (struct bench_row){.name = bench_row_name(index), .tolerance = 2e-4};
    bool good = false;
    switch (index) {
    case 0:
        good = make_saxpy(row, LARGE);
        break;
    case 1:
        good = make_saxpy(row, IN_CACHE);
        break;
    case 2:
        good = make_rms_norm(row);
        break;
    case 3:
        good = make_softmax(row);
        break;
    case 4:
        good = make_collatz(row);
        break;
    case 5:
        good = make_matvec(row);
        break;
    case 6:
        good = make_matmul(row);
        break;
    }
    if (!good) {
        bench_row_free(row);
    }
    return good;
}

void bench_row_free(struct bench_row *row) {
    for (size_t i = 0; i < row->buffer_count; i++) {
        free(row->buffers[i].data);
    }
    row->buffer_count = 0;
}
