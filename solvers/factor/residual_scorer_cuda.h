// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: what the two ways of scoring on a device share.
#ifndef BB_SOLVERS_FACTOR_RESIDUAL_SCORER_CUDA_H
#define BB_SOLVERS_FACTOR_RESIDUAL_SCORER_CUDA_H

#include "core/device/transfer.h"
#include "solvers/factor/residual_scorer.h"
#include "solvers/gpu/dense_library_cuda.h"

/// An estimate that others are held against, in the memory of the device.
struct bb_residual_base {
    const bb_matrix_source *ctm; ///< whose it is
    bb_index m;
    void *r;   ///< R0 [m][n]
    void *g;   ///< R0 Cmm - Ctm, panel after panel of columns, each [m][width of the panel]
    void *cee; ///< Cee0 [m][m]
};

struct bb_residual_scorer {
    bb_device *device;
    const bb_matrix_source *source;
    bb_device_source *cmm;
    const bb_dense_library_cuda *library;
    cublasHandle_t handle;
    cudaStream_t stream;
    bb_transfer *transfer;
    bb_index n, width; ///< width of a panel
    double spare_bytes;
    bool has_planes; ///< kernels for the difference
    void *units;     ///< [n] powers of two near the roots of Cmm's diagonal, with the first base
    void *planes[2]; ///< of all of Cmm in units, [n][n in multiples of 64], where there is room
    bool planes_asked;
    bb_index planes_rows; ///< filled so far
    bb_residual_base bases[BB_RESIDUAL_BASES];
    int base_count;
    bb_index differences;
};

/// Bytes of the device's memory that are free.
bb_status bb_residual_scorer_free_bytes(const bb_residual_scorer *scorer, double *out);

/// C [rows][columns] in fp64 from the device to `out` on the host, behind the scorer's stream.
bb_status bb_residual_scorer_fetch(const bb_residual_scorer *scorer, const void *source,
                                   bb_index items, double *out);

#endif
