// SPDX-License-Identifier: Apache-2.0
//
// `run --dump Y,C` of a product: what every pipeline computed, and the matrix as it holds it,
// decoded where the file is written.
#ifndef BB_SIM_PRODUCT_PRODUCT_DUMP_H
#define BB_SIM_PRODUCT_PRODUCT_DUMP_H

#include "precision/coded_matrix.h"
#include "sim/output/results.h"

typedef struct bb_product_dump bb_product_dump;

/// Readies the operators that `names` asks for; `*out` is NULL where that is none. The results own
/// it and all that it takes. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_product_dump_create(bb_results *results, const char *names,
                                            bb_product_dump **out);

/// Adds /operators/Y_<index> [vectors][rows], a copy of `y`, where it is asked for, in
/// `unit`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_product_dump_y(bb_product_dump *dump, bb_index index, const char *pipeline,
                                       const char *unit, bb_index vectors, bb_index rows,
                                       const double *y);

/// Adds /operators/C_<index> [rows][columns], decoded with row scales undone, where it is asked
/// for, and then takes the matrix: `*matrix` stays valid while the results live, and true is in
/// `*taken`. `axis` is that of its displacements, -1 unknown. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_product_dump_matrix(bb_product_dump *dump, bb_index index,
                                            const char *pipeline, const char *unit, int axis,
                                            bb_coded_matrix *matrix, bool *taken);

/// Bytes that the dump adds to the file.
double bb_product_dump_bytes(const char *names, double pipelines, double rows, double columns,
                             double vectors);

#endif
