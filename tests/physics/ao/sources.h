// SPDX-License-Identifier: Apache-2.0
//
// The three covariances of a case as sources, kept alive together.
#ifndef BB_TESTS_PHYSICS_AO_SOURCES_H
#define BB_TESTS_PHYSICS_AO_SOURCES_H

#include "physics/ao/ao_check.h"
#include "physics/ao/covariance/slope_covariance.h"
#include "tests/physics/ao/cases.h"

enum { SOURCE_CMM, SOURCE_CTM, SOURCE_CTT, SOURCE_COUNT };

/// Do not move: the covariances point into it.
typedef struct sources {
    bb_atmosphere atmosphere;
    bb_sensor_array guides, truth;
    bb_measurement_noise noise;
    bb_slope_covariance *covariance[SOURCE_COUNT];
} sources;

/// Cmm with noise and tilts, Ctm and Ctt of the first target.
static inline void sources_create(const ao_case *c, sources *s)
{
    const bb_ao_config config = case_config(c);
    check_ok(bb_ao_check(&config));
    check_ok(bb_atmosphere_create(config.atmosphere, config.telescope->zenith_angle_deg,
                                  &s->atmosphere));
    check_ok(bb_sensor_array_create_guides(&config, &s->atmosphere, &s->guides));
    check_ok(bb_sensor_array_create_truth(&config, 0, &s->atmosphere, &s->truth));
    check_ok(bb_measurement_noise_create(&s->guides, &s->atmosphere, &s->noise));
    const bb_slope_covariance_parts parts[SOURCE_COUNT] = {
        {"Cmm", &s->atmosphere, &s->guides, &s->guides, &s->noise, true},
        {"Ctm", &s->atmosphere, &s->truth, &s->guides, NULL, false},
        {"Ctt", &s->atmosphere, &s->truth, &s->truth, NULL, false},
    };
    for (int k = 0; k < SOURCE_COUNT; ++k) {
        check_ok(bb_slope_covariance_create(&parts[k], &s->covariance[k]));
    }
}

static inline void sources_release(sources *s)
{
    for (int k = 0; k < SOURCE_COUNT; ++k) {
        bb_slope_covariance_destroy(&s->covariance[k]);
    }
    bb_measurement_noise_release(&s->noise);
    bb_sensor_array_release(&s->guides);
    bb_sensor_array_release(&s->truth);
    bb_atmosphere_release(&s->atmosphere);
}

#endif
