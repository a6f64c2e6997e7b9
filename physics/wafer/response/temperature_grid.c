// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/temperature_grid.h"

#include "core/memory.h"
#include "core/portable.h"

#include <math.h>
#include <string.h>

// Overlaps of one half width of a node with the cells along one axis.
typedef struct pieces {
    bb_index first;
    bb_index count;
    double low; // lower end of the half, in cells
    double high;
} pieces;

static pieces cut(double low, double high, bb_index count)
{
    bb_index first = (bb_index)floor(low + 1e-9);
    bb_index last = (bb_index)ceil(high - 1e-9) - 1;
    first = first < 0 ? 0 : first;
    last = last >= count ? count - 1 : last;
    return (pieces){first, last - first + 1, low, high};
}

// Length, in cells, of a half within cell first + k; the outermost cells absorb rounding slivers.
static double length(const pieces *parts, bb_index k)
{
    double start = k == 0 ? parts->low : (double)(parts->first + k);
    double end = k == parts->count - 1 ? parts->high : (double)(parts->first + k + 1);
    return end - start;
}

static bb_status add_quarter(const bb_temperature_grid *grid, bb_index node, const pieces *x,
                             const pieces *y, bb_triplets *list)
{
    for (bb_index row = 0; row < y->count; ++row) {
        for (bb_index column = 0; column < x->count; ++column) {
            bb_index cell = (y->first + row) * grid->columns + x->first + column;
            BB_RETURN_IF_FAILED(bb_triplets_add(list, cell, node,
                                                grid->cell_width * length(x, column) *
                                                    grid->cell_height * length(y, row)));
        }
    }
    return BB_OK;
}

static bb_status add_node(const bb_disc_mesh *mesh, const bb_temperature_grid *grid, bb_index node,
                          bb_triplets *list)
{
    double half_x = 0.5 * mesh->spacing / grid->cell_width;
    double half_y = 0.5 * mesh->spacing / grid->cell_height;
    double x = (bb_disc_mesh_x(mesh, node) - grid->origin_x) / grid->cell_width;
    double y = (bb_disc_mesh_y(mesh, node) - grid->origin_y) / grid->cell_height;
    for (int up = 0; up < 2; ++up) {
        for (int right = 0; right < 2; ++right) {
            if (!bb_disc_mesh_has_cell(mesh, mesh->node_column[node] - 1 + right,
                                       mesh->node_row[node] - 1 + up)) {
                continue;
            }
            pieces across =
                right ? cut(x, x + half_x, grid->columns) : cut(x - half_x, x, grid->columns);
            pieces along = up ? cut(y, y + half_y, grid->rows) : cut(y - half_y, y, grid->rows);
            BB_RETURN_IF_FAILED(add_quarter(grid, node, &across, &along, list));
        }
    }
    return BB_OK;
}

// Computes live areas and converts areas to weights.
static void normalise(bb_temperature_grid *grid)
{
    bb_csr *matrix = &grid->restriction;
    for (bb_index cell = 0; cell < grid->cell_count; ++cell) {
        double area = 0.0;
        for (bb_index i = matrix->row_start[cell]; i < matrix->row_start[cell + 1]; ++i) {
            area += matrix->value[i];
        }
        for (bb_index i = matrix->row_start[cell]; i < matrix->row_start[cell + 1]; ++i) {
            matrix->value[i] /= area;
        }
        grid->area[cell] = area;
        grid->live_count += area > 0.0;
    }
}

static void find_live(bb_temperature_grid *grid)
{
    for (bb_index row = 0; row < grid->rows; ++row) {
        for (bb_index column = 0; column < grid->columns; ++column) {
            if (grid->area[row * grid->columns + column] > 0.0) {
                if (grid->live_end[row] == 0) {
                    grid->live_begin[row] = column;
                }
                grid->live_end[row] = column + 1;
            }
        }
    }
}

bb_status bb_temperature_grid_create(const bb_disc_mesh *mesh, const bb_grid_config *config,
                                     bb_temperature_grid **out)
{
    bb_status status = BB_OK;
    bb_temperature_grid *grid = NULL;
    bb_triplets list = {0};
    BB_REQUIRE(config->columns >= 2 && config->rows >= 2, BB_INVALID,
               "response.grid of %td x %td cells, expected at least 2 x 2", config->columns,
               config->rows);
    BB_REQUIRE(!mesh->periodic, BB_INVALID, "a periodic mesh has no temperature grid");
    BB_TRY(BB_ZEROED(1, &grid));
    grid->columns = config->columns;
    grid->rows = config->rows;
    grid->cell_count = config->columns * config->rows;
    grid->origin_x = mesh->origin_x;
    grid->origin_y = mesh->origin_y;
    grid->cell_width = mesh->spacing * (double)mesh->columns / (double)config->columns;
    grid->cell_height = mesh->spacing * (double)mesh->rows / (double)config->rows;
    BB_TRY(BB_ZEROED(grid->cell_count, &grid->area));
    BB_TRY(BB_ZEROED(grid->rows, &grid->live_begin));
    BB_TRY(BB_ZEROED(grid->rows, &grid->live_end));
    for (bb_index node = 0; node < mesh->node_count; ++node) {
        BB_TRY(add_node(mesh, grid, node, &list));
    }
    BB_TRY(bb_csr_assemble(grid->cell_count, mesh->node_count, &list, &grid->restriction));
    normalise(grid);
    find_live(grid);
    *out = grid;
    grid = NULL;
done:
    bb_triplets_release(&list);
    bb_temperature_grid_destroy(&grid);
    return status;
}

// Quarters of nodes, and the parts cut off by lines of the grid.
static double entries_of(const bb_grid_config *config, double nodes, double spacing, double radius)
{
    const double across = 0.5 * spacing * (double)config->columns / (2.0 * radius);
    const double along = 0.5 * spacing * (double)config->rows / (2.0 * radius);
    return 4.0 * nodes * (1.0 + across) * (1.0 + along);
}

static bb_need cells_of(const bb_grid_config *config)
{
    return (bb_need){.host_bytes = sizeof(bb_temperature_grid) +
                                   (double)(config->columns * config->rows) * sizeof(double) +
                                   2.0 * (double)config->rows * sizeof(bb_index)};
}

bb_need bb_temperature_grid_resident(const bb_grid_config *config, double nodes, double spacing,
                                     double radius)
{
    return bb_need_together(cells_of(config),
                            bb_csr_resident((double)(config->columns * config->rows),
                                            entries_of(config, nodes, spacing, radius)));
}

bb_need bb_temperature_grid_need(const bb_grid_config *config, double nodes, double spacing,
                                 double radius)
{
    return bb_need_together(cells_of(config),
                            bb_csr_assemble_need((double)(config->columns * config->rows),
                                                 entries_of(config, nodes, spacing, radius)));
}

double bb_temperature_grid_weights(const bb_temperature_grid *grid, double x, double y,
                                   bb_index cell[4], double weight[4])
{
    double across = (x - grid->origin_x) / grid->cell_width - 0.5;
    double along = (y - grid->origin_y) / grid->cell_height - 0.5;
    double sum = 0.0;
    for (int k = 0; k < 4; ++k) {
        bb_index column = (bb_index)floor(across) + (k & 1);
        bb_index row = (bb_index)floor(along) + (k >> 1);
        bool inside = column >= 0 && row >= 0 && column < grid->columns && row < grid->rows;
        cell[k] = inside ? row * grid->columns + column : 0;
        weight[k] = (1.0 - fabs(across - (double)column)) * (1.0 - fabs(along - (double)row));
        if (!inside || grid->area[cell[k]] == 0.0) {
            weight[k] = 0.0;
        }
        sum += weight[k];
    }
    return sum;
}

BB_CLONES void bb_temperature_grid_gather(const bb_temperature_grid *grid, bb_index cell,
                                          const double *node_area, const double *nodal,
                                          double sum[BB_GRID_BATCH])
{
    const bb_csr *restriction = &grid->restriction;
    memset(sum, 0, BB_GRID_BATCH * sizeof *sum);
    for (bb_index i = restriction->row_start[cell]; i < restriction->row_start[cell + 1]; ++i) {
        bb_index node = restriction->column[i];
        double weight = restriction->value[i] / node_area[node];
        const double *source = nodal + node * BB_GRID_BATCH;
        for (int p = 0; p < BB_GRID_BATCH; ++p) {
            sum[p] += weight * source[p];
        }
    }
    for (int p = 0; p < BB_GRID_BATCH; ++p) {
        sum[p] *= grid->area[cell];
    }
}

void bb_temperature_grid_destroy(bb_temperature_grid **grid)
{
    if (grid == NULL || *grid == NULL) {
        return;
    }
    BB_RELEASE(&(*grid)->area);
    BB_RELEASE(&(*grid)->live_begin);
    BB_RELEASE(&(*grid)->live_end);
    bb_csr_release(&(*grid)->restriction);
    BB_RELEASE(grid);
}
