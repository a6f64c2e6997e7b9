// SPDX-License-Identifier: Apache-2.0
//
// What a pipeline's phase is worth: wrong cycles and nanometres, and how they are written.
#ifndef BB_SIM_FRINGE_FRINGE_SCORE_H
#define BB_SIM_FRINGE_FRINGE_SCORE_H

#include "physics/fringe/scene.h"
#include "sim/evaluation.h"
#include "sim/fringe/fringe_study.h"
#include "solvers/unwrap/unwrap.h"

/// What one pipeline gave; draw 0's, but for the draws.
typedef struct bb_fringe_evaluation {
    bb_evaluation common;
    double wrong_cycles, wrong_cycles_reference, missing;
    double wavefront_rms_nm, wavefront_pv_nm;
    double wavefront_error_nm;           ///< rms of phase - truth
    double wavefront_error_reference_nm; ///< rms of phase - the reference's phase
    double scale_rad, limit_rad, rejected_share, cycles, reweighted, changed;
    double bits, saturated;
    double *zernike_nm; ///< [zernike_terms]; owner: this, NULL without terms
} bb_fringe_evaluation;

/// All NaN. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_fringe_evaluation_start(const bb_fringe_study *study, const char *pipeline,
                                                bb_fringe_evaluation *out);
void bb_fringe_evaluation_release(bb_fringe_evaluation *evaluation);

/// A phase and what it is held to: all [rows][columns], in rad; truth NULL: not known.
typedef struct bb_fringe_answer {
    const double *phase, *truth, *reference;
    const bb_unwrap_parts *parts;
} bb_fringe_answer;

/// Scores a phase. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_fringe_score(const bb_fringe_study *study, const bb_fringe_answer *answer,
                                     bb_fringe_evaluation *evaluation);

/// Of the study, beside its pipelines.
typedef struct bb_fringe_facts {
    double points, parts;
    double steep_share, hanging_share; ///< of the reference, as bb_unwrap_doubt
    double full_scale;                 ///< of frames that were measured; NaN without
} bb_fringe_facts;

/// Shares of bb_unwrap_doubt above which bb_fringe_score_warn warns.
#define BB_FRINGE_STEEP_SHARE   0.01
#define BB_FRINGE_HANGING_SHARE 0.01

/// Warns of what neither residues nor rejection decide in the reference's phase, a sentence each.
void bb_fringe_score_warn(const bb_fringe_facts *facts);

extern const bb_output_table bb_fringe_pipeline_outputs, bb_fringe_zernike_axes,
    bb_fringe_zernike_outputs, bb_fringe_fact_outputs;

/// Writes all of it. Errors: those of bb_output_table_publish.
BB_CHECKED bb_status bb_fringe_score_publish(const bb_fringe_study *study,
                                             const bb_fringe_facts *facts,
                                             const bb_fringe_evaluation *evaluations,
                                             bb_index count, bb_results *results);

#endif
