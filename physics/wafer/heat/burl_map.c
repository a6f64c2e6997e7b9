// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/heat/burl_map.h"

#include "core/memory.h"
#include "core/random.h"

#include <math.h>

// Burls (-half..half, -half..half), row-major.
typedef struct lattice {
    double pitch;
    double footprint;
    bb_index half;
    double *stiffness;
} lattice;

bool bb_burl_map_wanted(const bb_burl_config *config)
{
    return config->pitch_mm > 0.0;
}

double bb_burl_map_stiffness(const bb_burl_config *config, bb_index i, bb_index j)
{
    uint64_t seed = (uint64_t)config->seed;
    uint64_t index = (uint64_t)(j + (1 << 20)) << 32 | (uint64_t)(i + (1 << 20));
    if (bb_random_uniform(seed, BB_STREAM_BURL_MISSING, index) < config->missing_fraction) {
        return 0.0;
    }
    double u = bb_random_uniform(seed, BB_STREAM_BURL_STIFFNESS, index);
    return 1.0 + config->scatter * (2.0 * u - 1.0);
}

static bb_status create_lattice(const bb_burl_config *config, double reach, lattice *out)
{
    bb_status status = BB_OK;
    out->pitch = 1e-3 * config->pitch_mm;
    out->footprint = 1e-3 * config->footprint_mm;
    out->half = (bb_index)ceil(reach / out->pitch) + 1;
    bb_index side = 2 * out->half + 1;
    BB_TRY(BB_ALLOCATE(side * side, &out->stiffness));
    for (bb_index index = 0; index < side * side; ++index) {
        out->stiffness[index] =
            bb_burl_map_stiffness(config, index % side - out->half, index / side - out->half);
    }
    const bb_burl_place *missing = config->missing.items;
    for (bb_index k = 0; k < config->missing.count; ++k) {
        bb_index i = (bb_index)llround(missing[k].x_mm / config->pitch_mm) + out->half;
        bb_index j = (bb_index)llround(missing[k].y_mm / config->pitch_mm) + out->half;
        if (i >= 0 && j >= 0 && i < side && j < side) {
            out->stiffness[j * side + i] = 0.0;
        }
    }
done:
    return status;
}

// Overlap of burl `at` of a line with [low, low + side].
static double shared(const lattice *grid_points, bb_index index, double low, double side)
{
    double middle = grid_points->pitch * (double)index;
    double start = fmax(low, middle - 0.5 * grid_points->footprint);
    double end = fmin(low + side, middle + 0.5 * grid_points->footprint);
    return fmax(0.0, end - start);
}

static double cell_factor(const lattice *grid_points, double x, double y, double side)
{
    double sum = 0.0;
    double margin = 0.5 * grid_points->footprint;
    bb_index width = 2 * grid_points->half + 1;
    bb_index last_i = (bb_index)floor((x + side + margin) / grid_points->pitch);
    bb_index last_j = (bb_index)floor((y + side + margin) / grid_points->pitch);
    for (bb_index j = (bb_index)ceil((y - margin) / grid_points->pitch); j <= last_j; ++j) {
        for (bb_index i = (bb_index)ceil((x - margin) / grid_points->pitch); i <= last_i; ++i) {
            double area = shared(grid_points, i, x, side) * shared(grid_points, j, y, side);
            sum += grid_points->stiffness[(j + grid_points->half) * width + i + grid_points->half] *
                   area;
        }
    }
    double spread = grid_points->pitch / (grid_points->footprint * side);
    return sum * spread * spread;
}

bb_status bb_burl_map_fill(const bb_burl_config *config, const bb_disc_mesh *mesh, double *factor)
{
    bb_status status = BB_OK;
    lattice grid_points = {0};
    BB_REQUIRE(config->footprint_mm > 0.0 && config->footprint_mm <= config->pitch_mm, BB_INVALID,
               "clamp.burls.footprint_mm = %g, expected over 0 and at most pitch_mm = %g",
               config->footprint_mm, config->pitch_mm);
    double h = mesh->spacing;
    double far_x = fmax(fabs(mesh->origin_x), fabs(mesh->origin_x + h * (double)mesh->columns));
    double far_y = fmax(fabs(mesh->origin_y), fabs(mesh->origin_y + h * (double)mesh->rows));
    BB_TRY(create_lattice(config, fmax(far_x, far_y) + 1e-3 * config->footprint_mm, &grid_points));
    for (bb_index row = 0; row < mesh->rows; ++row) {
        for (bb_index column = 0; column < mesh->columns; ++column) {
            int32_t cell = mesh->cell_at[row * mesh->columns + column];
            if (cell >= 0) {
                factor[cell] = cell_factor(&grid_points, mesh->origin_x + h * (double)column,
                                           mesh->origin_y + h * (double)row, h);
            }
        }
    }
done:
    BB_RELEASE(&grid_points.stiffness);
    return status;
}
