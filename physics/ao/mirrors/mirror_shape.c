// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/mirrors/mirror_shape.h"

#include "core/memory.h"

#include <cblas.h>
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

double bb_mirror_shape_influence(const bb_mirror_shape *shape, bb_index k, bb_index i, bb_index j)
{
    const bb_deformable_mirror *mirror = shape->mirror;
    const bb_index corners = mirror->lenslets + 1;
    return bb_deformable_mirror_influence(mirror, 0.0) *
           shape->fall[i * corners + mirror->column[k]] * shape->fall[j * corners + mirror->row[k]];
}
