// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_quantities.h"

#include "core/memory.h"
#include "physics/ao/score/error_terms.h"
#include "sim/ao/ao_mcao.h"
#include "sim/ao/ao_run.h"
#include "sim/run/dump.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bb_ao_seeing bb_ao_seeing_of(const bb_ao_study *study, const bb_atmosphere *atmosphere)
{
    const bb_list *wind = &study->error_terms.wind_m_per_s;
    bb_atmosphere seen = *atmosphere;
    if (wind->count > 0) {
        seen.wind_m_per_s = wind->items;
    }
    return (bb_ao_seeing){
        .r0_m = seen.r0_m,
        .seeing_arcsec = 0.98 * bb_atmosphere_seeing_arcsec(&seen, 500.0e-9),
        .theta0_arcsec = bb_atmosphere_isoplanatic_arcsec(&seen),
        .tau0_s = bb_atmosphere_coherence_s(&seen),
    };
}

bb_status bb_ao_seeing_print(const bb_ao_seeing *seeing, double zenith_angle_deg, bb_plan *plan)
{
    bb_status status = BB_OK;
    char where[64] = "";
    if (zenith_angle_deg != 0.0) {
        (void)snprintf(where, sizeof where, ", along the line of sight, %g deg from zenith",
                       zenith_angle_deg);
    }
    BB_TRY(bb_plan_add(plan, "seeing", "%.3f arcsec, r0 %.4f m, theta0 %.2f arcsec, at 500 nm%s",
                       seeing->seeing_arcsec, seeing->r0_m, seeing->theta0_arcsec, where));
    if (isnan(seeing->tau0_s)) {
        BB_TRY(bb_plan_add(plan, "tau0",
                           "unknown: the layers have no wind (error_terms.wind_m_per_s)"));
    } else {
        BB_TRY(bb_plan_add(plan, "tau0", "%.2f ms at 500 nm", 1e3 * seeing->tau0_s));
    }
done:
    return status;
}

static const bb_output seeing_rows[] = {
    {"r0_m", "", "m", "r0 at 500 nm, along the line of sight",
     .member = offsetof(bb_ao_seeing, r0_m)},
    {"seeing_arcsec", "", "arcsec", "0.98 lambda / r0 at 500 nm, without an outer scale",
     .member = offsetof(bb_ao_seeing, seeing_arcsec)},
    {"theta0_arcsec", "", "arcsec", "isoplanatic angle at 500 nm",
     .member = offsetof(bb_ao_seeing, theta0_arcsec)},
    {"tau0_ms", "", "ms",
     "coherence time at 500 nm, by error_terms.wind_m_per_s or the layers' wind; NaN without "
     "either",
     .member = offsetof(bb_ao_seeing, tau0_s), .scale = 1e3},
};

static const bb_output_table seeing_outputs = {
    .title = "/system, ao", .group = "system", BB_OUTPUT_ROWS(seeing_rows)};

static const bb_output pupil_rows[] = {
    {"pupil_pixel_m", "", "m", "spacing of the points of the pupil, first target's grid",
     .note = "grid of the operator `pupil`", .member = offsetof(bb_point_spread_grid, pixel_m)},
};

static const bb_output_table pupil_outputs = {
    .title = "/system, ao", .group = "system", BB_OUTPUT_ROWS(pupil_rows)};

// Row of a guide star's sensor.
typedef struct sensor_row {
    double index, x_arcsec, y_arcsec, subapertures, flux_e, noise_mas;
} sensor_row;

static const bb_output sensor_rows[] = {
    {"star", "star", "1", "index of the guide star", .member = offsetof(sensor_row, index)},
    {"star_x_arcsec", "star", "arcsec", "direction of the guide star",
     .member = offsetof(sensor_row, x_arcsec), .coordinate = true},
    {"star_y_arcsec", "star", "arcsec", "direction of the guide star",
     .member = offsetof(sensor_row, y_arcsec), .coordinate = true},
    {"subapertures", "star", "1", "valid subapertures of its sensor",
     .member = offsetof(sensor_row, subapertures)},
    {"flux_e", "star", "1", "electrons per subaperture and frame",
     .member = offsetof(sensor_row, flux_e)},
    {"slope_noise_mas", "star", "mas", "rms noise of a slope, mean over subapertures and axes",
     .member = offsetof(sensor_row, noise_mas)},
};

static const bb_output_table sensors_outputs = {
    .title = "/system, ao", .group = "system", .axes = "star", BB_OUTPUT_ROWS(sensor_rows)};

static bb_status publish_sensors(const bb_tomography *problem, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_index count = problem->guides.sensor_count;
    sensor_row *rows = NULL; // [count]
    BB_TRY(BB_ALLOCATE(count, &rows));
    for (bb_index s = 0; s < count; ++s) {
        const bb_sensor *sensor = &problem->guides.sensors[s];
        rows[s] = (sensor_row){
            (double)s,
            sensor->star.x_rad * 180.0 / M_PI * 3600.0,
            sensor->star.y_rad * 180.0 / M_PI * 3600.0,
            (double)sensor->count,
            bb_measurement_electrons(sensor, problem->guides.atmosphere_transmission),
            1e3 * bb_error_budget_slope_noise(problem, s),
        };
    }
    BB_TRY(bb_output_table_publish_records(&sensors_outputs, rows, sizeof *rows, count, NULL,
                                           results));
done:
    BB_RELEASE(&rows);
    return status;
}

bb_status bb_ao_quantities_noise(bb_ao_scoring *scoring, bb_ao_evaluation *reference)
{
    bb_status status = BB_OK;
    const bb_tomography *problem = scoring->problem;
    bb_csr noise = {0};
    double *cee = NULL; // [m][m]
    double *own = NULL; // [rows][rows] in commands, with mcao
    if (reference->common.outcome.kind != BB_OUTCOME_OK) {
        goto done;
    }
    BB_TRY(bb_error_budget_noise(problem, &noise));
    for (bb_index t = 0; t < problem->target_count; ++t) {
        const bb_index m = problem->targets[t].ctm->rows;
        double strehl = NAN;
        bb_outcome outcome = {0};
        bb_tomography_score score = {.kind = (bb_score)scoring->study->score, .strehl = &strehl};
        BB_TRY(BB_ALLOCATE(m * m, &cee));
        BB_TRY(bb_ao_scoring_noise(scoring, &noise, reference, t, &own, cee));
        BB_TRY(bb_tomography_rate(problem, t, cee, 1, scoring->wavelengths_m, &score, &outcome));
        reference->noise_m[t] = score.correctable_rms;
        BB_RELEASE(&cee);
    }
done:
    BB_RELEASE(&cee);
    BB_RELEASE(&own);
    bb_csr_release(&noise);
    return status;
}

enum { TOMOGRAPHY, NOISE, FITTING, ALIASING, LAG, CROSS, TOTAL, TERMS };
static const char *const term_names[TERMS] = {"tomography", "noise", "fitting", "aliasing",
                                              "lag",        "cross", "total"};

static const bb_output budget_rows[] = {
    {"error_term", "error_term", NULL, .long_name = "part of the residual",
     BB_OUTPUT_NAMES(term_names)},
    {"error_budget_nm", "target, error_term", "nm",
     "rms of each part of the reference's residual; 0: off",
     .note = "the squares sum to that of `total`, `residual_rms_by_nm`; noise is R N R^T, "
             "tomography the rest of the slopes' residual including aliasing of the guide stars; "
             "cross is the sum of correlations: minus the root if that sum is negative"},
};

static const bb_output_table budget_outputs = {
    .title = "/results, ao", .group = "results", BB_OUTPUT_ROWS(budget_rows)};

static bb_status publish_budget(const bb_ao_study *study, const bb_tomography *problem,
                                const bb_ao_evaluation *reference, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_index targets = problem->target_count;
    const bool exact = study->score == (int)BB_SCORE_PAIRS && bb_ao_whole_applies(study);
    double *budget = NULL; // [targets][TERMS], nm
    BB_TRY(bb_evaluation_unset(targets * TERMS, &budget));
    for (bb_index t = 0; t < targets; ++t) {
        double *row = budget + t * TERMS;
        bb_error_budget terms;
        BB_TRY(bb_error_budget_of_terms(&study->error_terms, problem, t, &terms));
        const double total = reference->residual_m[t] * reference->residual_m[t];
        const double noise = reference->noise_m[t] * reference->noise_m[t];
        const double slopes = reference->correctable_m[t] * reference->correctable_m[t];
        const double rest = slopes - noise;
        const double cross = total - slopes - terms.fitting - terms.aliasing - terms.lag;
        row[TOMOGRAPHY] = isnan(rest) ? NAN : 1e9 * sqrt(fmax(rest, 0.0));
        row[NOISE] = 1e9 * reference->noise_m[t];
        row[FITTING] = 1e9 * sqrt(terms.fitting);
        row[ALIASING] = 1e9 * sqrt(terms.aliasing);
        row[LAG] = 1e9 * sqrt(terms.lag);
        row[CROSS] = exact ? copysign(1e9 * sqrt(fabs(cross)), cross) : 0.0;
        row[TOTAL] = 1e9 * reference->residual_m[t];
    }
    BB_TRY(
        bb_output_table_add_axis(&budget_outputs, "error_term", TERMS, term_names, NULL, results));
    BB_TRY(bb_output_table_add(&budget_outputs, "error_budget_nm", budget, NULL, results));
done:
    BB_RELEASE(&budget);
    return status;
}

typedef struct mirror_row {
    double actuators, dropped_modes;
} mirror_row;

static const bb_output mirror_rows[] = {
    {"actuators", "target", "1", "actuators of the target's mirror",
     .member = offsetof(mirror_row, actuators)},
    {"dropped_modes", "target", "1", "modes that its projector leaves out",
     .member = offsetof(mirror_row, dropped_modes)},
};

static const bb_output_table mirrors_outputs = {
    .title = "/results, ao", .group = "results", .axes = "target", BB_OUTPUT_ROWS(mirror_rows)};

static bb_status publish_mirrors(const bb_tomography *problem, bb_results *results)
{
    bb_status status = BB_OK;
    mirror_row *rows = NULL; // [targets]
    BB_TRY(BB_ALLOCATE(problem->target_count, &rows));
    for (bb_index t = 0; t < problem->target_count; ++t) {
        const bb_point_spread_grid *grid = bb_point_spread_layout(problem->targets[t].spread);
        rows[t] = (mirror_row){(double)grid->actuator_count, (double)grid->dropped_modes};
    }
    BB_TRY(bb_output_table_publish_records(&mirrors_outputs, rows, sizeof *rows,
                                           problem->target_count, NULL, results));
done:
    BB_RELEASE(&rows);
    return status;
}

// Star, axis and pupil position of a slope.
typedef struct slope_row {
    double index, star, x_m, y_m;
    const char *axis;
} slope_row;

static const bb_output slope_rows[] = {
    {"slope", "slope", "1", "index of the slope: row or column of operators",
     .member = offsetof(slope_row, index)},
    {"star", "slope", "1", "index of its star; 0 for a target's sensor",
     .member = offsetof(slope_row, star)},
    {"x_m", "slope", "m", "centre of its subaperture in the pupil",
     .member = offsetof(slope_row, x_m)},
    {"y_m", "slope", "m", "centre of its subaperture in the pupil",
     .member = offsetof(slope_row, y_m)},
    {"axis", "slope", NULL, "axis of the slope", .note = "`x` or `y`",
     .member = offsetof(slope_row, axis)},
};

static const bb_output_table slopes_outputs = {
    .title = "/slopes, ao with `--dump` of Cmm, Ctm, Ctt or R",
    .group = "slopes",
    .axes = "slope",
    BB_OUTPUT_ROWS(slope_rows)};

static const bb_output_table truth_slopes_outputs = {
    .title = "/truth_slopes_<t>, ao with `--dump` of Ctm, Ctt or R",
    .group = "truth_slopes_<t>",
    .axes = "slope",
    BB_OUTPUT_ROWS(slope_rows)};

static bb_status publish_slopes(const bb_sensor_array *array, const char *group,
                                bb_results *results)
{
    bb_status status = BB_OK;
    const bb_output_fill fill = {.group = group}; // the table's own group, or a target's
    slope_row *rows = NULL;                       // [slopes]
    BB_TRY(BB_ALLOCATE(array->measurement_count, &rows));
    for (bb_index s = 0; s < array->sensor_count; ++s) {
        const bb_sensor *sensor = &array->sensors[s];
        for (bb_index i = 0; i < 2 * sensor->count; ++i) {
            const bb_index k = sensor->first + i;
            rows[k] = (slope_row){(double)k, (double)s, sensor->x_m[i % sensor->count],
                                  sensor->y_m[i % sensor->count], i < sensor->count ? "x" : "y"};
        }
    }
    BB_TRY(bb_output_table_publish_records(&slopes_outputs, rows, sizeof *rows,
                                           array->measurement_count, &fill, results));
done:
    BB_RELEASE(&rows);
    return status;
}

static bb_status publish_coordinates(const bb_tomography *problem, const char *names,
                                     bb_results *results)
{
    bb_status status = BB_OK;
    const bool truths =
        bb_dump_wanted(names, "Ctm") || bb_dump_wanted(names, "Ctt") || bb_dump_wanted(names, "R");
    char group[48];
    if (truths || bb_dump_wanted(names, "Cmm")) {
        BB_TRY(publish_slopes(&problem->guides, "slopes", results));
    }
    for (bb_index t = 0; truths && t < problem->target_count; ++t) {
        (void)snprintf(group, sizeof group, "truth_slopes_%td", t);
        BB_TRY(publish_slopes(&problem->targets[t].truth, group, results));
    }
done:
    return status;
}

// Publishes /system and, in /results, the mirrors' modes and the error budget of the reference,
// whose noise_m is known by then.
static bb_status run(void *all, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_ao_work *work = all;
    const bb_ao_study *study = work->study;
    const bb_tomography *problem = work->problem;
    const bb_ao_evaluation *reference = &work->evaluations[work->reference];
    const bb_ao_seeing seeing = bb_ao_seeing_of(study, &problem->atmosphere);
    BB_TRY(bb_output_table_publish(&seeing_outputs, &seeing, NULL, results));
    BB_TRY(bb_output_table_publish(
        &pupil_outputs, bb_point_spread_layout(problem->targets[0].spread), NULL, results));
    BB_TRY(publish_sensors(problem, results));
    BB_TRY(publish_mirrors(problem, results));
    BB_TRY(bb_ao_mcao_publish(problem, results));
    BB_TRY(publish_budget(study, problem, reference, results));
    BB_TRY(publish_coordinates(problem, work->dump, results));
done:
    return status;
}

const bb_part bb_ao_quantities_part = {
    .name = "quantities",
    .run = run,
    .outputs = BB_OUTPUTS(&mirrors_outputs, &budget_outputs, &bb_ao_mcao_outputs,
                          &bb_ao_mcao_mirrors, &seeing_outputs, &pupil_outputs, &sensors_outputs,
                          &slopes_outputs, &truth_slopes_outputs),
};
