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

// A row of N: the variance of a slope and its covariance with the other one of its subaperture.
static bb_status add_row(const bb_tomography *tomography, const bb_sensor *sensor, bb_index row,
                         bb_triplets *list)
{
    bb_status status = BB_OK;
    const bool x = row < sensor->first + sensor->count;
    const bb_index subaperture = row - sensor->first - (x ? 0 : sensor->count);
    const bb_index other = x ? row + sensor->count : row - sensor->count;
    const bb_slope_noise *noise = &tomography->noise.subaperture[sensor->first / 2 + subaperture];
    BB_TRY(bb_triplets_add(list, row, row, x ? noise->xx : noise->yy));
    BB_TRY(bb_triplets_add(list, row, other, noise->xy));
done:
    return status;
}

bb_status bb_error_budget_noise(const bb_tomography *tomography, bb_csr *out)
{
    bb_status status = BB_OK;
    const bb_index n = tomography->guides.measurement_count;
    bb_triplets list = {0};
    for (bb_index s = 0; s < tomography->guides.sensor_count; ++s) {
        const bb_sensor *sensor = &tomography->guides.sensors[s];
        for (bb_index i = 0; i < 2 * sensor->count; ++i) {
            BB_TRY(add_row(tomography, sensor, sensor->first + i, &list));
        }
    }
    BB_TRY(bb_csr_assemble(n, n, &list, out));
done:
    bb_triplets_release(&list);
    return status;
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
