// SPDX-License-Identifier: Apache-2.0
//
// How a reconstructor R, m x n, is held once it is solved: coded as a pipeline's `storage` says,
// and decoded again in its place, so that what is scored is what a real-time computer would
// multiply. With Q = R + E an estimate Q s has a residual larger by E A E^T, A the covariance of s.
//
// With `filter: means` the computer takes the mean of each sensor's slopes along each axis out in
// fp32 and multiplies what is left, y = Q (s - V a) + (R V) a, with R V in fp32: what is scored is
// Q P + R V V^+.
#ifndef BB_SIM_PIPELINES_FACTOR_STORAGE_H
#define BB_SIM_PIPELINES_FACTOR_STORAGE_H

#include "precision/coded_matrix.h"
#include "sim/pipelines/evaluation.h"
#include "sim/pipelines/rounding_norm.h"

/// What reconstructors of a study are stored with, in the norms of s and of P s, and what those
/// slopes are drawn with. Zero-initialise,
/// then bb_factor_storage_open; release with bb_factor_storage_release.
typedef struct bb_factor_storage {
    int study_device;           ///< a bb_device_kind or BB_DEVICE_AUTO
    bb_rounding_norm norms[2];  ///< by whether means are filtered
    bb_rounding_norm slopes[2]; ///< likewise, without the modes that the covariance does not know
} bb_factor_storage;

/// Borrows all: `modes` is what the covariance does not know, `groups` whose means may be filtered;
/// no reconstructor, and no truth that one is scored by, has more than `most_rows`, as the plan has
/// them (bb_factor_storage_need).
void bb_factor_storage_open(const bb_factor_problem *problem, int study_device, bb_index most_rows,
                            const bb_low_rank *modes, const bb_slope_groups *groups,
                            bb_factor_storage *out);
void bb_factor_storage_release(bb_factor_storage *self);

/// Gives back what sweeps keep in the memory of a device from one reconstructor to the next: for
/// between pipelines, whose factorizations want it.
void bb_factor_storage_release_device(bb_factor_storage *self);

/// Whether a pipeline stores its reconstructor.
bool bb_factor_storage_is_given(const bb_factor_pipeline *pipeline);

/// Stores r [m][n] of a pipeline that is solved, in place: what its storage computes with, as one
/// of its draws (precision/draw.h): rows times factors, which are divided out again. The
/// evaluation's operator is what is stored then, added up over targets; an outcome says where a
/// value cannot be held, or where the norm has no factor to round in. A pipeline that computes on
/// cuda sweeps there: asked for by name, or from BB_DEVICE_CHOICE_ORDER slopes on. Nothing is done
/// without a storage, or after a failure. Errors: BB_MEMORY, BB_DEVICE, the source's.
BB_CHECKED bb_status bb_factor_storage_apply(bb_factor_storage *self,
                                             const bb_factor_pipeline *pipeline, bb_index draw,
                                             bb_index m, double *r, bb_evaluation *evaluation);

/// What a real-time computer holds of one reconstructor. Zero-initialise; release with
/// bb_stored_reconstructor_release.
typedef struct bb_stored_reconstructor {
    bb_coded_matrix *matrix; ///< NULL: nothing is stored
    float *means;            ///< [m][groups] R V; NULL: means are not filtered
    float *scales;           ///< [n] of columns, by which slopes are divided; NULL: there are none
} bb_stored_reconstructor;

void bb_stored_reconstructor_release(bb_stored_reconstructor *self);

/// Codes a matrix of a layout, of rows and columns without a grid or a mesh, as a pipeline's
/// storage says, to nearest where that rounds in the sweep. Errors: BB_MEMORY, the source's. Owner
/// of
/// `*out`: the caller.
BB_CHECKED bb_status bb_stored_reconstructor_code(const bb_factor_pipeline *pipeline,
                                                  const bb_matrix_source *source,
                                                  const bb_matrix_layout *layout,
                                                  bb_coded_matrix **out);

/// What coding one takes.
bb_need bb_stored_reconstructor_need(const bb_factor_pipeline *pipeline, bb_index rows,
                                     bb_index columns, double threads);

/// As bb_factor_storage_apply of draw 0, and hands out what was stored; nothing after a failure.
/// Owner of what `out` holds: the caller.
BB_CHECKED bb_status bb_factor_storage_encode(bb_factor_storage *self,
                                              const bb_factor_pipeline *pipeline, bb_index m,
                                              double *r, bb_evaluation *evaluation,
                                              bb_stored_reconstructor *out);

/// What storing takes of a study whose largest reconstructor or truth has m rows, beside the
/// estimates.
bb_need bb_factor_storage_need(const bb_list *pipelines, const bb_factor_solver_config *solver,
                               int study_device, const bb_factor_extent *extent, bb_index m);

#endif
