// SPDX-License-Identifier: Apache-2.0
//
// Keys of `learn:`, the source of the reconstructor's profile.
#ifndef BB_SIM_AO_LEARN_AO_LEARN_CONFIG_H
#define BB_SIM_AO_LEARN_AO_LEARN_CONFIG_H

#include "sim/config/config.h"
#include "sim/input/matrix_file.h"

typedef enum bb_ao_learn_source {
    BB_AO_LEARN_OFF,
    BB_AO_LEARN_COVARIANCE_FILE, ///< supplied by the user
    BB_AO_LEARN_FRAMES,          ///< sample covariance of random frames
    BB_AO_LEARN_PROFILE,         ///< analytic covariance of the atmosphere
} bb_ao_learn_source;

typedef struct bb_ao_learn_config {
    int source;                  ///< bb_ao_learn_source
    bb_matrix_place covariance;  ///< n x n slopes, arcsec^2
    bb_list heights_m;           ///< list of double, heights at zenith; empty: heights of the
                                 ///< atmosphere
    bb_index frames;             ///< number of frames
    bb_list outer_scale_range_m; ///< list of double, two bounds; empty: outer scale of the
                                 ///< atmosphere, taken as known
    double separation;
    bool apply;
} bb_ao_learn_config;

extern const bb_schema bb_ao_learn_schema;

/// Name of a source.
const char *bb_ao_learn_source_name(int source);

/// Checks the keys against each other. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_learn_config_check(const bb_ao_learn_config *learn,
                                              const bb_config *config, bb_problems *problems);

#endif
