/* The rows of bench/engine: sizes and data. */
#ifndef INGOT_BENCH_ROWS_H
#define INGOT_BENCH_ROWS_H

#include "plain.h"

enum { BENCH_ROWS = 7 };

/* Allocates and fills; false when memory is short. */
bool bench_row_make(unsigned index, struct bench_row *row);
void bench_row_free(struct bench_row *row);
const char *bench_row_name(unsigned index);

#endif
