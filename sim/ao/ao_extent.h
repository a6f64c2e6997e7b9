// SPDX-License-Identifier: Apache-2.0
//
// Sizes and needs of the parts of an ao study, from the configuration alone.
#ifndef BB_SIM_AO_AO_EXTENT_H
#define BB_SIM_AO_AO_EXTENT_H

#include "physics/ao/frames/monte_carlo.h"
#include "sim/ao/ao_quantities.h"
#include "sim/ao/ao_study.h"
#include "sim/ao/learn/ao_learn.h"
#include "sim/ao/night/night.h"
#include "sim/pipelines/factor_plan.h"
#include "solvers/factor/residual_covariance.h"

/// Sizes, and what parts take.
typedef struct bb_ao_extent {
    bb_index n; ///< measurements
    double m;   ///< truth slopes of all targets
    double layers;
    bb_index mask_edge; ///< pixels of the pupil's mask, 0: the annulus
    double threads;
    bb_index gpus; ///< of this host that share what is scored on a GPU
    bb_ao_seeing seeing;
    bb_residual_extent residual;    ///< of one estimate of all targets
    bb_frame_sampler_extent frames; ///< of monte_carlo
    bb_factor_extent solved;
    bb_need making, held;  ///< the tomographic problem
    bb_need cmm, ctm;      ///< filling all of them once
    bb_need rating;        ///< of one estimate of all targets
    bb_need reading, read; ///< influence functions of mirrors: from their files, and what stays
    double actuators;      ///< of mirrors that correct together, 0 without
    double estimated;      ///< rows of an estimate of all targets
    double aimed;          ///< and of what they are seen as, where frames are to see it
    bb_need gathering;     ///< their right-hand side
    bb_need truths;        ///< of all targets in commands, where pipelines store those
    bb_need whole;         ///< making covariances of phase and slopes, for exact scores
    bb_need wholes;        ///< what stays of them
    bb_need best;          ///< right-hand sides and solutions of error_terms.minimum_variance
    double products;       ///< rows of M Cmm M^T beside the residuals, 0 without
    bb_need late;          ///< covariances of truth sensors a delay later
    double commands;       ///< of mirrors of their own, of all targets, likewise
    double most_commands;  ///< of one of them
    double stored_rows;    ///< slopes of a truth sensor or commands of a mirror of its own, at most
    double projecting_s;   ///< of the rating, which a GPU does in no time
    bb_need pairs;         ///< of a whole residual's rating on a GPU
    double pairing_s;      ///< of the rating, which takes that there
    double processes;      ///< that share what is dealt
    bool one_by_one; ///< pipelines are scored, and their estimates released, as they are solved
    bool resident;   ///< likewise, and estimates stay on a GPU until then
    bb_ao_learn_planned learn;
    bb_night_planned night;
} bb_ao_extent;

/// Slopes of the guide stars' sensors: measurements of a study. Errors: BB_MEMORY, those of the
/// pupil's file.
BB_CHECKED bb_status bb_ao_extent_slopes(const bb_ao_study *study, bb_index *out);

/// A copy of a study, which has to outlive it, with what `auto` leaves open: the device by its size
/// and the tile of its factorizations (bb_factor_device_resolve_tile). Errors: as above.
BB_CHECKED bb_status bb_ao_extent_resolve(const bb_ao_study *study, bb_ao_study *out);

/// Measures a study that `threads` run; files that it names are read. Whether pipelines go one by
/// one is the caller's to say. Errors: BB_MEMORY, those of the files, BB_INVALID (a timeline or
/// learning that the study does not cover).
BB_CHECKED bb_status bb_ao_extent_measure(const bb_ao_study *study, double threads,
                                          bb_ao_extent *out);

#endif
