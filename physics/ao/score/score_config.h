// SPDX-License-Identifier: Apache-2.0
//
// What a user configures of the score beyond the covariances: independent frames, and the errors
// that slopes do not know.
#ifndef BB_PHYSICS_AO_SCORE_SCORE_CONFIG_H
#define BB_PHYSICS_AO_SCORE_SCORE_CONFIG_H

#include "core/schema.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How a residual that varies over the pupil is scored. The order is that of bb_score_names.
typedef enum bb_score {
    BB_SCORE_PAIRS,     ///< every pair of points by its own structure function (pair_strehl.h)
    BB_SCORE_STATIONARY ///< averaged over pairs of equal displacement (point_spread.h)
} bb_score;
extern const char *const bb_score_names[];

/// Independent frames, see monte_carlo.h.
typedef struct bb_monte_carlo_config {
    bb_index frames; ///< 0: none are drawn
    bb_index pixels_per_subaperture;
    double screen_oversize;
    bb_index subharmonics;
} bb_monte_carlo_config;

/// Whether guide stars see the mirrors. The order is that of the names of time_domain.loop.
typedef enum bb_loop_kind { BB_LOOP_OPEN, BB_LOOP_CLOSED } bb_loop_kind;

/// A controller in time, see time_domain.h.
typedef struct bb_time_domain_config {
    bb_index frames; ///< that are scored, of a realisation; 0: none are run
    bb_index settle_frames;
    bb_index realisations;
    double rate_hz;
    double gain;
    double delay_ms; ///< NaN: error_terms.frame_delay_ms
    double exposure_ms;
    int loop;                   ///< bb_loop_kind
    bb_list wind_direction_deg; ///< of double, one a layer; none: turns by the golden angle
} bb_time_domain_config;

/// How the residual of slopes and errors that they do not know make up a score by pairs. The order
/// is that of the names of error_terms.combination.
typedef enum bb_combination {
    BB_COMBINATION_EXACT,      ///< with their correlations, see whole_residual.h
    BB_COMBINATION_INDEPENDENT ///< by the sum of structure functions
} bb_combination;

/// The usual coefficient of the fitting error: of a circular cutoff.
#define BB_FITTING_COEFFICIENT 0.2740

/// Errors that the slopes do not know, see error_terms.h.
typedef struct bb_error_terms_config {
    int combination;       ///< bb_combination
    bool minimum_variance; ///< whether the score of the best commands is computed, too
    bool fitting;
    double fitting_coefficient; ///< variance over (d / r0)^(5/3), rad^2
    bool aliasing;
    double frame_delay_ms; ///< 0: no servo lag
    bb_list wind_m_per_s;  ///< of double, one a layer; none: the profile's own
    double shake_arcsec;   ///< of the telescope, see shake.h
} bb_error_terms_config;

extern const bb_schema bb_monte_carlo_schema;
extern const bb_schema bb_time_domain_schema;
extern const bb_schema bb_error_terms_schema;

#ifdef __cplusplus
}
#endif

#endif
