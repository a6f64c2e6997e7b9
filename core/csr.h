// SPDX-License-Identifier: Apache-2.0
//
// Sparse matrix in compressed sparse rows, fp64, and the builder that assembles it from triplets.
#ifndef BB_CORE_CSR_H
#define BB_CORE_CSR_H

#include "core/need.h"
#include "core/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Rows are sorted by column, without repetition. Plain struct; bb_csr_release frees its arrays.
typedef struct bb_csr {
    bb_index rows;
    bb_index columns;
    bb_index *row_start; ///< [rows + 1]
    int32_t *column;     ///< [row_start[rows]]
    double *value;       ///< [row_start[rows]]
} bb_csr;

/// One entry to add; repeated (row, column) pairs are summed in the order given.
typedef struct bb_triplet {
    int32_t row;
    int32_t column;
    double value;
} bb_triplet;

/// A growing list of triplets; zero-initialise, release with bb_triplets_release.
typedef struct bb_triplets {
    bb_triplet *items;
    bb_index count;
    bb_index capacity;
} bb_triplets;

/// Appends an entry. Errors: BB_MEMORY, BB_INVALID (an index below 0 or above 2^31 - 2).
BB_CHECKED bb_status bb_triplets_add(bb_triplets *list, bb_index row, bb_index column,
                                     double value);
void bb_triplets_release(bb_triplets *list);

/// Assembles triplets into rows. Errors: BB_MEMORY, BB_INVALID (an index outside rows x columns, or
/// a dimension over 2^31 - 1). Owner of `*out`: the caller.
BB_CHECKED bb_status bb_csr_assemble(bb_index rows, bb_index columns, const bb_triplets *list,
                                     bb_csr *out);

/// Estimates peak and resident memory of collecting `entries` triplets and assembling them;
/// repeated entries keep their memory.
bb_need bb_csr_assemble_need(double rows, double entries);
bb_need bb_csr_resident(double rows, double entries);

/// y = A x on all threads; x [columns], y [rows], not overlapping. Entry i of a row is added to sum
/// i % 4, the last (count % 4) entries to sum 0, each in column order; the row is (sum 0 + sum 2) +
/// (sum 1 + sum 3). The bits do not depend on the thread count.
BB_CHECKED bb_status bb_csr_multiply(const bb_csr *matrix, const double *x, double *y);

bb_index bb_csr_nonzeros(const bb_csr *matrix);
void bb_csr_release(bb_csr *matrix);

#ifdef __cplusplus
}
#endif

#endif
