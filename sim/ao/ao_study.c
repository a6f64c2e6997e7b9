// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_study.h"

#include "physics/ao/ao_check.h"
#include "sim/ao/ao_commands.h"
#include "sim/ao/ao_mcao.h"
#include "sim/ao/ao_run.h"
#include "sim/ao/ao_whole.h"
#include "sim/pipelines/factor_device.h"
#include "sim/pipelines/factor_engine.h"

#include <math.h>
#include <string.h>

static const char *const lgs_tilt_names[] = {"update", "constant_block", "unknown", NULL};

static const char *const images_names[] = {"first", "all", NULL};

const char *const bb_ao_correction_names[] = {"moao", "ltao", "glao", "mcao", NULL};

// clang-format off
static const bb_key solver_keys[] = {
    BB_FACTOR_SOLVER_KEYS(bb_ao_solver_config),
    {.name = "lgs_tilt", .kind = BB_KEY_CHOICE, .choices = lgs_tilt_names,
     .offset = offsetof(bb_ao_solver_config, lgs_tilt), .default_text = "update",
     .meaning = "Tilt of laser stars: its variance as an exact rank-2 update, as a constant in their blocks, or unknown (infinite variance, omitted from the score)."},
};
static const bb_schema solver_schema = BB_SCHEMA("solver", bb_ao_solver_config, solver_keys);

static const bb_key inflation_keys[] = {
    {.name = "tilt_arcsec2", .kind = BB_KEY_DOUBLE, .unit = "arcsec^2", .minimum = 0.0,
     .maximum = 1.0e6, .offset = offsetof(bb_unknown_modes_config, tilt_arcsec2),
     .default_text = "0.1",
     .meaning = "Variance of both tilts of each natural star from wind shake of the telescope; 0: none."},
    {.name = "sodium_height_m2", .kind = BB_KEY_DOUBLE, .unit = "m^2", .minimum = 0.0,
     .maximum = 1.0e10, .offset = offsetof(bb_unknown_modes_config, sodium_height_m2),
     .default_text = "0.0",
     .meaning = "Variance of the height of the sodium layer, which sets the focus of each laser star; 0: none."},
    {.name = "reference_nm2", .kind = BB_KEY_DOUBLE, .unit = "nm^2", .minimum = 0.0,
     .maximum = 1.0e10, .offset = offsetof(bb_unknown_modes_config, reference_nm2),
     .default_text = "0.0",
     .meaning = "Variance (rms wavefront) of focus, astigmatism, coma and trefoil of "
     "each sensor's optics after a change of its reference slopes; 0: none."},
};
static const bb_schema inflation_schema =
    BB_SCHEMA("rounding_inflation", bb_unknown_modes_config, inflation_keys);

#define GROUP(member, table, text)                                                                 \
    {.name = #member, .kind = BB_KEY_GROUP, .schema = (table),                                     \
     .offset = offsetof(bb_ao_study, member), .meaning = (text)}
#define RECORDS(member, table, text)                                                               \
    {.name = #member, .kind = BB_KEY_RECORDS, .schema = (table), .minimum_count = 1,               \
     .offset = offsetof(bb_ao_study, member), .meaning = (text)}

static const bb_key keys[] = {
    BB_STUDY_KEYS(bb_ao_study),
    GROUP(telescope, &bb_telescope_schema, "Pupil and pointing of the telescope."),
    GROUP(atmosphere, &bb_atmosphere_schema, "Turbulence profile."),
    GROUP(sensors, &bb_sensors_schema, "Defaults for the sensor of every guide star."),
    GROUP(mirror, &bb_mirror_schema, "Deformable mirror of each target, onto which its correction is projected."),
    {.name = "mirrors", .kind = BB_KEY_RECORDS, .schema = &bb_conjugate_schema, .optional = true,
     .offset = offsetof(bb_ao_study, mirrors),
     .meaning = "Mirrors at several heights for correction mcao; replaces mirror."},
    {.name = "mirrors_condition", .kind = BB_KEY_DOUBLE, .unit = "1", .minimum = 1.0,
     .maximum = 1.0e5, .exclusive_minimum = true, .default_text = "100.0",
     .offset = offsetof(bb_ao_study, mirrors_condition),
     .meaning = "Largest over smallest retained singular value of the mirrors' interaction with all directions; 50 to 200 suits several mirrors."},
    RECORDS(guide_stars, &bb_guide_star_schema, "Guide stars and their sensors."),
    RECORDS(targets, &bb_target_schema, "Directions in which the correction is scored."),
    {.name = "wavelengths_um", .kind = BB_KEY_DOUBLES, .unit = "um", .minimum = 0.1,
     .maximum = 100.0, .minimum_count = 1, .default_text = "[1.65]",
     .offset = offsetof(bb_ao_study, wavelengths_um),
     .meaning = "Wavelengths of the Strehl ratio; the first one gives strehl_loss."},
    {.name = "ensquared_mas", .kind = BB_KEY_DOUBLES, .unit = "mas", .minimum = 0.0,
     .maximum = 1.0e5, .exclusive_minimum = true, .optional = true,
     .offset = offsetof(bb_ao_study, ensquared_mas),
     .meaning = "Widths of square boxes on the axis for the ensquared energy."},
    {.name = "correction", .kind = BB_KEY_CHOICE, .choices = bb_ao_correction_names,
     .offset = offsetof(bb_ao_study, correction), .default_text = "moao",
     .meaning = "moao: each target by its own reconstructor; ltao: all by that of the first; glao: all by the mean of all; mcao: all by mirrors at several heights."},
    {.name = "score", .kind = BB_KEY_CHOICE, .choices = bb_score_names,
     .offset = offsetof(bb_ao_study, score), .default_text = "pairs",
     .meaning = "pairs: Strehl ratio and image from every pair of points of the pupil; stationary: "
                "from the residual's mean over equal displacements, as moao does."},
    {.name = "images", .kind = BB_KEY_CHOICE, .choices = images_names,
     .offset = offsetof(bb_ao_study, images), .default_text = "first",
     .meaning = "Images to write: of the first target and wavelength, or of all."},
    GROUP(error_terms, &bb_error_terms_schema, "Errors not included in the slopes."),
    {.name = "shake_test_arcsec", .kind = BB_KEY_DOUBLE, .unit = "arcsec", .minimum = 0.0,
     .maximum = 1.0e3, .exclusive_minimum = true, .optional = true,
     .offset = offsetof(bb_ao_study, shake_test_arcsec),
     .meaning = "Scores Strehl ratios a second time with a tilt common to all stars and targets, of this rms along each axis; unset: off."},
    GROUP(monte_carlo, &bb_monte_carlo_schema, "Independent random frames to check the score."),
    GROUP(time_domain, &bb_time_domain_schema,
          "Controller on layers moved by the wind, to check the score including its delay."),
    GROUP(learn, &bb_ao_learn_schema, "Learning of the turbulence profile from slopes."),
    GROUP(night, &bb_night_schema, "Supervisor over a night of changing turbulence."),
    GROUP(solver, &solver_schema, "Factorization of the reconstructor."),
    {.name = "rounding_inflation", .kind = BB_KEY_GROUP, .schema = &inflation_schema,
     .offset = offsetof(bb_ao_study, inflation),
     .meaning = "rounding sweep: modes added to the covariance used by the rounding, so that rounding errors avoid disturbances outside the covariance."},
    GROUP(frame_times, &bb_frame_times_schema, "Timed frames of each pipeline's stored matrix."),
    GROUP(realtime, &bb_ao_realtime_schema, "Settings of `bitbudget realtime`."),
    GROUP(machine, &bb_machine_price_schema, "Prices of the computer, for energy and cost."),
    RECORDS(pipelines, &bb_factor_pipeline_schema,
            "Pipelines to compare; the one called reference, else the first, is the truth."),
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
        .mirrors = study->mirrors.items,
        .mirror_count = study->mirrors.count,
        .mirrors_condition = study->mirrors_condition,
        .error_terms = &study->error_terms,
        .guide_stars = study->guide_stars.items,
        .guide_star_count = study->guide_stars.count,
        .targets = study->targets.items,
        .target_count = study->targets.count,
    };
}

bool bb_ao_study_frames(const bb_ao_study *study)
{
    return study->monte_carlo.frames > 0 || study->time_domain.frames > 0;
}

bb_index bb_ao_study_images(const bb_ao_study *study)
{
    return study->images == (int)BB_AO_IMAGES_ALL
               ? study->targets.count * study->wavelengths_um.count
               : 1;
}

// With one reconstructor for all targets, all sensors must have the same lenslets.
static bb_status check_correction(const bb_ao_study *study, const bb_config *config,
                                  bb_problems *problems)
{
    const bb_target_config *targets = study->targets.items;
    for (bb_index t = 1;
         study->correction != (int)BB_AO_CORRECTION_MOAO && t < study->targets.count; ++t) {
        if (targets[t].lenslets != targets[0].lenslets) {
            return bb_study_refuse(true, config, problems,
                                   "correction: %s applies one reconstructor to all targets, "
                                   "expected the same lenslets in targets[%td] as in targets[0]",
                                   bb_ao_correction_names[study->correction], t);
        }
    }
    return BB_OK;
}

// A dataset without a file is an error, but a resolved annulus has the default dataset name.
static bb_status check_pupil(const bb_pupil_config *pupil, const bb_config *config,
                             bb_problems *problems)
{
    if (pupil->file == NULL && strcmp(pupil->dataset, BB_PUPIL_DATASET) != 0) {
        return bb_study_refuse(true, config, problems,
                               "telescope.pupil.dataset: no effect without telescope.pupil.file");
    }
    return BB_OK;
}

// Rejects impossible frames here rather than after the factorizations.
static bb_status check_frames(const bb_ao_study *study, const bb_config *config,
                              bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_guide_star_config *stars = study->guide_stars.items;
    const bool drawn = bb_ao_study_frames(study) || study->learn.source == (int)BB_AO_LEARN_FRAMES;
    for (bb_index s = 0; drawn && s < study->guide_stars.count; ++s) {
        BB_TRY(
            bb_study_refuse(fmod(stars[s].rotation_deg, 180.0) != 0.0, config, problems,
                            "guide_stars[%td].rotation_deg = %g: the phase screens of monte_carlo, "
                            "of time_domain and of learn.source frames need 0 or 180",
                            s, stars[s].rotation_deg));
    }
done:
    return status;
}

bb_status bb_ao_study_check(const void *study, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_ao_study *ao = study;
    BB_TRY(bb_factor_pipeline_solver_check(&ao->solver.common, config, problems));
    BB_TRY(bb_factor_pipelines_check(&ao->pipelines, config, problems));
    BB_TRY(bb_factor_engine_check(&ao->solver.common, config, problems));
    BB_TRY(bb_factor_devices_check(&ao->pipelines, &ao->solver.common, ao->common.device, config,
                                   problems));
    BB_TRY(check_correction(ao, config, problems));
    BB_TRY(bb_ao_mcao_check(ao, config, problems));
    BB_TRY(bb_ao_commands_check(ao, config, problems));
    BB_TRY(bb_ao_whole_check(ao, config, problems));
    BB_TRY(check_pupil(&ao->telescope.pupil, config, problems));
    BB_TRY(check_frames(ao, config, problems));
    BB_TRY(bb_parts_check(bb_ao_parts, ao, config, problems));
    const bb_ao_config physics = bb_ao_study_physics(ao);
    BB_TRY(bb_study_check_rules(bb_ao_check(&physics), config, problems));
done:
    return status;
}
