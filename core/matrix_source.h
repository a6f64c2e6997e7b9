// SPDX-License-Identifier: Apache-2.0
//
// A matrix that is never stored whole: rows, columns, symmetry and a function that fills any block
// of it in fp64. Physics (covariances, response rows) and files provide sources; precision and
// solvers read panels from them.
#ifndef BB_CORE_MATRIX_SOURCE_H
#define BB_CORE_MATRIX_SOURCE_H

#include "core/array.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bb_matrix_source bb_matrix_source;
struct bb_device;
struct bb_device_source;

/// Fills `out` ([rows][columns], F64, any row stride, column stride 1) with the block whose first
/// entry is (row, column). Must be safe to call from several threads at once, and an entry must not
/// depend on the requested block.
typedef bb_status (*bb_matrix_fill)(const bb_matrix_source *source, bb_index row, bb_index column,
                                    bb_view out);

/// Creates the source's device version; see core/device/device_source.h.
typedef bb_status (*bb_matrix_twin)(const bb_matrix_source *source, struct bb_device *device,
                                    struct bb_device_source **out);

struct bb_matrix_source {
    bb_index rows;
    bb_index columns;
    bool symmetric;
    const char *name; ///< for messages and dumps: "Cmm", "C_x"
    const char *unit; ///< unit of an entry
    bb_matrix_fill fill;
    bb_matrix_twin twin; ///< NULL: blocks are filled on the host and copied to the device
    const void *context; ///< borrowed from the provider of the source
};

/// Fills a block after checking that it lies inside the matrix. Errors: BB_INVALID, or the fill's.
BB_CHECKED bb_status bb_matrix_source_fill(const bb_matrix_source *source, bb_index row,
                                           bb_index column, bb_view out);

/// Checks that a block of `out`'s shape at (row, column) lies inside a matrix. Errors: BB_INVALID.
BB_CHECKED bb_status bb_matrix_source_block_check(const char *name, bb_index rows, bb_index columns,
                                                  bb_index row, bb_index column,
                                                  const bb_view *out);

/// Loads the whole matrix into `out` [rows][columns], panels of rows over the threads. Errors: the
/// fill's.
BB_CHECKED bb_status bb_matrix_source_load(const bb_matrix_source *source, double *out);

/// Reads the diagonal [rows] of a square source. Errors: BB_INVALID, the fill's.
BB_CHECKED bb_status bb_matrix_source_diagonal(const bb_matrix_source *source, double *out);

/// Returns a source that reads a row-major dense matrix in memory, which must outlive it.
bb_matrix_source bb_matrix_source_dense(const bb_view *matrix, const char *name, const char *unit);

/// Returns a source of a matrix [rows][columns] with ones on the main diagonal; a device fills its
/// own blocks.
bb_matrix_source bb_matrix_source_identity(bb_index rows, bb_index columns);

#ifdef __cplusplus
}
#endif

#endif
