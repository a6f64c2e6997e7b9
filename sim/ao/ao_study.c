// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_study.h"

#include <string.h>

static const char *const lgs_tilt_names[] = {"update", "constant_block", "unknown", NULL};

// clang-format off
static const bb_key solver_keys[] = {
    BB_FACTOR_SOLVER_KEYS(bb_ao_solver_config),
    {.name = "lgs_tilt", .kind = BB_KEY_CHOICE, .choices = lgs_tilt_names,
     .offset = offsetof(bb_ao_solver_config, lgs_tilt), .default_text = "update",
     .meaning = "Tilt of laser stars: its variance as an exact rank-2 update or as a constant in "
                "their blocks, or unknown: an infinite variance, which the score leaves out."},
};
static const bb_schema solver_schema = BB_SCHEMA("solver", bb_ao_solver_config, solver_keys);

#define GROUP(member, table, text)                                                                 \
    {.name = #member, .kind = BB_KEY_GROUP, .schema = (table),                                     \
     .offset = offsetof(bb_ao_study, member), .meaning = (text)}
#define RECORDS(member, table, text)                                                               \
    {.name = #member, .kind = BB_KEY_RECORDS, .schema = (table), .minimum_count = 1,               \
     .offset = offsetof(bb_ao_study, member), .meaning = (text)}

static const bb_key keys[] = {
    BB_STUDY_KEYS(bb_ao_study),
    GROUP(telescope, &bb_telescope_schema, "The pupil and where it looks."),
    GROUP(atmosphere, &bb_atmosphere_schema, "The turbulence."),
    GROUP(sensors, &bb_sensors_schema, "Defaults of every guide star's sensor."),
    GROUP(mirror, &bb_mirror_schema, "The mirror that a target's correction is projected on."),
    RECORDS(guide_stars, &bb_guide_star_schema, "Guide stars and their sensors."),
    RECORDS(targets, &bb_target_schema, "Directions in which the correction is scored."),
    {.name = "wavelengths_um", .kind = BB_KEY_DOUBLES, .unit = "um", .minimum = 0.1,
     .maximum = 100.0, .minimum_count = 1, .default_text = "[1.65]",
     .offset = offsetof(bb_ao_study, wavelengths_um),
     .meaning = "Wavelengths at which the Strehl ratio is computed; the first gives strehl_loss."},
    GROUP(solver, &solver_schema, "How the reconstructor is factored."),
    RECORDS(pipelines, &bb_factor_pipeline_schema,
            "What is compared; the one called reference, else the first, is the truth."),
};
// clang-format on
const bb_schema bb_ao_study_schema = BB_SCHEMA("ao", bb_ao_study, keys);

const char bb_ao_study_starter[] =
    "experiment: ao\n"
    "title: arithmetic of the factorization\n"
    "telescope: {diameter_m: 8.0, obstruction: 0.14}\n"
    "atmosphere: {profile: moao-2}\n"
    "sensors: {lenslets: 8}\n"
    "guide_stars:\n"
    "  - {kind: lgs, x_arcsec: 23.0, y_arcsec: 0.0, altitude_km: 100.0}\n"
    "  - {kind: ngs, x_arcsec: -16.0, y_arcsec: -36.0, magnitude: 11.0}\n"
    "targets:\n"
    "  - {x_arcsec: 0.0, y_arcsec: 0.0}\n"
    "wavelengths_um: [1.65, 2.2]\n"
    "pipelines:\n"
    "  - {name: reference, arithmetic: dp}\n"
    "  - {name: sp, arithmetic: sp}\n"
    "  - {name: hp1, arithmetic: hp1, policy: {kind: band, width: 1, inside: sp}}\n";

bb_ao_config bb_ao_study_physics(const bb_ao_study *study)
{
    return (bb_ao_config){
        .telescope = &study->telescope,
        .atmosphere = &study->atmosphere,
        .sensors = &study->sensors,
        .mirror = &study->mirror,
        .guide_stars = study->guide_stars.items,
        .guide_star_count = study->guide_stars.count,
        .targets = study->targets.items,
        .target_count = study->targets.count,
    };
}

// "guide_stars[3].magnitude is missing" starts with the path of what it is about.
static bb_place place_of_message(const bb_config *config, const char *message)
{
    char path[128];
    size_t length = 0;
    for (const char *c = message; *c != '\0' && length + 1 < sizeof path; ++c) {
        if (strchr(" :=", *c) != NULL) {
            break;
        }
        if (*c != ']') {
            path[length++] = *c;
        }
        if (*c == '[') {
            path[length - 1] = '.';
        }
    }
    path[length] = '\0';
    return bb_config_place(config, path);
}

bb_status bb_ao_study_check(const void *study, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_ao_study *ao = study;
    BB_TRY(bb_factor_pipelines_check(&ao->pipelines, config, problems));
    const bb_ao_config physics = bb_ao_study_physics(ao);
    bb_status rules = bb_ao_config_check(&physics);
    if (rules == BB_INVALID) {
        const char *message = bb_status_message();
        BB_TRY(bb_problems_add(problems, place_of_message(config, message), "%s", message));
    } else {
        BB_TRY(rules);
    }
done:
    return status;
}
