// SPDX-License-Identifier: Apache-2.0
//
// bb_layer_tomography_need: memory and time of the covariances of all layers.
#include "core/memory.h"
#include "physics/ao/covariance/structure_function.h"
#include "physics/ao/night/layer_tomography.h"

#include <math.h>

double bb_layer_tomography_bytes(double layers, double n, double rows, double squared_rows)
{
    return sizeof(double) * layers * (n * n + rows * n + squared_rows);
}

// One layer of the series, its sensors, and derived sizes.
typedef struct extent {
    double n, rows, squared_rows, pixels; // pixels of all images
    bb_need tables;                       // of one layer: sensors and covariances
    bb_need fill;                         // of all its covariances once
    bb_need cmm;                          // of Cmm only
    bb_need terms;
} extent;

static bb_need array_need(const bb_sensor_array *array)
{
    bb_need need = {0};
    for (bb_index s = 0; s < array->sensor_count; ++s) {
        const bb_sensor *sensor = &array->sensors[s];
        need = bb_need_together(need, bb_sensor_array_need(sensor->lenslets, sensor->count, 1));
    }
    return need;
}

// Targets with the same lenslets share images and error terms; each is counted as if it had its
// own.
static void add_target(const bb_ao_config *config, const bb_sensor_array *guides,
                       const bb_sensor_array *truth, double threads, extent *out)
{
    const double m = (double)truth->measurement_count;
    const bb_index lenslets = truth->sensors[0].lenslets;
    const bb_index pixels = bb_point_spread_pixels(lenslets);
    const double pitch_m = config->telescope->diameter_m / (double)lenslets;
    const bb_displacement_grid grid = {
        pixels, pitch_m / (double)bb_point_spread_pixels_per_lenslet(lenslets)};
    out->rows += m;
    out->squared_rows += m * m;
    out->tables = bb_need_together(out->tables, array_need(truth));
    out->tables = bb_need_together(out->tables, bb_slope_covariance_need(truth, guides, threads));
    out->tables = bb_need_together(out->tables, bb_slope_covariance_need(truth, truth, threads));
    out->fill = bb_need_in_turn(out->fill, bb_slope_covariance_fill_need(truth, guides, threads));
    out->fill = bb_need_in_turn(out->fill, bb_slope_covariance_fill_need(truth, truth, threads));
    if (bb_error_terms_wanted(config->error_terms)) {
        const bb_need terms = bb_error_terms_need(config->error_terms, pitch_m, grid);
        out->pixels += 2.0 * (double)(pixels * pixels);
        out->terms = bb_need_in_turn(out->terms, terms);
    }
}

static bb_status measure(const bb_ao_config *config, const bb_profile_series *series,
                         bb_index target_count, double threads, extent *out)
{
    bb_status status = BB_OK;
    bb_layer_config one = {series->height_m[0], 1.0, NAN, NAN};
    const bb_atmosphere_config unit = {.profile = -1,
                                       .layers = {&one, 1},
                                       .outer_scale_m = series->outer_scale_m[0],
                                       .r0_m = NAN,
                                       .seeing_arcsec = NAN,
                                       .seeing_wavelength_nm = 500.0};
    bb_atmosphere atmosphere = {0};
    bb_sensor_array guides = {0};
    bb_sensor_array truth = {0};
    *out = (extent){0};
    BB_TRY(bb_atmosphere_create(&unit, config->telescope->zenith_angle_deg, &atmosphere));
    BB_TRY(bb_sensor_array_create_guides(config, &atmosphere, &guides));
    out->n = (double)guides.measurement_count;
    out->tables = bb_need_together(array_need(&guides), bb_structure_table_need());
    out->tables =
        bb_need_together(out->tables, bb_slope_covariance_need(&guides, &guides, threads));
    out->cmm = out->fill = bb_slope_covariance_fill_need(&guides, &guides, threads);
    for (bb_index t = 0; t < target_count; ++t) {
        BB_TRY(bb_sensor_array_create_truth(config, t, &atmosphere, &truth));
        add_target(config, &guides, &truth, threads, out);
        bb_sensor_array_release(&truth);
    }
done:
    bb_sensor_array_release(&truth);
    bb_sensor_array_release(&guides);
    bb_atmosphere_release(&atmosphere);
    return status;
}

static double outer_scales(const bb_profile_series *series)
{
    double count = 0.0;
    for (bb_index l = 0; l < series->layer_count; ++l) {
        bb_index k = 0;
        while (series->outer_scale_m[k] != series->outer_scale_m[l]) {
            ++k;
        }
        count += k == l ? 1.0 : 0.0;
    }
    return count;
}

bb_status bb_layer_tomography_need(const bb_ao_config *config, const bb_profile_series *series,
                                   bb_index target_count, double held_bytes, double threads,
                                   bb_need *making, bb_need *held, bb_need *filling)
{
    bb_status status = BB_OK;
    const double layers = (double)series->layer_count;
    const bool fitting = config->error_terms != NULL && config->error_terms->fitting;
    extent span;
    BB_TRY(measure(config, series, target_count, threads, &span));
    const bb_need matrices = {
        .host_bytes = bb_layer_tomography_bytes(layers, span.n, span.rows, span.squared_rows)};
    const bool holds = matrices.host_bytes <= held_bytes;
    bb_need scale = bb_structure_table_need();
    for (bb_index t = 0; fitting && t < target_count; ++t) {
        scale = bb_need_together(scale, bb_structure_function_corrected_need());
    }
    bb_need kept = bb_need_copies(scale, outer_scales(series));
    kept = bb_need_together(kept, bb_measurement_noise_need((bb_index)(0.5 * span.n)));
    kept.host_bytes += sizeof(double) * (span.pixels + 2.0 * span.n * 6.0 + 8.0 * layers);
    *making = bb_need_together(
        kept,
        holds ? bb_need_together(matrices,
                                 bb_need_repeated(bb_need_in_turn(span.tables, span.fill), layers))
              : bb_need_copies(span.tables, layers));
    *held = bb_need_resident(holds ? bb_need_together(kept, matrices) : *making);
    *making = bb_need_in_turn(*making, bb_need_together(*held, span.terms)); // the first set
    *filling = (bb_need){.seconds = 1.0e-9 * layers * span.n * span.n / threads};
    if (!holds) {
        *filling = bb_need_together(*filling, bb_need_repeated(span.cmm, layers));
    }
    *filling = bb_need_together(*filling, span.terms);
done:
    return status;
}
