// SPDX-License-Identifier: Apache-2.0
//
// Storage of a solved reconstructor R, m x n: encoded by a pipeline's `storage` and decoded again
// in place, so that the score is that of a real-time computer's matrix. With Q = R + E the residual
// of an estimate Q s grows by E A E^T, A the covariance of s.
//
// With `filter: means` the computer removes the mean of each sensor's slopes along each axis in
// fp32 and multiplies the remainder, y = Q (s - V a) + (R V) a, with R V in fp32. The scored matrix
// is then Q P + R V V^+.
#ifndef BB_SIM_PIPELINES_FACTOR_STORAGE_H
#define BB_SIM_PIPELINES_FACTOR_STORAGE_H

#include "precision/coded_matrix.h"
#include "sim/pipelines/evaluation.h"
#include "sim/pipelines/rounding_norm.h"

/// Norms for storing reconstructors of a study, for slopes s and filtered slopes P s, and for
/// drawing those slopes. Zero-initialise, then bb_factor_storage_open; release with
/// bb_factor_storage_release.
typedef struct bb_factor_storage {
    int study_device;           ///< a bb_device_kind or BB_DEVICE_AUTO
    bb_rounding_norm norms[2];  ///< norms: [0] of s, [1] of P s with means filtered
    bb_rounding_norm slopes[2]; ///< [0] of s, [1] of P s, without the modes outside the covariance
} bb_factor_storage;

/// Opens the norms and borrows its pointers. `modes` are those outside the covariance, `groups`
/// those whose means may be filtered. `most_rows` bounds the rows of every reconstructor and truth,
/// as in the plan (bb_factor_storage_need).
void bb_factor_storage_open(const bb_factor_problem *problem, int study_device, bb_index most_rows,
                            const bb_low_rank *modes, const bb_slope_groups *groups,
                            bb_factor_storage *out);
void bb_factor_storage_release(bb_factor_storage *self);

/// Releases device memory that sweeps cache between reconstructors. Call it between pipelines,
/// whose factorizations need that memory.
void bb_factor_storage_release_device(bb_factor_storage *self);

/// True if a pipeline stores its reconstructor.
bool bb_factor_storage_is_given(const bb_factor_pipeline *pipeline);

/// Stores r [m][n] of a solved pipeline in place, as one of its draws (precision/draw.h): r becomes
/// the decoded values. Draws multiply rows by factors, which are divided out again. The
/// evaluation's operator becomes the stored one, summed over targets. The outcome tells if a value
/// cannot be represented or the norm cannot be factored.
/// A sweep runs on CUDA if the pipeline does, by its `device` or from BB_DEVICE_CHOICE_ORDER
/// slopes. No effect without a storage or after a failure. Errors: BB_MEMORY, BB_DEVICE, the
/// source's.
BB_CHECKED bb_status bb_factor_storage_apply(bb_factor_storage *self,
                                             const bb_factor_pipeline *pipeline, bb_index draw,
                                             bb_index m, double *r, bb_evaluation *evaluation);

/// Stored reconstructor as a real-time computer has it in memory. Zero-initialise; release with
/// bb_stored_reconstructor_release.
typedef struct bb_stored_reconstructor {
    bb_coded_matrix *matrix; ///< NULL: nothing is stored
    float *means;            ///< [m][groups] R V; NULL: means are not filtered
    float *scales;           ///< [n] scales of columns, by which slopes are divided; NULL: none
} bb_stored_reconstructor;

void bb_stored_reconstructor_release(bb_stored_reconstructor *self);

/// Encodes a matrix of a layout without grid or mesh in a pipeline's storage. A storage that rounds
/// in the sweep rounds to nearest here. Errors: BB_MEMORY, the source's. Owner of `*out`: the
/// caller.
BB_CHECKED bb_status bb_stored_reconstructor_code(const bb_factor_pipeline *pipeline,
                                                  const bb_matrix_source *source,
                                                  const bb_matrix_layout *layout,
                                                  bb_coded_matrix **out);

/// Need of encoding one matrix.
bb_need bb_stored_reconstructor_need(const bb_factor_pipeline *pipeline, bb_index rows,
                                     bb_index columns, double threads);

/// Stores as bb_factor_storage_apply does in draw 0, and returns the stored matrices in `out`;
/// empty after a failure. The caller owns its contents.
BB_CHECKED bb_status bb_factor_storage_encode(bb_factor_storage *self,
                                              const bb_factor_pipeline *pipeline, bb_index m,
                                              double *r, bb_evaluation *evaluation,
                                              bb_stored_reconstructor *out);

/// Need of storing in a study whose largest reconstructor or truth has m rows, in addition to the
/// estimates.
bb_need bb_factor_storage_need(const bb_list *pipelines, const bb_factor_solver_config *solver,
                               int study_device, const bb_factor_extent *extent, bb_index m);

#endif
