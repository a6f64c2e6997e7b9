// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/score/shake.h"

#include "core/memory.h"
#include "core/thread.h"

#include <cblas.h>

enum { ROWS = 16 }; // of a task

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

typedef struct estimating {
    bb_index n;
    const double *tilts; // [2][n]
    const double *r;
    double *out;
} estimating;

static bb_status estimate_rows(void *context, bb_index begin, bb_index end)
{
    const estimating *work = context;
    for (bb_index i = begin; i < end; ++i) {
        for (int axis = 0; axis < 2; ++axis) {
            double sum = 0.0;
            for (bb_index j = 0; j < work->n; ++j) {
                sum += work->r[i * work->n + j] * work->tilts[axis * work->n + j];
            }
            work->out[2 * i + axis] = sum;
        }
    }
    return BB_OK;
}

bb_status bb_shake_estimate(const bb_sensor_array *guides, bb_index rows, const double *r,
                            double *out)
{
    bb_status status = BB_OK;
    const bb_index n = guides->measurement_count;
    double *tilts = NULL; // [2][n]
    BB_TRY(BB_ALLOCATE(2 * n, &tilts));
    fill_tilt(guides, 0, tilts);
    fill_tilt(guides, 1, tilts + n);
    estimating work = {n, tilts, r, out};
    BB_TRY(bb_thread_ranges(rows, ROWS, estimate_rows, &work));
done:
    BB_RELEASE(&tilts);
    return status;
}

bb_status bb_shake_add(const bb_sensor_array *truth, const bb_deformable_mirror *mirror,
                       double rms_arcsec, const double *estimated, double *cee)
{
    bb_status status = BB_OK;
    const bb_index m = mirror != NULL ? mirror->actuator_count : truth->measurement_count;
    double *rest = NULL; // [m]
    if (rms_arcsec == 0.0) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(m, &rest));
    for (int axis = 0; axis < 2; ++axis) {
        BB_TRY(fill_wanted(truth, mirror, axis, rest));
        for (bb_index i = 0; i < m; ++i) {
            rest[i] -= estimated[2 * i + axis];
        }
        for (bb_index i = 0; i < m; ++i) {
            for (bb_index j = 0; j < m; ++j) {
                cee[i * m + j] += rms_arcsec * rms_arcsec * rest[i] * rest[j];
            }
        }
    }
done:
    BB_RELEASE(&rest);
    return status;
}
