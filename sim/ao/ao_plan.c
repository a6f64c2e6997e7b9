// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_plan.h"

#include "sim/ao/ao_attempt.h"
#include "solvers/tile_cholesky.h"

#include <math.h>

// Planes of the point-spread grid that are held at once, each of doubles.
enum { PLANES = 6 };

// Sizes of a study, counted as doubles.
typedef struct extent {
    double n;              // measurements
    double m;              // truth slopes of all targets
    double squared_m;      // sum of their squares
    double layers, pixels; // pixels: N of the largest point-spread grid
    double largest_mirror; // lenslets
} extent;

static bb_status measure_targets(const bb_ao_config *physics, const bb_atmosphere *atmosphere,
                                 extent *out)
{
    bb_status status = BB_OK;
    bb_sensor_array truth = {0};
    for (bb_index t = 0; t < physics->target_count; ++t) {
        BB_TRY(bb_sensor_array_create_truth(physics, t, atmosphere, &truth));
        bb_index lenslets = truth.sensors[0].lenslets;
        double m = (double)truth.measurement_count;
        out->m += m;
        out->squared_m += m * m;
        out->pixels = fmax(out->pixels, (double)bb_point_spread_pixels(lenslets));
        out->largest_mirror = fmax(out->largest_mirror, (double)lenslets);
        bb_sensor_array_release(&truth);
    }
done:
    bb_sensor_array_release(&truth);
    return status;
}

static bb_status measure(const bb_ao_study *study, extent *out)
{
    bb_status status = BB_OK;
    bb_atmosphere atmosphere = {0};
    bb_sensor_array guides = {0};
    const bb_ao_config physics = bb_ao_study_physics(study);
    BB_TRY(
        bb_atmosphere_create(physics.atmosphere, physics.telescope->zenith_angle_deg, &atmosphere));
    BB_TRY(bb_sensor_array_create_guides(&physics, &atmosphere, &guides));
    *out =
        (extent){.n = (double)guides.measurement_count, .layers = (double)atmosphere.layer_count};
    BB_TRY(measure_targets(&physics, &atmosphere, out));
done:
    bb_sensor_array_release(&guides);
    bb_atmosphere_release(&atmosphere);
    return status;
}

// Adds a line a pipeline; returns the bytes of the factor that is the largest in host memory.
static bb_status list_operators(const bb_ao_study *study, bb_index n, bb_plan *plan, double *held)
{
    bb_status status = BB_OK;
    const bb_ao_pipeline *pipelines = study->pipelines.items;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        const bb_tile_plan tiles = bb_ao_study_tiles(study, &pipelines[p]);
        double bytes = (double)bb_tile_plan_bytes(&tiles, n);
        bool wide = pipelines[p].arithmetic == (int)BB_VARIANT_DP;
        *held = fmax(*held, bytes * (wide ? 1.0 : 2.0)); // narrow tiles are emulated in floats
        BB_TRY(bb_plan_add(plan, pipelines[p].name, "operator %.1f MB", 1e-6 * bytes));
    }
done:
    return status;
}

// Estimates and Cee of all pipelines and targets, Ctm, one factor, and the point-spread grid.
static double host_bytes(const extent *of, double pipelines, double factor_bytes)
{
    return BB_PLAN_PROGRAM_BYTES + factor_bytes +
           8.0 * pipelines * (2.0 * of->n * of->m + of->squared_m) + 8.0 * of->n * of->m +
           8.0 * PLANES * of->pixels * of->pixels;
}

static double output_bytes(const bb_ao_study *study)
{
    double by_target = (double)study->targets.count * (1.0 + (double)study->wavelengths_um.count);
    double image = (double)BB_AO_PSF_PIXELS * BB_AO_PSF_PIXELS;
    return 8.0 * (double)study->pipelines.count * (image + by_target);
}

// Rough rates of one core: 7e7 covariance entries and layers a second, 3e10 operations a second,
// and the pseudo-inverse of a mirror of n lenslets in 1.8 s (n / 40)^6.
static double seconds(const extent *of, double pipelines, double cores)
{
    double entries = (0.5 * pipelines + 2.0) * of->n * of->n + of->n * of->m;
    double operations =
        pipelines * bb_tile_cholesky_flops((bb_index)of->n, (bb_index)(2.0 * of->m));
    return 0.5 + entries * of->layers / 7e7 / cores + operations / 3e10 / cores +
           1.8 * pow(of->largest_mirror / 40.0, 6.0);
}

bb_status bb_ao_plan(const void *study, const bb_run_options *options, bb_plan *plan)
{
    bb_status status = BB_OK;
    const bb_ao_study *ao = study;
    double pipelines = (double)ao->pipelines.count;
    double factor_bytes = 0.0;
    extent of;
    BB_TRY(measure(ao, &of));
    BB_TRY(list_operators(ao, (bb_index)of.n, plan, &factor_bytes));
    BB_TRY(bb_plan_add(plan, "measurements", "%.0f, truth sensors %.0f", of.n, of.m));
    BB_TRY(bb_plan_add(plan, "layers", "%.0f", of.layers));
    plan->host_bytes = host_bytes(&of, pipelines, factor_bytes);
    plan->output_bytes = output_bytes(ao);
    plan->estimated_seconds = seconds(&of, pipelines, (double)options->threads);
done:
    return status;
}
