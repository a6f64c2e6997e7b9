// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/slit_grid.h"

#include <math.h>
#include <stdint.h>

double bb_slit_grid_strip(const bb_scan *scan)
{
    return scan->slit_width + scan->speed * scan->step + scan->sagitta;
}

// Computes the maximum number of rows with a margin of a quarter of a row in the window.
static bb_index fitting_rows(const bb_scan *scan, bb_index window_rows)
{
    return (bb_index)floor(((double)window_rows - 0.25) * scan->field_height /
                           bb_slit_grid_strip(scan));
}

bb_status bb_slit_grid_make(const bb_response_config *config, const bb_scan *scan,
                            bb_slit_grid *out)
{
    bb_status status = BB_OK;
    bb_index columns = config->slit_points.columns;
    bb_index rows = config->slit_points.rows;
    BB_REQUIRE(columns >= 2 && rows >= 2, BB_INVALID,
               "response.slit_points of %td x %td, expected at least 2 x 2", columns, rows);
    bool given = config->field_rows != BB_INTEGER_UNSET;
    bb_index field_rows = given ? config->field_rows : fitting_rows(scan, rows);
    double strip = bb_slit_grid_strip(scan);
    BB_REQUIRE(field_rows >= rows, BB_INVALID,
               "response.field_rows = %td%s, expected at least the %td rows of the window",
               field_rows, given ? "" : " (from the strip)", rows);
    double pitch = scan->field_height / (double)field_rows;
    BB_REQUIRE((double)rows * pitch >= strip, BB_INVALID,
               "response.slit_points: %td rows of %.4g mm do not cover the %.4g mm exposed in a "
               "step, expected at least %td rows, or response.field_rows up to %td",
               rows, 1e3 * pitch, 1e3 * strip, (bb_index)ceil(strip / pitch),
               (bb_index)floor((double)rows * scan->field_height / strip));
    *out = (bb_slit_grid){
        .scan = scan,
        .columns = columns,
        .window_rows = rows,
        .field_rows = field_rows,
        .window_points = columns * rows,
        .field_points = columns * field_rows,
        .pitch_x = scan->field_width / (double)(columns - 1),
        .pitch_y = pitch,
    };
done:
    return status;
}

double bb_slit_grid_x(const bb_slit_grid *grid, const bb_field *field, bb_index point)
{
    double from_middle = (double)(point % grid->columns) - 0.5 * (double)(grid->columns - 1);
    return field->x + from_middle * grid->pitch_x;
}

double bb_slit_grid_y(const bb_slit_grid *grid, const bb_field *field, bb_index point)
{
    bb_index row = point / grid->columns;
    double from_middle = (double)row - 0.5 * (double)(grid->field_rows - 1);
    return field->y + from_middle * grid->pitch_y;
}

// First and last row of the field, as real numbers, of the scored points with dose in a step;
// `first` > `last` if there are none.
static void find_scored(const bb_slit_grid *grid, const bb_field *field, bb_index step,
                        double *first, double *last)
{
    const bb_scan *scan = grid->scan;
    *first = INFINITY;
    *last = -INFINITY;
    for (bb_index i = 0; i < grid->scored_columns * grid->scored_rows; ++i) {
        const bb_index column = i % grid->scored_columns;
        const bb_index row = i / grid->scored_columns;
        const double across = ((double)column + 0.5) / (double)grid->scored_columns - 0.5;
        const double along = ((double)row + 0.5) / (double)grid->scored_rows - 0.5;
        if (bb_scan_dose_fraction(scan, field, step, field->x + across * scan->field_width,
                                  field->y + along * scan->field_height) > 0.0) {
            const double place =
                along * scan->field_height / grid->pitch_y + 0.5 * (double)(grid->field_rows - 1);
            *first = fmin(*first, place);
            *last = fmax(*last, place);
        }
    }
}

// Window offsets that cover the scored points of a step: [low, high], empty if low > high. Points
// on a row's centre are included despite rounding.
static void find_offsets(const bb_slit_grid *grid, const bb_field *field, bb_index step,
                         double *low, double *high)
{
    static const double rounding = 1e-9;
    double first;
    double last;
    const double maximum = (double)(grid->field_rows - grid->window_rows);
    find_scored(grid, field, step, &first, &last);
    *low = fmax(ceil(last - (double)(grid->window_rows - 1) - rounding), 0.0);
    *high = fmin(floor(first + rounding), maximum);
    if (first > last) {
        *low = 0.0;
        *high = maximum;
    }
}

// Light step in which no window position covers the scored points, scanning up or down; -1: none.
static bb_index find_lost_step(const bb_slit_grid *grid)
{
    for (bb_index i = 0; i < 2 * grid->scan->light_steps; ++i) {
        const bb_field field = {.up = i % 2 == 0};
        double low;
        double high;
        find_offsets(grid, &field, i / 2, &low, &high);
        if (low > high) {
            return i / 2;
        }
    }
    return -1;
}

bb_status bb_slit_grid_fit_window(const bb_response_config *config,
                                  const bb_metrology_config *metrology, bb_slit_grid *grid)
{
    bb_status status = BB_OK;
    bb_slit_grid held = *grid;
    const bool given = config->field_rows != BB_INTEGER_UNSET;
    held.scored_columns = metrology->columns;
    held.scored_rows = metrology->rows;
    bb_index lost = find_lost_step(&held);
    while (lost >= 0 && !given && held.field_rows > held.window_rows) {
        held.field_rows -= 1;
        held.field_points = held.columns * held.field_rows;
        held.pitch_y = held.scan->field_height / (double)held.field_rows;
        lost = find_lost_step(&held);
    }
    BB_REQUIRE(lost < 0, BB_INVALID,
               "response.slit_points: %td of %td rows do not cover the %td x %td metrology points "
               "that get dose in light step %td, expected metrology.rows up to "
               "response.field_rows, and about %.0f rows in the window",
               held.window_rows, held.field_rows, metrology->columns, metrology->rows, lost,
               ceil(bb_slit_grid_strip(held.scan) / held.pitch_y) + 2.0);
    *grid = held;
done:
    return status;
}

bb_index bb_slit_grid_offset(const bb_slit_grid *grid, const bb_field *field, bb_index step)
{
    const bb_scan *scan = grid->scan;
    double begin = bb_scan_slit_y(scan, field, (double)step * scan->step);
    double end = bb_scan_slit_y(scan, field, (double)(step + 1) * scan->step);
    double middle = 0.5 * (begin + end - scan->sagitta);
    double bottom = field->y - 0.5 * scan->field_height;
    double first = (middle - bottom) / grid->pitch_y - 0.5 * (double)grid->window_rows;
    double low;
    double high;
    find_offsets(grid, field, step, &low, &high);
    return (bb_index)fmin(fmax(rint(first), low), high);
}

bb_window_cell bb_slit_grid_find(const bb_slit_grid *grid, const bb_field *field, bb_index offset,
                                 double x, double y)
{
    double across = (x - field->x) / grid->pitch_x + 0.5 * (double)(grid->columns - 1);
    double along =
        (y - field->y) / grid->pitch_y + 0.5 * (double)(grid->field_rows - 1) - (double)offset;
    double column = fmin(fmax(floor(across), 0.0), (double)(grid->columns - 2));
    double row = fmin(fmax(floor(along), 0.0), (double)(grid->window_rows - 2));
    return (bb_window_cell){(bb_index)row * grid->columns + (bb_index)column, across - column,
                            along - row};
}

void bb_slit_grid_weights(const bb_slit_grid *grid, const bb_field *field, bb_index offset,
                          double x, double y, bb_index corner[4], double weight[4])
{
    const bb_window_cell cell = bb_slit_grid_find(grid, field, offset, x, y);
    for (int k = 0; k < 4; ++k) {
        corner[k] = cell.corner + k % 2 + (k / 2) * grid->columns;
        weight[k] = (k % 2 == 1 ? cell.across : 1.0 - cell.across) *
                    (k / 2 == 1 ? cell.along : 1.0 - cell.along);
    }
}

double bb_slit_grid_value(const bb_slit_grid *grid, const bb_window_cell *cell,
                          const double *window)
{
    const double *low = window + cell->corner;
    const double *high = low + grid->columns;
    const double a = cell->across;
    const double b = cell->along;
    return (1.0 - b) * ((1.0 - a) * low[0] + a * low[1]) + b * ((1.0 - a) * high[0] + a * high[1]);
}

double bb_slit_grid_interpolate(const bb_slit_grid *grid, const bb_field *field, bb_index offset,
                                const double *window, double x, double y)
{
    const bb_window_cell cell = bb_slit_grid_find(grid, field, offset, x, y);
    return bb_slit_grid_value(grid, &cell, window);
}
