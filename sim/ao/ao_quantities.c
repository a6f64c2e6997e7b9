// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_quantities.h"

#include "core/memory.h"
#include "physics/ao/score/error_budget.h"
#include "sim/dump.h"
#include "sim/pipelines/factor_device.h"

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

static bb_status publish_seeing(const bb_ao_study *study, const bb_atmosphere *atmosphere,
                                bb_results *results)
{
    bb_status status = BB_OK;
    const bb_ao_seeing seeing = bb_ao_seeing_of(study, atmosphere);
    const double tau0_ms = 1e3 * seeing.tau0_s;
    BB_TRY(bb_results_values(results, "system/r0_m", "m", "r0 at 500 nm, along the line of sight",
                             "", &seeing.r0_m));
    BB_TRY(bb_results_values(results, "system/seeing_arcsec", "arcsec",
                             "0.98 lambda / r0 at 500 nm, without an outer scale", "",
                             &seeing.seeing_arcsec));
    BB_TRY(bb_results_values(results, "system/theta0_arcsec", "arcsec",
                             "isoplanatic angle at 500 nm", "", &seeing.theta0_arcsec));
    BB_TRY(bb_results_values(results, "system/tau0_ms", "ms",
                             isnan(tau0_ms)
                                 ? "coherence time at 500 nm; NaN: the layers have no wind "
                                   "(error_terms.wind_m_per_s)"
                                 : "coherence time at 500 nm",
                             "", &tau0_ms));
done:
    return status;
}

static bb_status publish_sensors(const bb_tomography *problem, bb_results *results)
{
    enum { COLUMNS = 6 };
    bb_status status = BB_OK;
    const bb_sensor_array *guides = &problem->guides;
    const bb_index count = guides->sensor_count;
    static const struct {
        const char *path, *unit, *long_name;
    } columns[COLUMNS] = {
        {"system/star_x_arcsec", "arcsec", "direction of the guide star"},
        {"system/star_y_arcsec", "arcsec", "direction of the guide star"},
        {"system/subapertures", "1", "valid subapertures of its sensor"},
        {"system/flux_e", "1", "electrons a subaperture and frame"},
        {"system/slope_noise_mas", "mas", "rms noise of a slope, mean over subapertures and axes"},
        {"system/star", "1", "index of the guide star"},
    };
    double *values = NULL; // [COLUMNS][count]
    BB_TRY(BB_ALLOCATE(COLUMNS * count, &values));
    for (bb_index s = 0; s < count; ++s) {
        const bb_sensor *sensor = &guides->sensors[s];
        const double row[COLUMNS] = {
            sensor->star.x_rad * 180.0 / M_PI * 3600.0,
            sensor->star.y_rad * 180.0 / M_PI * 3600.0,
            (double)sensor->count,
            bb_measurement_electrons(sensor, guides->atmosphere_transmission),
            1e3 * bb_error_budget_slope_noise(problem, s),
            (double)s};
        for (int c = 0; c < COLUMNS; ++c) {
            values[c * count + s] = row[c];
        }
    }
    const int index = COLUMNS - 1;
    BB_TRY(bb_results_axis(results, columns[index].path, columns[index].unit,
                           columns[index].long_name, count, values + index * count));
    for (int c = 0; c < index; ++c) {
        BB_TRY(bb_results_values(results, columns[c].path, columns[c].unit, columns[c].long_name,
                                 "star", values + c * count));
    }
done:
    BB_RELEASE(&values);
    return status;
}

static bb_status fill_nothing(const bb_matrix_source *source, bb_index row, bb_index column,
                              bb_view out)
{
    (void)source;
    (void)row;
    (void)column;
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        memset(bb_view_row(out, i), 0, (size_t)out.shape[1] * sizeof(double));
    }
    return BB_OK;
}

bb_status bb_ao_quantities_noise(const bb_ao_study *study, const bb_tomography *problem,
                                 bool scores_on_device, bb_ao_evaluation *reference)
{
    bb_status status = BB_OK;
    const bb_index targets = problem->target_count;
    const bb_matrix_source noise = bb_error_budget_noise(problem);
    const double wavelength_m = 1e-6 * ((const double *)study->wavelengths_um.items)[0];
    bb_residual_task *tasks = NULL;
    bb_matrix_source *none = NULL; // [targets][2]: no covariance with, and none of, the truth
    if (reference->common.outcome.kind != BB_OUTCOME_OK) {
        goto done;
    }
    BB_TRY(BB_ZEROED(targets, &tasks));
    BB_TRY(BB_ZEROED(2 * targets, &none));
    for (bb_index t = 0; t < targets; ++t) {
        const bb_index m = problem->targets[t].ctm->rows;
        none[2 * t] = *problem->targets[t].ctm;
        none[2 * t + 1] = *problem->targets[t].ctt;
        for (int k = 0; k < 2; ++k) {
            none[2 * t + k].fill = fill_nothing;
            none[2 * t + k].twin = NULL;
        }
        tasks[t] = (bb_residual_task){bb_ao_evaluation_reconstructor(reference, t), &none[2 * t],
                                      &none[2 * t + 1], NULL};
        BB_TRY(BB_ALLOCATE(m * m, &tasks[t].cee));
    }
    BB_TRY(bb_factor_device_score(&noise, scores_on_device, targets, tasks));
    for (bb_index t = 0; t < targets; ++t) {
        double strehl = NAN;
        bb_outcome outcome = {0};
        bb_tomography_score score = {.kind = (bb_score)study->score, .strehl = &strehl};
        BB_TRY(bb_tomography_rate(problem, t, tasks[t].cee, 1, &wavelength_m, &score, &outcome));
        reference->noise_m[t] = score.correctable_rms;
    }
done:
    for (bb_index t = 0; tasks != NULL && t < targets; ++t) {
        BB_RELEASE(&tasks[t].cee);
    }
    BB_RELEASE(&tasks);
    BB_RELEASE(&none);
    return status;
}

enum { TOMOGRAPHY, NOISE, FITTING, ALIASING, LAG, TOTAL, TERMS };
static const char *const term_names[TERMS] = {"tomography", "noise", "fitting",
                                              "aliasing",   "lag",   "total"};

static bb_status publish_budget(const bb_ao_study *study, const bb_tomography *problem,
                                const bb_ao_evaluation *reference, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_index targets = problem->target_count;
    double *budget = NULL; // [targets][TERMS], nm
    BB_TRY(bb_evaluation_unset(targets * TERMS, &budget));
    for (bb_index t = 0; t < targets; ++t) {
        double *row = budget + t * TERMS;
        bb_error_budget terms;
        BB_TRY(bb_error_budget_of_terms(&study->error_terms, problem, t, &terms));
        const double total = reference->residual_m[t] * reference->residual_m[t];
        const double noise = reference->noise_m[t] * reference->noise_m[t];
        const double rest = total - noise - terms.fitting - terms.aliasing - terms.lag;
        row[TOMOGRAPHY] = isnan(rest) ? NAN : 1e9 * sqrt(fmax(rest, 0.0));
        row[NOISE] = 1e9 * reference->noise_m[t];
        row[FITTING] = 1e9 * sqrt(terms.fitting);
        row[ALIASING] = 1e9 * sqrt(terms.aliasing);
        row[LAG] = 1e9 * sqrt(terms.lag);
        row[TOTAL] = 1e9 * reference->residual_m[t];
    }
    BB_TRY(bb_results_text_axis(results, "results/error_term", "part of the residual", TERMS,
                                term_names));
    BB_TRY(bb_results_values(results, "results/error_budget_nm", "nm",
                             "rms of each part of the reference's residual; tomography has the "
                             "guide stars' aliasing in it, total is residual_rms_by_nm; 0: off",
                             "target, error_term", budget));
done:
    BB_RELEASE(&budget);
    return status;
}

static bb_status publish_mirrors(const bb_tomography *problem, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_index targets = problem->target_count;
    double *values = NULL; // [2][targets]
    BB_TRY(BB_ALLOCATE(2 * targets, &values));
    for (bb_index t = 0; t < targets; ++t) {
        const bb_point_spread_grid *grid = bb_point_spread_layout(problem->targets[t].spread);
        values[t] = (double)grid->actuator_count;
        values[targets + t] = (double)grid->dropped_modes;
    }
    BB_TRY(bb_results_values(results, "results/actuators", "1", "actuators of the target's mirror",
                             "target", values));
    BB_TRY(bb_results_values(results, "results/dropped_modes", "1",
                             "modes that its projector leaves out", "target", values + targets));
done:
    BB_RELEASE(&values);
    return status;
}

// Star, axis and place in the pupil of every slope of an array, as a group.
static bb_status publish_slopes(const bb_sensor_array *array, const char *group,
                                bb_results *results)
{
    enum { INDEX, STAR, X, Y, COLUMNS };
    bb_status status = BB_OK;
    static const char *const names[COLUMNS] = {"slope", "star", "x_m", "y_m"};
    static const char *const units[COLUMNS] = {"1", "1", "m", "m"};
    static const char *const long_names[COLUMNS] = {
        "index of the slope: row or column of operators", "index of its star, 0 of a target",
        "middle of its subaperture in the pupil", "middle of its subaperture in the pupil"};
    const bb_index n = array->measurement_count;
    double *values = NULL; // [COLUMNS][n]
    const char **axes = NULL;
    char path[80];
    BB_TRY(BB_ALLOCATE(COLUMNS * n, &values));
    BB_TRY(BB_ALLOCATE(n, &axes));
    for (bb_index s = 0; s < array->sensor_count; ++s) {
        const bb_sensor *sensor = &array->sensors[s];
        for (bb_index i = 0; i < 2 * sensor->count; ++i) {
            const bb_index k = sensor->first + i;
            values[INDEX * n + k] = (double)k;
            values[STAR * n + k] = (double)s;
            values[X * n + k] = sensor->x_m[i % sensor->count];
            values[Y * n + k] = sensor->y_m[i % sensor->count];
            axes[k] = i < sensor->count ? "x" : "y";
        }
    }
    for (int c = 0; c < COLUMNS; ++c) {
        (void)snprintf(path, sizeof path, "%.40s/%s", group, names[c]);
        BB_TRY(c == INDEX ? bb_results_axis(results, path, units[c], long_names[c], n, values)
                          : bb_results_values(results, path, units[c], long_names[c], "slope",
                                              values + c * n));
    }
    (void)snprintf(path, sizeof path, "%.40s/axis", group);
    BB_TRY(bb_results_texts(results, path, "axis of the slope", "slope", axes));
done:
    BB_RELEASE(&values);
    BB_RELEASE(&axes);
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

bb_status bb_ao_quantities_publish(const bb_ao_study *study, const bb_tomography *problem,
                                   const bb_ao_evaluation *reference, const char *names,
                                   bb_results *results)
{
    bb_status status = BB_OK;
    BB_TRY(publish_seeing(study, &problem->atmosphere, results));
    BB_TRY(publish_sensors(problem, results));
    BB_TRY(publish_mirrors(problem, results));
    BB_TRY(publish_budget(study, problem, reference, results));
    BB_TRY(publish_coordinates(problem, names, results));
done:
    return status;
}
