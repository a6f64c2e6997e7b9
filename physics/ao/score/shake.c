// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/score/shake.h"

#include "core/memory.h"

#include <cblas.h>

// Slopes [measurement_count] of a tilt of one arcsecond along an axis of the sky (0: x): what of it
// lies along the axes of each grid.
static void fill_tilt(const bb_sensor_array *array, int axis, double *slopes)
{
    for (bb_index s = 0; s < array->sensor_count; ++s) {
        const bb_sensor *sensor = &array->sensors[s];
        for (int along = 0; along < 2; ++along) {
            double x;
            double y;
            bb_sensor_frame_turn(&sensor->frame, along == 0 ? 1.0 : 0.0, along == 0 ? 0.0 : 1.0, &x,
                                 &y);
            for (bb_index i = 0; i < sensor->count; ++i) {
                slopes[sensor->first + along * sensor->count + i] = axis == 0 ? x : y;
            }
        }
    }
}

// What an estimate is to make of a tilt along an axis: slopes of the truth sensor, or the commands
// that they ask the mirror for.
static bb_status fill_wanted(const bb_sensor_array *truth, const bb_deformable_mirror *mirror,
                             int axis, double *out)
{
    bb_status status = BB_OK;
    const int slopes = (int)truth->measurement_count;
    double *seen = NULL;
    if (mirror == NULL) {
        fill_tilt(truth, axis, out);
        goto done;
    }
    BB_TRY(BB_ALLOCATE(truth->measurement_count, &seen));
    fill_tilt(truth, axis, seen);
    cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)mirror->actuator_count, slopes, 1.0,
                mirror->projector, slopes, seen, 1, 0.0, out, 1);
done:
    BB_RELEASE(&seen);
    return status;
}

bb_status bb_shake_add(const bb_sensor_array *guides, const bb_sensor_array *truth,
                       const bb_deformable_mirror *mirror, double rms_arcsec, const double *r,
                       double *cee)
{
    bb_status status = BB_OK;
    const bb_index n = guides->measurement_count;
    const bb_index m = mirror != NULL ? mirror->actuator_count : truth->measurement_count;
    double *seen = NULL; // [n]
    double *rest = NULL; // [m]
    if (rms_arcsec == 0.0) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(n, &seen));
    BB_TRY(BB_ALLOCATE(m, &rest));
    for (int axis = 0; axis < 2; ++axis) {
        fill_tilt(guides, axis, seen);
        BB_TRY(fill_wanted(truth, mirror, axis, rest));
        for (bb_index i = 0; i < m; ++i) {
            for (bb_index j = 0; j < n; ++j) {
                rest[i] -= r[i * n + j] * seen[j];
            }
        }
        for (bb_index i = 0; i < m; ++i) {
            for (bb_index j = 0; j < m; ++j) {
                cee[i * m + j] += rms_arcsec * rms_arcsec * rest[i] * rest[j];
            }
        }
    }
done:
    BB_RELEASE(&seen);
    BB_RELEASE(&rest);
    return status;
}
