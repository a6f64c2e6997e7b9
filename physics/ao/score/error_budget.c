// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/score/error_budget.h"

#include "core/memory.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

bb_status bb_error_budget_of_terms(const bb_error_terms_config *config,
                                   const bb_tomography *tomography, bb_index target,
                                   bb_error_budget *out)
{
    bb_status status = BB_OK;
    const bb_tomography_target *aim = &tomography->targets[target];
    const bb_point_spread_grid *grid = bb_point_spread_layout(aim->spread);
    const bb_sensor *sensor = &aim->truth.sensors[0];
    double *variances[] = {&out->fitting, &out->aliasing, &out->lag};
    double *half = NULL;
    *out = (bb_error_budget){0};
    BB_TRY(BB_ALLOCATE(grid->pixels * grid->pixels, &half));
    for (int term = 0; term < 3; ++term) {
        bb_error_terms_config alone = *config;
        alone.fitting = config->fitting && term == 0;
        alone.aliasing = config->aliasing && term == 1;
        alone.frame_delay_ms = term == 2 ? config->frame_delay_ms : 0.0;
        if (!bb_error_terms_wanted(&alone)) {
            continue;
        }
        BB_TRY(bb_error_terms_create(&alone, &tomography->atmosphere, aim->corrected,
                                     sensor->size_m,
                                     (bb_displacement_grid){grid->pixels, grid->pixel_m}, half));
        *variances[term] = bb_point_spread_variance(aim->spread, half);
    }
done:
    BB_RELEASE(&half);
    return status;
}

// A row of N from `first` on: the variance of a slope and its covariance with the other one of its
// subaperture.
static void fill_row(const bb_tomography *tomography, bb_index row, bb_index first, bb_index count,
                     double *line)
{
    const bb_sensor *sensor = tomography->guides.sensors;
    while (row >= sensor->first + 2 * sensor->count) {
        ++sensor;
    }
    const bool x = row < sensor->first + sensor->count;
    const bb_index subaperture = row - sensor->first - (x ? 0 : sensor->count);
    const bb_index other = x ? row + sensor->count : row - sensor->count;
    const bb_slope_noise *noise = &tomography->noise.subaperture[sensor->first / 2 + subaperture];
    memset(line, 0, (size_t)count * sizeof *line);
    if (row >= first && row < first + count) {
        line[row - first] = x ? noise->xx : noise->yy;
    }
    if (other >= first && other < first + count) {
        line[other - first] = noise->xy;
    }
}

static bb_status fill(const bb_matrix_source *source, bb_index row, bb_index column, bb_view out)
{
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        fill_row(source->context, row + i, column, out.shape[1], bb_view_row(out, i));
    }
    return BB_OK;
}

bb_matrix_source bb_error_budget_noise(const bb_tomography *tomography)
{
    const bb_index n = tomography->guides.measurement_count;
    return (bb_matrix_source){.rows = n,
                              .columns = n,
                              .symmetric = true,
                              .name = "noise",
                              .unit = "arcsec^2",
                              .fill = fill,
                              .context = tomography};
}

double bb_error_budget_slope_noise(const bb_tomography *tomography, bb_index star)
{
    const bb_sensor *sensor = &tomography->guides.sensors[star];
    double sum = 0.0;
    for (bb_index i = 0; i < sensor->count; ++i) {
        const bb_slope_noise *noise = &tomography->noise.subaperture[sensor->first / 2 + i];
        sum += 0.5 * (noise->xx + noise->yy);
    }
    return sqrt(sum / (double)sensor->count);
}
