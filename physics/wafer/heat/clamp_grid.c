// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/heat/clamp_grid.h"

#include "core/memory.h"

#include <math.h>

// The whole coarse grid during construction; centred on the mesh, so that a coarse node is at its
// centre.
typedef struct coarse {
    const bb_disc_mesh *mesh;
    double spacing;
    double origin_x;
    double origin_y;
    bb_index columns;
    bb_index rows;
    int32_t *cell_at; // [rows][columns] 1 if included, else 0
    int32_t *node_at; // [rows + 1][columns + 1]
} coarse;

static void place(const bb_disc_mesh *mesh, double spacing, coarse *grid)
{
    double half_x = 0.5 * mesh->spacing * (double)mesh->columns;
    double half_y = 0.5 * mesh->spacing * (double)mesh->rows;
    bb_index columns = (bb_index)ceil(half_x / spacing * (1.0 - 1e-12));
    bb_index rows = (bb_index)ceil(half_y / spacing * (1.0 - 1e-12));
    grid->mesh = mesh;
    grid->spacing = spacing;
    grid->columns = 2 * columns;
    grid->rows = 2 * rows;
    grid->origin_x = mesh->origin_x + half_x - (double)columns * spacing;
    grid->origin_y = mesh->origin_y + half_y - (double)rows * spacing;
}

// Finds the first and last coarse cell that overlaps [low, low + width], in units of the spacing.
static void span(double low, double width, bb_index count, bb_index range[2])
{
    range[0] = (bb_index)floor(low + 1e-9);
    range[1] = (bb_index)ceil(low + width - 1e-9) - 1;
    range[0] = range[0] < 0 ? 0 : range[0];
    range[1] = range[1] >= count ? count - 1 : range[1];
}

static void mark_cells(coarse *grid)
{
    const bb_disc_mesh *mesh = grid->mesh;
    double width = mesh->spacing / grid->spacing;
    for (bb_index cell = 0; cell < mesh->cell_count; ++cell) {
        bb_index corner = mesh->cell_nodes[4 * cell];
        bb_index x[2];
        bb_index y[2];
        span((bb_disc_mesh_x(mesh, corner) - grid->origin_x) / grid->spacing, width, grid->columns,
             x);
        span((bb_disc_mesh_y(mesh, corner) - grid->origin_y) / grid->spacing, width, grid->rows, y);
        for (bb_index row = y[0]; row <= y[1]; ++row) {
            for (bb_index column = x[0]; column <= x[1]; ++column) {
                grid->cell_at[row * grid->columns + column] = 1;
            }
        }
    }
}

static void corners(const coarse *grid, bb_index column, bb_index row, bb_index indices[4])
{
    bb_index stride = grid->columns + 1;
    indices[0] = row * stride + column;
    indices[1] = indices[0] + 1;
    indices[2] = indices[1] + stride;
    indices[3] = indices[0] + stride;
}

static void number_nodes(coarse *grid, bb_clamp_grid *out)
{
    bb_index indices[4];
    for (bb_index cell = 0; cell < grid->rows * grid->columns; ++cell) {
        if (grid->cell_at[cell]) {
            ++out->cell_count;
            corners(grid, cell % grid->columns, cell / grid->columns, indices);
            for (int k = 0; k < 4; ++k) {
                grid->node_at[indices[k]] = 1;
            }
        }
    }
    for (bb_index i = 0; i < (grid->rows + 1) * (grid->columns + 1); ++i) {
        grid->node_at[i] = grid->node_at[i] ? (int32_t)out->node_count++ : -1;
    }
}

static void fill_cells(const coarse *grid, bb_clamp_grid *out)
{
    bb_index indices[4];
    bb_index next = 0;
    double quarter = 0.25 * grid->spacing * grid->spacing;
    for (bb_index cell = 0; cell < grid->rows * grid->columns; ++cell) {
        if (!grid->cell_at[cell]) {
            continue;
        }
        corners(grid, cell % grid->columns, cell / grid->columns, indices);
        for (int k = 0; k < 4; ++k) {
            int32_t node = grid->node_at[indices[k]];
            out->cell_nodes[4 * next + k] = node;
            out->node_area[node] += quarter;
        }
        grid->cell_at[cell] = (int32_t)++next;
    }
}

// Finds the coarse cell of a wafer node and the position in it. A node on a border uses any
// existing cell there.
static bool locate(const coarse *grid, double at_x, double at_y, bb_index cell[2], double place[2])
{
    double column = floor(at_x + 1e-9);
    double row = floor(at_y + 1e-9);
    for (int dy = 0; dy <= (at_y - row < 1e-9); ++dy) {
        for (int dx = 0; dx <= (at_x - column < 1e-9); ++dx) {
            cell[0] = (bb_index)column - dx;
            cell[1] = (bb_index)row - dy;
            if (cell[0] >= 0 && cell[1] >= 0 && cell[0] < grid->columns && cell[1] < grid->rows &&
                grid->cell_at[cell[1] * grid->columns + cell[0]]) {
                place[0] = fmin(fmax(at_x - (double)cell[0], 0.0), 1.0);
                place[1] = fmin(fmax(at_y - (double)cell[1], 0.0), 1.0);
                return true;
            }
        }
    }
    return false;
}

// Bilinear weights of the corners, counter-clockwise from the lower left.
static void bilinear_weights(const double point[2], double weight[4])
{
    weight[0] = (1.0 - point[0]) * (1.0 - point[1]);
    weight[1] = point[0] * (1.0 - point[1]);
    weight[2] = point[0] * point[1];
    weight[3] = (1.0 - point[0]) * point[1];
}

static bb_status prolong(const coarse *grid, bb_clamp_grid *out)
{
    bb_status status = BB_OK;
    bb_triplets list = {0};
    const bb_disc_mesh *mesh = grid->mesh;
    for (bb_index node = 0; node < mesh->node_count; ++node) {
        bb_index cell[2];
        double point[2];
        bool found =
            locate(grid, (bb_disc_mesh_x(mesh, node) - grid->origin_x) / grid->spacing,
                   (bb_disc_mesh_y(mesh, node) - grid->origin_y) / grid->spacing, cell, point);
        BB_REQUIRE(found, BB_INTERNAL, "wafer node %td is outside all clamp cells", node);
        double weight[4];
        bilinear_weights(point, weight);
        bb_index corner[4];
        corners(grid, cell[0], cell[1], corner);
        for (int k = 0; k < 4; ++k) {
            if (weight[k] > 1e-8) {
                BB_TRY(bb_triplets_add(&list, node, grid->node_at[corner[k]], weight[k]));
            }
        }
    }
    BB_TRY(bb_csr_assemble(mesh->node_count, out->node_count, &list, &out->prolongation));
done:
    bb_triplets_release(&list);
    return status;
}

// One of `ratio` nodes along an axis lies on a coarse line and has one coarse neighbour instead of
// two.
double bb_clamp_grid_pairs(double nodes, double ratio)
{
    return nodes * pow(2.0 - 1.0 / ratio, 2.0);
}

// Along an edge of the square around the disc, with a cell at either end.
static double edge_of(double nodes, double ratio)
{
    return ceil(sqrt(4.0 / M_PI * nodes) / ratio) + 3.0;
}

bb_need bb_clamp_grid_resident(double nodes, double ratio)
{
    const double square = pow(edge_of(nodes, ratio), 2.0);
    const bb_need grid = {.host_bytes = sizeof(bb_clamp_grid) +
                                        square * (5.0 * sizeof(int32_t) + sizeof(double))};
    return bb_need_together(grid, bb_csr_resident(nodes, bb_clamp_grid_pairs(nodes, ratio)));
}

bb_need bb_clamp_grid_need(double nodes, double ratio)
{
    const double square = pow(edge_of(nodes, ratio), 2.0);
    const bb_need grid = {.host_bytes = sizeof(bb_clamp_grid) +
                                        square * (6.0 * sizeof(int32_t) + sizeof(double))};
    return bb_need_together(grid, bb_csr_assemble_need(nodes, bb_clamp_grid_pairs(nodes, ratio)));
}

bb_status bb_clamp_grid_create(const bb_disc_mesh *mesh, double spacing, bb_clamp_grid **out)
{
    bb_status status = BB_OK;
    coarse grid = {0};
    bb_clamp_grid *made = NULL;
    BB_REQUIRE(spacing >= mesh->spacing * (1.0 - 1e-12), BB_INVALID,
               "clamp spacing = %g mm, expected at least that of the mesh, %g mm", 1e3 * spacing,
               1e3 * mesh->spacing);
    BB_REQUIRE(!mesh->periodic, BB_INVALID, "a periodic mesh needs an isothermal clamp");
    place(mesh, spacing, &grid);
    BB_TRY(BB_ZEROED(1, &made));
    made->spacing = spacing;
    BB_TRY(BB_ZEROED(grid.rows * grid.columns, &grid.cell_at));
    BB_TRY(BB_ZEROED((grid.rows + 1) * (grid.columns + 1), &grid.node_at));
    mark_cells(&grid);
    number_nodes(&grid, made);
    BB_TRY(BB_ALLOCATE(4 * made->cell_count, &made->cell_nodes));
    BB_TRY(BB_ZEROED(made->node_count, &made->node_area));
    fill_cells(&grid, made);
    BB_TRY(prolong(&grid, made));
    made->origin_x = grid.origin_x;
    made->origin_y = grid.origin_y;
    made->columns = grid.columns;
    made->rows = grid.rows;
    made->cell_at = grid.cell_at;
    grid.cell_at = NULL;
    *out = made;
    made = NULL;
done:
    BB_RELEASE(&grid.cell_at);
    BB_RELEASE(&grid.node_at);
    bb_clamp_grid_destroy(&made);
    return status;
}

bool bb_clamp_grid_weights(const bb_clamp_grid *grid, double x, double y, bb_index node[4],
                           double weight[4])
{
    const coarse full_grid = {.spacing = grid->spacing,
                              .columns = grid->columns,
                              .rows = grid->rows,
                              .cell_at = grid->cell_at};
    bb_index cell[2];
    double point[2];
    if (!locate(&full_grid, (x - grid->origin_x) / grid->spacing,
                (y - grid->origin_y) / grid->spacing, cell, point)) {
        return false;
    }
    const bb_index number = grid->cell_at[cell[1] * grid->columns + cell[0]] - 1;
    for (int k = 0; k < 4; ++k) {
        node[k] = grid->cell_nodes[4 * number + k];
    }
    bilinear_weights(point, weight);
    return true;
}

void bb_clamp_grid_destroy(bb_clamp_grid **grid)
{
    if (grid == NULL || *grid == NULL) {
        return;
    }
    BB_RELEASE(&(*grid)->cell_at);
    BB_RELEASE(&(*grid)->cell_nodes);
    BB_RELEASE(&(*grid)->node_area);
    bb_csr_release(&(*grid)->prolongation);
    BB_RELEASE(grid);
}
