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

/// Sizes of a study and needs of its steps.
typedef struct bb_ao_extent {
    bb_index n; ///< measurements
    double m;   ///< truth slopes of all targets
    double layers;
    bb_index mask_edge; ///< edge of the pupil mask in pixels, 0: annulus
    double threads;
    bb_index gpus; ///< GPUs of this host that share scoring
    bb_ao_seeing seeing;
    bb_residual_extent residual;    ///< extent of the residual of one estimate of all targets
    bb_frame_sampler_extent frames; ///< frames of monte_carlo
    bb_factor_extent solved;
    bb_need making, held; ///< tomographic problem: while it is built, and afterwards
    bb_need cmm, ctm;     ///< need of one fill of the whole matrix
    bb_need rating;       ///< need of scoring one estimate of all targets
    bb_need reading,
        read; ///< influence functions of mirrors: while their files are read, and afterwards
    double actuators;      ///< actuators with mcao, else 0
    double estimated;      ///< rows of an estimate of all targets
    double projected_rows; ///< rows of D_t M of all targets, where frames need it
    bb_need gathering;     ///< right-hand side with mcao
    /// truth covariances of all targets in commands, where pipelines store commands
    bb_need truths;
    bb_need whole;        ///< computing covariances of phase and slopes, for exact scores
    bb_need wholes;       ///< resident part of `whole`
    bb_need best;         ///< right-hand sides and solutions of error_terms.minimum_variance
    double products;      ///< rows of M Cmm M^T, in addition to the residuals; 0 without
    bb_need late;         ///< covariances of truth sensors after a delay
    double commands;      ///< actuators of the targets' own mirrors, where pipelines store commands
    double most_commands; ///< largest number of actuators of one target
    double stored_rows;   ///< most rows of a stored operator: slopes of a truth sensor or actuators
                          ///< of its own mirror
    double projecting_s;  ///< part of `rating` that takes no time on a GPU
    bb_need pairs;        ///< scoring a whole residual on a GPU
    double pairing_s;     ///< part of `rating` whose time on a GPU is in `pairs`
    double processes;     ///< processes that share the distributed work
    bool one_by_one; ///< each pipeline is scored, and its estimates released, before the next one
                     ///< is solved
    bool resident;   ///< as one_by_one, but estimates stay on a GPU until they are scored
    bb_ao_learn_planned learn;
    bb_night_planned night;
} bb_ao_extent;

/// Number of slopes of the guide stars' sensors, which are the measurements of a study. Errors:
/// BB_MEMORY, errors of the pupil's file.
BB_CHECKED bb_status bb_ao_extent_slopes(const bb_ao_study *study, bb_index *out);

/// Copies a study and resolves its `auto` keys: the device by problem size, and the tile of the
/// factorization (bb_factor_device_resolve_tile). `study` must outlive the copy. Errors: as above.
BB_CHECKED bb_status bb_ao_extent_resolve(const bb_ao_study *study, bb_ao_study *out);

/// Measures a study that runs on `threads` threads; reads the files it names. The caller sets
/// `one_by_one`. Errors: BB_MEMORY, errors of the files, BB_INVALID (a timeline or learning that
/// the study does not cover).
BB_CHECKED bb_status bb_ao_extent_measure(const bb_ao_study *study, double threads,
                                          bb_ao_extent *out);

#endif
