// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/mirrors/mirror_surface.h"

#include "core/memory.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

bb_status bb_mirror_shape_create(const bb_deformable_mirror *mirror, bb_index points,
                                 const double *position_m, bb_mirror_shape *out)
{
    bb_status status = BB_OK;
    const bb_index corners = mirror->lenslets + 1;
    const double pitch = mirror->diameter_m / (double)mirror->lenslets;
    const double peak = bb_deformable_mirror_influence(mirror, 0.0);
    bb_mirror_shape shape = {.mirror = mirror, .points = points};
    BB_TRY(BB_ALLOCATE(points * corners, &shape.fall));
    BB_TRY(BB_ZEROED(corners + 1, &shape.first));
    for (bb_index k = 0; k < mirror->actuator_count; ++k) {
        shape.first[mirror->row[k] + 1] = k + 1;
    }
    for (bb_index c = 0; c < corners; ++c) {
        shape.first[c + 1] = shape.first[c + 1] > 0 ? shape.first[c + 1] : shape.first[c];
    }
    for (bb_index i = 0; i < points; ++i) {
        for (bb_index c = 0; c < corners; ++c) {
            const double distance = position_m[i] + 0.5 * mirror->diameter_m - pitch * (double)c;
            shape.fall[i * corners + c] = bb_deformable_mirror_influence(mirror, distance) / peak;
        }
    }
    *out = shape;
    shape = (bb_mirror_shape){0};
done:
    bb_mirror_shape_release(&shape);
    return status;
}

void bb_mirror_shape_release(bb_mirror_shape *shape)
{
    BB_RELEASE(&shape->fall);
    BB_RELEASE(&shape->first);
}

bb_status bb_mirror_shape_add(const bb_influence_axes *axes, const double *volts, double *wavefront)
{
    bb_status status = BB_OK;
    const int points = (int)axes->points;
    const int rows = (int)axes->rows;
    const int columns = (int)axes->columns;
    double *half = NULL; // [rows][points]
    BB_TRY(BB_ALLOCATE(axes->rows * axes->points, &half));
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, points, columns, 1.0, volts, columns,
                axes->along_x, columns, 0.0, half, points);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, points, points, rows, axes->peak,
                axes->along_y, rows, half, points, 1.0, wavefront, points);
done:
    BB_RELEASE(&half);
    return status;
}

bb_status bb_mirror_shape_make(const bb_mirror_shape *shape, const double *volts, double *wavefront)
{
    bb_status status = BB_OK;
    const bb_deformable_mirror *mirror = shape->mirror;
    const bb_index corners = mirror->lenslets + 1;
    const bb_influence_axes axes = {shape->points, corners,
                                    corners,       shape->fall,
                                    shape->fall,   bb_deformable_mirror_influence(mirror, 0.0)};
    double *grid = NULL; // volts by row and column
    BB_TRY(BB_ZEROED(corners * corners, &grid));
    for (bb_index k = 0; k < mirror->actuator_count; ++k) {
        grid[mirror->row[k] * corners + mirror->column[k]] = volts[k];
    }
    memset(wavefront, 0, (size_t)(shape->points * shape->points) * sizeof *wavefront);
    BB_TRY(bb_mirror_shape_add(&axes, grid, wavefront));
done:
    BB_RELEASE(&grid);
    return status;
}

void bb_mirror_shape_influences(const bb_mirror_shape *shape, bb_index i, bb_index j, double *out)
{
    const bb_deformable_mirror *mirror = shape->mirror;
    const bb_index corners = mirror->lenslets + 1;
    const double peak = bb_deformable_mirror_influence(mirror, 0.0);
    for (bb_index k = 0; k < mirror->actuator_count; ++k) {
        out[k] = peak * shape->fall[i * corners + mirror->column[k]] *
                 shape->fall[j * corners + mirror->row[k]];
    }
}

static void find_range(const double *values, bb_index count, double *low, double *high)
{
    *low = *high = values[0];
    for (bb_index i = 1; i < count; ++i) {
        *low = fmin(*low, values[i]);
        *high = fmax(*high, values[i]);
    }
}

// Influence along one axis of actuators `first_m`, `first_m` + pitch ... at the shifted points.
static bb_status tabulate(const bb_conjugate_mirror *mirror, const bb_mirror_surface *surface,
                          double first_m, double shift_m, bb_index actuators, double **out)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ALLOCATE(surface->points * actuators, out));
    for (bb_index i = 0; i < surface->points; ++i) {
        for (bb_index a = 0; a < actuators; ++a) {
            const double distance =
                surface->position_m[i] + shift_m - first_m - mirror->pitch_m * (double)a;
            (*out)[i * actuators + a] =
                bb_mirror_stack_influence(mirror, distance, 0.0) / mirror->stroke_m;
        }
    }
done:
    return status;
}

static bb_status create_view(const bb_mirror_surface *surface, bb_mirror_view *view)
{
    bb_status status = BB_OK;
    const bb_conjugate_mirror *mirror = view->mirror;
    double x_low = 0.0, x_high = 0.0, y_low = 0.0, y_high = 0.0;
    if (mirror->cube != NULL || mirror->count == 0) {
        goto done;
    }
    find_range(mirror->x_m, mirror->count, &x_low, &x_high);
    find_range(mirror->y_m, mirror->count, &y_low, &y_high);
    view->columns = (bb_index)lround((x_high - x_low) / mirror->pitch_m) + 1;
    view->rows = (bb_index)lround((y_high - y_low) / mirror->pitch_m) + 1;
    BB_TRY(BB_ALLOCATE(mirror->count, &view->place));
    for (bb_index a = 0; a < mirror->count; ++a) {
        view->place[a] =
            (bb_index)lround((mirror->y_m[a] - y_low) / mirror->pitch_m) * view->columns +
            (bb_index)lround((mirror->x_m[a] - x_low) / mirror->pitch_m);
    }
    BB_TRY(tabulate(mirror, surface, x_low, view->shift_x_m, view->columns, &view->along_x));
    BB_TRY(tabulate(mirror, surface, y_low, view->shift_y_m, view->rows, &view->along_y));
done:
    return status;
}

bb_status bb_mirror_surface_create(const bb_mirror_stack *stack, double x_rad, double y_rad,
                                   bb_index points, const double *position_m,
                                   bb_mirror_surface *out)
{
    bb_status status = BB_OK;
    bb_mirror_surface surface = {.stack = stack, .points = points};
    BB_TRY(BB_ALLOCATE(points, &surface.position_m));
    memcpy(surface.position_m, position_m, (size_t)points * sizeof *position_m);
    BB_TRY(BB_ZEROED(stack->mirror_count, &surface.views));
    for (bb_index k = 0; k < stack->mirror_count; ++k) {
        const bb_conjugate_mirror *mirror = &stack->mirrors[k];
        surface.views[k] = (bb_mirror_view){.mirror = mirror,
                                            .shift_x_m = mirror->height_m * x_rad,
                                            .shift_y_m = mirror->height_m * y_rad};
        BB_TRY(create_view(&surface, &surface.views[k]));
    }
    *out = surface;
    surface = (bb_mirror_surface){0};
done:
    bb_mirror_surface_release(&surface);
    return status;
}

void bb_mirror_surface_release(bb_mirror_surface *surface)
{
    for (bb_index k = 0; surface->views != NULL && k < surface->stack->mirror_count; ++k) {
        BB_RELEASE(&surface->views[k].place);
        BB_RELEASE(&surface->views[k].along_x);
        BB_RELEASE(&surface->views[k].along_y);
    }
    BB_RELEASE(&surface->views);
    BB_RELEASE(&surface->position_m);
}

// Adds the wavefront of a mirror with Gaussian influence to `wavefront`.
static bb_status add_grid(const bb_mirror_surface *surface, const bb_mirror_view *view,
                          const double *volts, double *wavefront)
{
    bb_status status = BB_OK;
    const bb_influence_axes axes = {surface->points, view->rows,    view->columns,
                                    view->along_y,   view->along_x, view->mirror->stroke_m};
    double *grid = NULL; // volts [rows][columns]
    BB_TRY(BB_ZEROED(view->rows * view->columns, &grid));
    for (bb_index a = 0; a < view->mirror->count; ++a) {
        grid[view->place[a]] = volts[view->mirror->first + a];
    }
    BB_TRY(bb_mirror_shape_add(&axes, grid, wavefront));
done:
    BB_RELEASE(&grid);
    return status;
}

// As add_grid, for a mirror with its own influence functions.
static bb_status add_cube(const bb_mirror_surface *surface, const bb_mirror_view *view,
                          const double *volts, double *wavefront)
{
    bb_status status = BB_OK;
    bb_influence_cube sum = *view->mirror->cube; // one map, summed over all actuators
    const bb_index samples = sum.rows * sum.columns;
    sum.actuator_count = 1;
    sum.values = NULL;
    BB_TRY(BB_ALLOCATE(samples, &sum.values));
    cblas_dgemv(CblasRowMajor, CblasTrans, (int)view->mirror->count, (int)samples, 1.0,
                view->mirror->cube->values, (int)samples, volts + view->mirror->first, 1, 0.0,
                sum.values, 1);
    for (bb_index j = 0; j < surface->points; ++j) {
        for (bb_index i = 0; i < surface->points; ++i) {
            const bb_influence_place place =
                bb_influence_cube_find(&sum, surface->position_m[i] + view->shift_x_m,
                                       surface->position_m[j] + view->shift_y_m);
            wavefront[j * surface->points + i] += bb_influence_cube_value(&sum, 0, &place);
        }
    }
done:
    BB_RELEASE(&sum.values);
    return status;
}

bb_status bb_mirror_surface_make(const bb_mirror_surface *surface, const double *volts,
                                 double *wavefront)
{
    bb_status status = BB_OK;
    memset(wavefront, 0, (size_t)(surface->points * surface->points) * sizeof *wavefront);
    for (bb_index k = 0; k < surface->stack->mirror_count; ++k) {
        const bb_mirror_view *view = &surface->views[k];
        if (view->mirror->cube != NULL) {
            BB_TRY(add_cube(surface, view, volts, wavefront));
        } else if (view->mirror->count > 0) {
            BB_TRY(add_grid(surface, view, volts, wavefront));
        }
    }
done:
    return status;
}

void bb_mirror_surface_influence(const bb_mirror_surface *surface, bb_index i, bb_index j,
                                 double *out)
{
    for (bb_index k = 0; k < surface->stack->mirror_count; ++k) {
        const bb_mirror_view *view = &surface->views[k];
        const bb_conjugate_mirror *mirror = view->mirror;
        bb_influence_place place = {0};
        if (mirror->cube != NULL) {
            place = bb_influence_cube_find(mirror->cube, surface->position_m[i] + view->shift_x_m,
                                           surface->position_m[j] + view->shift_y_m);
        }
        for (bb_index a = 0; a < mirror->count; ++a) {
            out[mirror->first + a] =
                mirror->cube != NULL
                    ? bb_influence_cube_value(mirror->cube, a, &place)
                    : mirror->stroke_m *
                          view->along_x[i * view->columns + view->place[a] % view->columns] *
                          view->along_y[j * view->rows + view->place[a] / view->columns];
        }
    }
}
