// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/response.h"

#include "core/memory.h"
#include "core/thread.h"
#include "physics/wafer/response/plate.h"

#include <gsl/gsl_poly.h>
#include <math.h>

// Monic cubic s^3 + a s^2 + b s + c of the coupled system and the numerator m2 s^2 + m1 s + m0 of
// its non-local height over B D.
typedef struct coupled {
    double a, b, c;
    double m2, m1, m0;
} coupled;

static coupled couple(const bb_plate *plate)
{
    double d = plate->thickness;
    double e = 0.25 * plate->tangential * d * d;
    double shrink = plate->poisson * d / (1.0 - plate->poisson) * plate->thermal;
    double per_membrane = plate->tangential / plate->membrane;
    double scale = 1.0 / (plate->membrane * plate->bending);
    return (coupled){
        .a = e / plate->bending + per_membrane,
        .b = plate->normal / plate->bending,
        .c = per_membrane * plate->normal / plate->bending,
        .m2 = scale * shrink * per_membrane * plate->bending,
        .m1 = scale * plate->thermal * plate->tangential * 0.5 * d,
        .m0 = scale * shrink * per_membrane * plate->normal,
    };
}

// Roots to rounding accuracy: the closed form loses digits between roots of different size.
static void find_roots(const coupled *plate, double complex root[3])
{
    gsl_complex z[3];
    (void)gsl_poly_complex_solve_cubic(plate->a, plate->b, plate->c, &z[0], &z[1], &z[2]);
    for (int i = 0; i < 3; ++i) {
        double complex s = GSL_REAL(z[i]) + I * GSL_IMAG(z[i]);
        for (int n = 0; n < 4; ++n) {
            double complex value = ((s + plate->a) * s + plate->b) * s + plate->c;
            s -= value / ((3.0 * s + 2.0 * plate->a) * s + plate->b);
        }
        root[i] = s;
    }
}

static void height_modes(const bb_plate *plate, bb_radial_mode modes[3])
{
    coupled bonds = couple(plate);
    double complex root[3];
    find_roots(&bonds, root);
    for (int i = 0; i < 3; ++i) {
        double complex s = root[i];
        double complex others = (s - root[(i + 1) % 3]) * (s - root[(i + 2) % 3]);
        modes[i].coefficient = ((bonds.m2 * s + bonds.m1) * s + bonds.m0) / others / (2.0 * M_PI);
        modes[i].rate = csqrt(-s);
    }
}

double bb_response_height_amplitude(const bb_wafer_material_config *wafer,
                                    const bb_clamp_config *clamp, double q)
{
    bb_plate plate = bb_plate_make(wafer, clamp);
    double d = plate.thickness;
    double nu = plate.poisson;
    double shear = 0.5 * plate.tangential * d * q;
    double stretch = plate.membrane * q * q + plate.tangential;
    double bend = plate.bending * q * q * q * q + plate.normal + 0.5 * shear * d * q;
    double u = plate.thermal * q * bend / (stretch * bend - shear * shear);
    double growth = plate.expansion * d * (1.0 + nu) / (1.0 - nu) - nu * d / (1.0 - nu) * q * u;
    return growth + shear * u / bend;
}

// Between any two points of the grid's square; for coarse grids at least where tables start.
static double reach_of(double columns, double rows, double cell_width, double cell_height)
{
    return fmax(hypot(cell_width * columns, cell_height * rows),
                6.0 * fmax(cell_width, cell_height));
}

bb_need bb_response_need(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp,
                         const bb_grid_config *grid, double radius)
{
    const bb_plate plate = bb_plate_make(wafer, clamp);
    const double width = 2.0 * radius / (double)grid->columns;
    const double height = 2.0 * radius / (double)grid->rows;
    const double reach = reach_of((double)grid->columns, (double)grid->rows, width, height);
    const bb_radial_mode membrane = {1.0, sqrt(plate.tangential / plate.membrane)};
    const bb_need object = {.host_bytes = sizeof(bb_response)};
    bb_radial_mode modes[3];
    height_modes(&plate, modes);
    return bb_need_together(
        object, bb_need_together(bb_radial_kernel_need(&membrane, 1, width, height, reach),
                                 bb_radial_kernel_need(modes, 3, width, height, reach)));
}

// A row has two edges per cell, integrated from a line of the grid.
bb_need bb_field_response_need(double rows, double cells, double threads)
{
    static const double entries_per_second = 2.5e7; // on one core
    return (bb_need){.seconds = rows * cells / (entries_per_second * threads)};
}

bb_status bb_response_create(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp,
                             const bb_temperature_grid *grid, bb_response **out)
{
    bb_status status = BB_OK;
    bb_response *response = NULL;
    bb_plate plate = bb_plate_make(wafer, clamp);
    bb_radial_mode modes[3];
    BB_REQUIRE(wafer->elasticity == (int)BB_ELASTICITY_ISOTROPIC, BB_UNSUPPORTED,
               "wafer.elasticity: the closed-form kernel is isotropic; set response.generator to "
               "plate, or to fem without axis z");
    const double reach =
        reach_of((double)grid->columns, (double)grid->rows, grid->cell_width, grid->cell_height);
    BB_TRY(BB_ZEROED(1, &response));
    response->grid = grid;
    response->screening_length = sqrt(plate.membrane / plate.tangential);
    response->in_plane = (1.0 + plate.poisson) * plate.expansion / (2.0 * M_PI);
    response->local_height = plate.expansion * plate.thickness * (1.0 + plate.poisson);
    bb_radial_mode membrane = {1.0, 1.0 / response->screening_length};
    BB_TRY(bb_radial_kernel_create(&membrane, 1, grid->cell_width, grid->cell_height, reach,
                                   &response->membrane));
    height_modes(&plate, modes);
    BB_TRY(bb_radial_kernel_create(modes, 3, grid->cell_width, grid->cell_height, reach,
                                   &response->height));
    *out = response;
    response = NULL;
done:
    bb_response_destroy(&response);
    return status;
}

// State of one row: grid lines relative to the point. Line k is computed the same way for any
// block, so that entries do not depend on the requested block.
typedef struct row_task {
    const bb_field_response *field;
    bb_index first_row;
    bb_index first_cell;
    bb_view out;
} row_task;

typedef struct point {
    double x;
    double y;
} point;

static double line_x(const bb_temperature_grid *grid, const point *sample, bb_index k)
{
    return grid->origin_x + (double)k * grid->cell_width - sample->x;
}

static double line_y(const bb_temperature_grid *grid, const point *sample, bb_index k)
{
    return grid->origin_y + (double)k * grid->cell_height - sample->y;
}

// Finds the live cells of grid row `row` in the requested block: columns [*begin, *end).
static void requested_columns(const bb_temperature_grid *grid, bb_index row, bb_index first,
                              bb_index count, bb_index *begin, bb_index *end)
{
    bb_index start = row * grid->columns;
    bb_index origin = first > start ? first - start : 0;
    bb_index target = first + count - start < grid->columns ? first + count - start : grid->columns;
    *begin = origin > grid->live_begin[row] ? origin : grid->live_begin[row];
    *end = target < grid->live_end[row] ? target : grid->live_end[row];
}

static double live_part(const bb_temperature_grid *grid, bb_index cell)
{
    return grid->area[cell] / (grid->cell_width * grid->cell_height);
}

// Rounds a value to the precision of the response.
static double as_computed(const bb_response *response, double value)
{
    return response->single ? (double)(float)value : value;
}

// Computes factor (high - low).
static double entry(const bb_response *response, double factor, double high, double low)
{
    return response->single ? (double)((float)factor * ((float)high - (float)low))
                            : factor * (high - low);
}

static double edge_x(const bb_response *response, const point *sample, bb_index k, bb_index row)
{
    const bb_temperature_grid *grid = response->grid;
    const double x = as_computed(response, line_x(grid, sample, k));
    const double low = as_computed(response, line_y(grid, sample, row));
    const double high = as_computed(response, line_y(grid, sample, row + 1));
    return as_computed(response,
                       bb_radial_integrand_edge(&response->membrane.integrand, x, low, high));
}

static double edge_y(const bb_response *response, const point *sample, bb_index k, bb_index column)
{
    const bb_temperature_grid *grid = response->grid;
    const double y = as_computed(response, line_y(grid, sample, k));
    const double low = as_computed(response, line_x(grid, sample, column));
    const double high = as_computed(response, line_x(grid, sample, column + 1));
    return as_computed(response,
                       bb_radial_integrand_edge(&response->membrane.integrand, y, low, high));
}

static void fill_x(const bb_response *response, const point *sample, bb_index first, bb_index count,
                   double *out)
{
    const bb_temperature_grid *grid = response->grid;
    for (bb_index row = first / grid->columns; row * grid->columns < first + count; ++row) {
        bb_index begin;
        bb_index end;
        requested_columns(grid, row, first, count, &begin, &end);
        double west = begin < end ? edge_x(response, sample, begin, row) : 0.0;
        for (bb_index column = begin; column < end; ++column) {
            double east = edge_x(response, sample, column + 1, row);
            bb_index cell = row * grid->columns + column;
            out[cell - first] =
                entry(response, response->in_plane * live_part(grid, cell), east, west);
            west = east;
        }
    }
}

// The upper edges of a row are the lower edges of the next; `edges` [columns] stores them.
static void fill_y(const bb_response *response, const point *sample, bb_index first, bb_index count,
                   double *edges, double *out)
{
    const bb_temperature_grid *grid = response->grid;
    bb_index known_begin = 0;
    bb_index known_end = 0;
    for (bb_index row = first / grid->columns; row * grid->columns < first + count; ++row) {
        bb_index begin;
        bb_index end;
        requested_columns(grid, row, first, count, &begin, &end);
        for (bb_index column = begin; column < end; ++column) {
            bool known = column >= known_begin && column < known_end;
            double lower = known ? edges[column] : edge_y(response, sample, row, column);
            double upper = edge_y(response, sample, row + 1, column);
            bb_index cell = row * grid->columns + column;
            out[cell - first] =
                entry(response, response->in_plane * live_part(grid, cell), upper, lower);
            edges[column] = upper;
        }
        known_begin = begin;
        known_end = end;
    }
}

// Adds local_height * T(p), T bilinear between the centres of live cells; the weights of dead ones
// go to the live ones. A point without live cells around it gets nothing.
static void add_local(const bb_response *response, const point *sample, bb_index first,
                      bb_index count, double *out)
{
    const bb_temperature_grid *grid = response->grid;
    double weight[4];
    bb_index cell[4];
    double sum = bb_temperature_grid_weights(grid, sample->x, sample->y, cell, weight);
    for (int k = 0; k < 4; ++k) {
        if (weight[k] > 0.0 && cell[k] >= first && cell[k] < first + count) {
            const double sooner = out[cell[k] - first];
            out[cell[k] - first] = as_computed(
                response, sooner + as_computed(response, response->local_height * weight[k] / sum));
        }
    }
}

static void fill_z(const bb_response *response, const point *sample, bb_index first, bb_index count,
                   double *out)
{
    const bb_temperature_grid *grid = response->grid;
    for (bb_index row = first / grid->columns; row * grid->columns < first + count; ++row) {
        bb_index begin;
        bb_index end;
        requested_columns(grid, row, first, count, &begin, &end);
        for (bb_index column = begin; column < end; ++column) {
            bb_index cell = row * grid->columns + column;
            const double integral = bb_radial_integrand_cell(
                &response->height.integrand, as_computed(response, line_x(grid, sample, column)),
                as_computed(response, line_x(grid, sample, column + 1)),
                as_computed(response, line_y(grid, sample, row)),
                as_computed(response, line_y(grid, sample, row + 1)));
            out[cell - first] = entry(response, live_part(grid, cell), integral, 0.0);
        }
    }
    add_local(response, sample, first, count, out);
}

static bb_status fill_row(void *context, bb_index index)
{
    bb_status status = BB_OK;
    const row_task *task = context;
    const bb_field_response *field = task->field;
    const bb_response *response = field->response;
    bb_index row = task->first_row + index;
    bb_index count = task->out.shape[1];
    double *out = bb_view_row(task->out, index);
    double *edges = NULL;
    point sample = {bb_slit_grid_x(&field->slit, &field->field, row),
                    bb_slit_grid_y(&field->slit, &field->field, row)};
    for (bb_index i = 0; i < count; ++i) {
        out[i] = 0.0;
    }
    switch (field->axis) {
    case BB_AXIS_X:
        fill_x(response, &sample, task->first_cell, count, out);
        break;
    case BB_AXIS_Y:
        BB_TRY(BB_ALLOCATE(response->grid->columns, &edges));
        fill_y(response, &sample, task->first_cell, count, edges, out);
        break;
    default:
        fill_z(response, &sample, task->first_cell, count, out);
        break;
    }
done:
    BB_RELEASE(&edges);
    return status;
}

static bb_status fill(const bb_matrix_source *source, bb_index row, bb_index column, bb_view out)
{
    row_task task = {source->context, row, column, out};
    return bb_thread_for(out.shape[0], fill_row, &task);
}

// Computes a bound on the distance between points of the field and of live cells.
static double farthest_cell(const bb_temperature_grid *grid, const bb_slit_grid *slit,
                            const bb_field *field)
{
    double half_x = 0.5 * grid->cell_width * (double)grid->columns;
    double half_y = 0.5 * grid->cell_height * (double)grid->rows;
    double x = fabs(field->x) + 0.5 * slit->scan->field_width;
    double y = fabs(field->y) + 0.5 * slit->scan->field_height;
    // To the far corner of the square, or over the disc, whose radius is at most half the side, and
    // a cell on its rim: the former is smaller for coarse grids, the latter for fine ones.
    double over_square = hypot(x + half_x, y + half_y);
    double over_disc = hypot(x, y) + fmax(half_x, half_y) + grid->cell_width + grid->cell_height;
    return fmin(over_square, over_disc);
}

bb_status bb_response_check_field(const bb_temperature_grid *grid, const bb_slit_grid *slit,
                                  const bb_field *field)
{
    bb_status status = BB_OK;
    const double farthest = farthest_cell(grid, slit, field);
    const double reach =
        reach_of((double)grid->columns, (double)grid->rows, grid->cell_width, grid->cell_height);
    BB_REQUIRE(farthest <= reach, BB_INVALID,
               "a field at (%g, %g) mm reaches %g mm over the grid, expected at most %g",
               1e3 * field->x, 1e3 * field->y, 1e3 * farthest, 1e3 * reach);
done:
    return status;
}

bb_status bb_field_response_make(const bb_response *response, const bb_slit_grid *slit,
                                 const bb_field *field, int axis, bb_field_response *out)
{
    bb_status status = BB_OK;
    static const char *const names[] = {"C_x", "C_y", "C_z"};
    BB_REQUIRE(axis >= BB_AXIS_X && axis <= BB_AXIS_Z, BB_INVALID, "axis %d, expected 0..2", axis);
    const bb_temperature_grid *grid = response->grid;
    BB_TRY(bb_response_check_field(grid, slit, field));
    *out = (bb_field_response){
        .source = {.rows = slit->field_points,
                   .columns = grid->cell_count,
                   .name = names[axis],
                   .unit = "m/K",
                   .fill = fill,
                   .context = out},
        .response = response,
        .slit = *slit,
        .field = *field,
        .axis = axis,
    };
done:
    return status;
}

void bb_response_destroy(bb_response **response)
{
    if (response == NULL || *response == NULL) {
        return;
    }
    bb_radial_kernel_release(&(*response)->membrane);
    bb_radial_kernel_release(&(*response)->height);
    BB_RELEASE(response);
}
