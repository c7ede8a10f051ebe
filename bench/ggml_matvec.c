/*
 * The time of ggml's q4_0 matrix-vector product, for the notes of bench/torch_compare.py --ggml.
 *
 *     ggml_matvec ROWS COLUMNS THREADS SECONDS
 *
 * prints the seconds of the fastest call; the matrices rotate past the caches. Not part of the
 * build: with ggml (of llama.cpp) built statically in GGML/build,
 *
 *     cc -O2 -IGGML/include bench/ggml_matvec.c GGML/build/src/libggml{,-cpu,-base}.a \
 *         -lstdc++ -fopenmp -lpthread -ldl -lm -o ggml_matvec
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ggml-cpu.h"
#include "ggml.h"

enum { MATRICES = 6 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct ggml_cgraph *product(struct ggml_context *context, int64_t rows, int64_t columns) {
    struct ggml_tensor *w = ggml_new_tensor_2d(context, GGML_TYPE_Q4_0, columns, rows);
    struct ggml_tensor *x = ggml_new_tensor_2d(context, GGML_TYPE_F32, columns, 1);
    float *line = x->data;
    for (int64_t row = 0; row <= rows; row++) {
        for (int64_t i = 0; i < columns; i++) {
            line[i] = (float)(rand() % 2000 - 1000) / 1000;
        }
        if (row < rows) {
            ggml_quantize_chunk(GGML_TYPE_Q4_0, line, (char *)w->data + (size_t)row * w->nb[1], 0,
                                1, columns, NULL);
        }
    }
    struct ggml_cgraph *graph = ggml_new_graph_custom(context, 16, false);
    ggml_build_forward_expand(graph, ggml_mul_mat(context, w, x));
    return graph;
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: ggml_matvec ROWS COLUMNS THREADS SECONDS\n");
        return 2;
    }
    const int64_t rows = atoll(argv[1]), columns = atoll(argv[2]);
    const int threads = atoi(argv[3]);
    ggml_cpu_init();
    struct ggml_context *context = ggml_init(
        (struct ggml_init_params){.mem_size = MATRICES * (size_t)(rows * columns + (1 << 24))});
    if (!context) {
        fprintf(stderr, "ggml_matvec: no memory for %d matrices of %lld by %lld\n", MATRICES,
                (long long)rows, (long long)columns);
        return 1;
    }
    struct ggml_cgraph *graphs[MATRICES];
    for (int i = 0; i < MATRICES; i++) {
        graphs[i] = product(context, rows, columns);
    }
    struct ggml_threadpool_params parameters = ggml_threadpool_params_default(threads);
    struct ggml_cplan plan = ggml_graph_plan(graphs[0], threads, ggml_threadpool_new(&parameters));
    plan.work_data = malloc(plan.work_size + 64);
    double best = 1e30, end = now() + atof(argv[4]);
    for (int i = 0; i < MATRICES || now() < end; i++) {
        const double start = now();
        ggml_graph_compute(graphs[i % MATRICES], &plan);
        const double took = now() - start;
        best = took < best ? took : best;
    }
    printf("%.9f\n", best);
    return 0;
}
