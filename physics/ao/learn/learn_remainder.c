// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/learn/learn_remainder.h"

#include "core/memory.h"

// Sums of weighted covariances of one sensor's slopes along one axis.
typedef struct sums {
    double own;    // of the variances
    double mutual; // of the covariances of two subapertures
} sums;

static bb_status add(const bb_matrix_source *source, bb_index first, bb_index count, double weight,
                     double *block, sums *totals)
{
    BB_RETURN_IF_FAILED(
        bb_matrix_source_fill(source, first, first, bb_view_matrix(block, count, count)));
    for (bb_index k = 0; k < count * count; ++k) {
        *(k % (count + 1) == 0 ? &totals->own : &totals->mutual) += weight * block[k];
    }
    return BB_OK;
}

bb_status bb_learn_remainder(const bb_learn_layers *layers, const double *strength,
                             bb_index source_count, const bb_matrix_source *sources,
                             double *noise_arcsec2, double *tilt_arcsec2)
{
    bb_status status = BB_OK;
    const bb_sensor_array *guides = &layers->items[0].guides;
    double *block = NULL;
    for (bb_index s = 0; s < guides->sensor_count; ++s) {
        const bb_sensor *sensor = &guides->sensors[s];
        const double n = (double)sensor->count;
        sums total = {0};
        BB_RELEASE(&block);
        BB_TRY(BB_ALLOCATE(sensor->count * sensor->count, &block));
        for (int axis = BB_AXIS_X; axis <= BB_AXIS_Y; ++axis) {
            const bb_index first = sensor->first + axis * sensor->count;
            for (bb_index k = 0; k < source_count; ++k) {
                BB_TRY(add(&sources[k], first, sensor->count, 1.0 / (double)source_count, block,
                           &total));
            }
            for (bb_index l = 0; l < layers->count; ++l) {
                BB_TRY(add(bb_slope_covariance_source(layers->items[l].covariance), first,
                           sensor->count, -strength[l], block, &total));
            }
        }
        const bool tilted = sensor->star.kind->tilt_unknown && sensor->count > 1;
        tilt_arcsec2[s] = tilted ? total.mutual / (2.0 * n * (n - 1.0)) : 0.0;
        noise_arcsec2[s] = total.own / (2.0 * n) - tilt_arcsec2[s];
    }
done:
    BB_RELEASE(&block);
    return status;
}
