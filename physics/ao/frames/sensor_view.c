// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/frames/sensor_view.h"

#include "core/memory.h"
#include "physics/ao/ao_constants.h"

#include <math.h>

// Positions and widths of a sensor's columns (axis x) or rows (axis y) on a layer.
typedef struct lines {
    double *position[2]; // [lenslets], by axis
    double *width[2];
} lines;

static void release_lines(lines *rows)
{
    for (int axis = BB_AXIS_X; axis <= BB_AXIS_Y; ++axis) {
        BB_RELEASE(&rows->position[axis]);
        BB_RELEASE(&rows->width[axis]);
    }
}

static void lenslet_of(const bb_sensor *sensor, bb_index i, bb_index indices[2])
{
    indices[BB_AXIS_X] = sensor->site[i] % (2 * sensor->lenslets - 1);
    indices[BB_AXIS_Y] = sensor->site[i] / (2 * sensor->lenslets - 1);
}

// Middle and extent of a subaperture's image along an axis, from the ends of its slope.
static void measure(const bb_sensor *sensor, bb_index layer, int axis, bb_index i, double *middle,
                    double *width, double *side)
{
    const bb_slope_ends *ends = &sensor->ends[axis];
    const double *x = ends->layer_x_m + layer * ends->count;
    const double *y = ends->layer_y_m + layer * ends->count;
    const double *along = axis == BB_AXIS_X ? x : y;
    const double *across = axis == BB_AXIS_X ? y : x;
    const bb_index minus = ends->minus[i];
    const bb_index plus = ends->plus[i];
    *middle = 0.5 * (along[minus] + along[plus]);
    *width = along[plus] - along[minus];
    *side = fabs(across[plus] - across[minus]);
}

static bb_status find_lines(const bb_sensor *sensor, bb_index layer, lines *rows)
{
    bb_status status = BB_OK;
    const double slack = 1e-9 * sensor->size_m;
    for (int axis = BB_AXIS_X; axis <= BB_AXIS_Y; ++axis) {
        BB_TRY(BB_ALLOCATE(sensor->lenslets, &rows->position[axis]));
        BB_TRY(BB_ZEROED(sensor->lenslets, &rows->width[axis]));
        for (bb_index k = 0; k < sensor->lenslets; ++k) {
            rows->position[axis][k] = NAN;
        }
        for (bb_index i = 0; i < sensor->count; ++i) {
            bb_index indices[2];
            double middle = 0.0;
            double width = 0.0;
            double side = 0.0;
            lenslet_of(sensor, i, indices);
            measure(sensor, layer, axis, i, &middle, &width, &side);
            double *known = &rows->position[axis][indices[axis]];
            rows->width[axis][indices[axis]] = width;
            *known = isnan(*known) ? middle : *known;
            BB_REQUIRE(side <= slack && fabs(middle - *known) <= slack, BB_UNSUPPORTED,
                       "the phase screens of monte_carlo need lenslets parallel to the axes: "
                       "subaperture %td stands %.3g m askew",
                       i, fmax(side, fabs(middle - *known)));
        }
        for (bb_index k = 0; k < sensor->lenslets; ++k) {
            // A line without a valid subaperture is not looked at.
            rows->position[axis][k] =
                isnan(rows->position[axis][k]) ? 0.0 : rows->position[axis][k];
        }
    }
done:
    return status;
}

bb_status bb_sensor_view_create(const bb_phase_screen *screen, const bb_sensor *sensor,
                                bb_index layer, bb_sensor_view *out)
{
    bb_status status = BB_OK;
    bb_sensor_view view = {.sensor = sensor};
    const bb_screen_taken mean = bb_sensor_averages(sensor) ? BB_SCREEN_MEAN : BB_SCREEN_POINT;
    lines rows = {0};
    BB_TRY(find_lines(sensor, layer, &rows));
    for (int axis = BB_AXIS_X; axis <= BB_AXIS_Y; ++axis) {
        const bool x = axis == BB_AXIS_X;
        const int other = x ? BB_AXIS_Y : BB_AXIS_X;
        BB_TRY(bb_screen_axis_create(screen, x, sensor->lenslets, rows.position[axis],
                                     rows.width[axis], BB_SCREEN_DIFFERENCE, &view.across[axis]));
        BB_TRY(bb_screen_axis_create(screen, !x, sensor->lenslets, rows.position[other],
                                     rows.width[other], mean, &view.along[axis]));
    }
    *out = view;
    view = (bb_sensor_view){0};
done:
    release_lines(&rows);
    bb_sensor_view_release(&view);
    return status;
}

void bb_sensor_view_release(bb_sensor_view *view)
{
    for (int axis = BB_AXIS_X; axis <= BB_AXIS_Y; ++axis) {
        bb_screen_axis_release(&view->across[axis]);
        bb_screen_axis_release(&view->along[axis]);
    }
}

bb_status bb_sensor_view_add(const bb_sensor_view *view, const bb_phase_screen *screen,
                             const bb_amplitude *amplitudes, double *slopes)
{
    bb_status status = BB_OK;
    const bb_sensor *sensor = view->sensor;
    const bb_index n = sensor->lenslets;
    const double arcsec_per_radian_of_phase =
        BB_ARCSEC_PER_RADIAN * BB_R0_WAVELENGTH_M / (2.0 * BB_PI * sensor->size_m);
    double *grid = NULL;
    for (int axis = BB_AXIS_X; axis <= BB_AXIS_Y; ++axis) {
        const bool x = axis == BB_AXIS_X;
        BB_RELEASE(&grid);
        BB_TRY(BB_ZEROED(n * n, &grid));
        BB_TRY(bb_phase_screen_add(screen, amplitudes, x ? &view->across[axis] : &view->along[axis],
                                   x ? &view->along[axis] : &view->across[axis], grid));
        for (bb_index i = 0; i < sensor->count; ++i) {
            bb_index indices[2];
            lenslet_of(sensor, i, indices);
            slopes[axis * sensor->count + i] +=
                arcsec_per_radian_of_phase * grid[indices[BB_AXIS_Y] * n + indices[BB_AXIS_X]];
        }
    }
done:
    BB_RELEASE(&grid);
    return status;
}
