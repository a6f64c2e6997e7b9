// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/unknown_modes.h"

#include "core/memory.h"
#include "physics/ao/ao_constants.h"
#include "physics/zernike.h"

enum { FIRST_NOLL = 4 }; // first reference mode

static bool has_tilts(const bb_sensor *sensor, const bb_unknown_modes_config *config)
{
    return !sensor->star.kind->tilt_unknown && config->tilt_arcsec2 > 0.0;
}

static bool has_focus(const bb_sensor *sensor, const bb_unknown_modes_config *config)
{
    return sensor->star.kind->range_drifts && config->sodium_height_m2 > 0.0;
}

bb_index bb_unknown_modes_count(const bb_sensor_array *array, const bb_unknown_modes_config *config)
{
    bb_index count = 0;
    for (bb_index s = 0; s < array->sensor_count; ++s) {
        count += has_tilts(&array->sensors[s], config) ? 2 : 0;
        count += has_focus(&array->sensors[s], config) ? 1 : 0;
        count += config->reference_nm2 > 0.0 ? (bb_index)BB_REFERENCE_MODES : 0;
    }
    return count;
}

bb_need bb_unknown_modes_need(bb_index rows, bb_index columns)
{
    return (bb_need){.host_bytes = sizeof(double) * ((double)rows + 1.0) * (double)columns};
}

// Evaluates an aberration at the end of a slope along an axis; the mean along its edge by Simpson's
// rule, exact for cubics.
static double at_end(const bb_sensor *sensor, int axis, bb_index end, int mode)
{
    const bb_index noll = FIRST_NOLL + mode;
    const double radius = (double)sensor->lenslets; // in half lenslets
    const double x = (double)sensor->ends[axis].x[end] / radius;
    const double y = (double)sensor->ends[axis].y[end] / radius;
    const double along_x = axis == BB_AXIS_X ? 0.0 : 1.0 / radius;
    const double along_y = axis == BB_AXIS_X ? 1.0 / radius : 0.0;
    const double middle = bb_zernike_value(noll, x, y);
    if (!bb_sensor_averages(sensor)) {
        return middle;
    }
    return (bb_zernike_value(noll, x - along_x, y - along_y) + 4.0 * middle +
            bb_zernike_value(noll, x + along_x, y + along_y)) /
           6.0;
}

static double *place(const bb_unknown_modes *modes, const bb_sensor *sensor, int axis, bb_index i,
                     bb_index column)
{
    return modes->vectors + (sensor->first + axis * sensor->count + i) * modes->columns + column;
}

static void fill_tilts(const bb_sensor *sensor, bb_index column, bb_unknown_modes *modes)
{
    for (int axis = BB_AXIS_X; axis <= BB_AXIS_Y; ++axis) {
        for (bb_index i = 0; i < sensor->count; ++i) {
            *place(modes, sensor, axis, i, column + axis) = 1.0;
        }
    }
}

// Computes slopes per metre of height, along the axes of the grid.
static void fill_focus(const bb_sensor *sensor, double airmass, bb_index column,
                       bb_unknown_modes *modes)
{
    const double range_m = sensor->star.altitude_m;
    const double scale = -BB_ARCSEC_PER_RADIAN * airmass / (range_m * range_m);
    for (int axis = BB_AXIS_X; axis <= BB_AXIS_Y; ++axis) {
        double x;
        double y;
        bb_sensor_frame_turn(&sensor->frame, axis == BB_AXIS_X ? 1.0 : 0.0,
                             axis == BB_AXIS_X ? 0.0 : 1.0, &x, &y);
        for (bb_index i = 0; i < sensor->count; ++i) {
            *place(modes, sensor, axis, i, column) =
                scale * (x * sensor->x_m[i] + y * sensor->y_m[i]);
        }
    }
}

// Computes slopes of aberrations of a nanometre rms each.
static void fill_aberrations(const bb_sensor *sensor, bb_index column, bb_unknown_modes *modes)
{
    const double scale = 1e-9 * BB_ARCSEC_PER_RADIAN / sensor->size_m;
    for (int axis = BB_AXIS_X; axis <= BB_AXIS_Y; ++axis) {
        const bb_slope_ends *ends = &sensor->ends[axis];
        for (bb_index i = 0; i < sensor->count; ++i) {
            for (int mode = 0; mode < BB_REFERENCE_MODES; ++mode) {
                *place(modes, sensor, axis, i, column + mode) =
                    scale * (at_end(sensor, axis, ends->plus[i], mode) -
                             at_end(sensor, axis, ends->minus[i], mode));
            }
        }
    }
}

// Sets the variance of the next `count` modes and returns their first index.
static bb_index set_variances(bb_unknown_modes *modes, bb_index *column, bb_index count,
                              double variance)
{
    const bb_index first = *column;
    while (*column < first + count) {
        modes->variances[(*column)++] = variance;
    }
    return first;
}

bb_status bb_unknown_modes_create(const bb_sensor_array *array, double airmass,
                                  const bb_unknown_modes_config *config, bb_unknown_modes *out)
{
    bb_status status = BB_OK;
    bb_unknown_modes modes = {.rows = array->measurement_count,
                              .columns = bb_unknown_modes_count(array, config)};
    bb_index column = 0;
    BB_TRY(BB_ZEROED(modes.rows * modes.columns, &modes.vectors));
    BB_TRY(BB_ALLOCATE(modes.columns, &modes.variances));
    for (bb_index s = 0; s < array->sensor_count; ++s) {
        const bb_sensor *sensor = &array->sensors[s];
        if (has_tilts(sensor, config)) {
            fill_tilts(sensor, set_variances(&modes, &column, 2, config->tilt_arcsec2), &modes);
        }
    }
    for (bb_index s = 0; s < array->sensor_count; ++s) {
        const bb_sensor *sensor = &array->sensors[s];
        if (has_focus(sensor, config)) {
            fill_focus(sensor, airmass, set_variances(&modes, &column, 1, config->sodium_height_m2),
                       &modes);
        }
    }
    for (bb_index s = 0; config->reference_nm2 > 0.0 && s < array->sensor_count; ++s) {
        fill_aberrations(&array->sensors[s],
                         set_variances(&modes, &column, BB_REFERENCE_MODES, config->reference_nm2),
                         &modes);
    }
    *out = modes;
    modes = (bb_unknown_modes){0};
done:
    bb_unknown_modes_release(&modes);
    return status;
}

void bb_unknown_modes_release(bb_unknown_modes *modes)
{
    BB_RELEASE(&modes->vectors);
    BB_RELEASE(&modes->variances);
    modes->columns = 0;
}
