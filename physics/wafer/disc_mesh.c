// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/disc_mesh.h"

#include "core/memory.h"

#include <math.h>

// Radius 0: every cell is included.
typedef struct layout {
    bb_index columns;
    bb_index rows;
    double origin_x;
    double origin_y;
    double spacing;
    double radius;
    bool periodic;
    const bb_disc_mesh *hole; // its cells are excluded; NULL for none
    bb_index shift;           // from its grid to this one
} layout;

static bool includes(const layout *plan, bb_index column, bb_index row)
{
    if (plan->radius == 0.0) {
        return true;
    }
    double x = plan->origin_x + ((double)column + 0.5) * plan->spacing;
    double y = plan->origin_y + ((double)row + 0.5) * plan->spacing;
    if (plan->hole != NULL &&
        bb_disc_mesh_has_cell(plan->hole, column - plan->shift, row - plan->shift)) {
        return false;
    }
    return x * x + y * y <= plan->radius * plan->radius;
}

static bb_index grid_node(const bb_disc_mesh *mesh, bb_index column, bb_index row)
{
    return (row % mesh->node_rows) * mesh->node_columns + column % mesh->node_columns;
}

static void corners(const bb_disc_mesh *mesh, bb_index column, bb_index row, bb_index indices[4])
{
    indices[0] = grid_node(mesh, column, row);
    indices[1] = grid_node(mesh, column + 1, row);
    indices[2] = grid_node(mesh, column + 1, row + 1);
    indices[3] = grid_node(mesh, column, row + 1);
}

// Numbers the included cells and marks their nodes.
static void number_cells(const layout *plan, bb_disc_mesh *mesh)
{
    for (bb_index row = 0; row < mesh->rows; ++row) {
        for (bb_index column = 0; column < mesh->columns; ++column) {
            bool kept = includes(plan, column, row);
            mesh->cell_at[row * mesh->columns + column] = kept ? (int32_t)mesh->cell_count++ : -1;
            if (kept) {
                bb_index indices[4];
                corners(mesh, column, row, indices);
                for (int k = 0; k < 4; ++k) {
                    mesh->node_at[indices[k]] = 1;
                }
            }
        }
    }
}

static void number_nodes(bb_disc_mesh *mesh)
{
    for (bb_index i = 0; i < mesh->node_columns * mesh->node_rows; ++i) {
        mesh->node_at[i] = mesh->node_at[i] ? (int32_t)mesh->node_count++ : -1;
    }
}

static void fill_nodes(bb_disc_mesh *mesh)
{
    for (bb_index row = 0; row < mesh->node_rows; ++row) {
        for (bb_index column = 0; column < mesh->node_columns; ++column) {
            int32_t node = mesh->node_at[row * mesh->node_columns + column];
            if (node >= 0) {
                mesh->node_column[node] = (int32_t)column;
                mesh->node_row[node] = (int32_t)row;
            }
        }
    }
    double quarter = 0.25 * mesh->spacing * mesh->spacing;
    for (bb_index row = 0; row < mesh->rows; ++row) {
        for (bb_index column = 0; column < mesh->columns; ++column) {
            int32_t cell = mesh->cell_at[row * mesh->columns + column];
            if (cell < 0) {
                continue;
            }
            bb_index indices[4];
            corners(mesh, column, row, indices);
            for (int k = 0; k < 4; ++k) {
                int32_t node = mesh->node_at[indices[k]];
                mesh->cell_nodes[4 * cell + k] = node;
                mesh->node_area[node] += quarter;
            }
        }
    }
}

static bb_status build(const layout *plan, bb_disc_mesh **out)
{
    bb_status status = BB_OK;
    bb_disc_mesh *mesh = NULL;
    BB_REQUIRE(plan->spacing > 0.0 && isfinite(plan->spacing), BB_INVALID,
               "mesh spacing = %g m, expected a positive length", plan->spacing);
    BB_REQUIRE(plan->columns > 0 && plan->rows > 0 && plan->columns < 30000 && plan->rows < 30000,
               BB_INVALID, "mesh of %td x %td cells, expected 1..29999 a side", plan->columns,
               plan->rows);
    BB_TRY(BB_ZEROED(1, &mesh));
    mesh->spacing = plan->spacing;
    mesh->origin_x = plan->origin_x;
    mesh->origin_y = plan->origin_y;
    mesh->columns = plan->columns;
    mesh->rows = plan->rows;
    mesh->periodic = plan->periodic;
    mesh->node_columns = plan->columns + (plan->periodic ? 0 : 1);
    mesh->node_rows = plan->rows + (plan->periodic ? 0 : 1);
    BB_TRY(BB_ALLOCATE(mesh->columns * mesh->rows, &mesh->cell_at));
    BB_TRY(BB_ZEROED(mesh->node_columns * mesh->node_rows, &mesh->node_at));
    number_cells(plan, mesh);
    number_nodes(mesh);
    BB_REQUIRE(mesh->cell_count > 0, BB_INVALID,
               "mesh: cells of %g m are too large for a radius of %g m, no cell centre is inside",
               plan->spacing, plan->radius);
    BB_TRY(BB_ALLOCATE(4 * mesh->cell_count, &mesh->cell_nodes));
    BB_TRY(BB_ALLOCATE(mesh->node_count, &mesh->node_column));
    BB_TRY(BB_ALLOCATE(mesh->node_count, &mesh->node_row));
    BB_TRY(BB_ZEROED(mesh->node_count, &mesh->node_area));
    fill_nodes(mesh);
    *out = mesh;
    mesh = NULL;
done:
    bb_disc_mesh_destroy(&mesh);
    return status;
}

// At least one node per cell; the grid is the square around the disc.
bb_need bb_disc_mesh_need(double nodes)
{
    const double edge = ceil(sqrt(4.0 / M_PI * nodes)) + 2.0;
    const double grid = 2.0 * edge * edge * sizeof(int32_t);
    return (bb_need){.host_bytes = sizeof(bb_disc_mesh) + grid +
                                   nodes * (6.0 * sizeof(int32_t) + sizeof(double))};
}

bb_status bb_disc_mesh_create(double radius, double spacing, bb_disc_mesh **out)
{
    bb_status status = BB_OK;
    BB_REQUIRE(radius > 0.0 && spacing > 0.0 && radius / spacing < 14999.0, BB_INVALID,
               "disc of radius %g m in cells of %g m, expected up to 14999 cells per radius",
               radius, spacing);
    // Slightly below the quotient, so that rounding of 0.15 / 0.0005 adds no empty column.
    bb_index half = (bb_index)ceil(radius / spacing * (1.0 - 1e-12));
    double corner = -(double)half * spacing;
    layout plan = {2 * half, 2 * half, corner, corner, spacing, radius, false, NULL, 0};
    BB_TRY(build(&plan, out));
done:
    return status;
}

bb_status bb_disc_mesh_around(const bb_disc_mesh *disc, double radius, bb_disc_mesh **out)
{
    bb_status status = BB_OK;
    const double spacing = disc->spacing;
    BB_REQUIRE(radius > 0.0 && radius / spacing < 14999.0, BB_INVALID,
               "ring of radius %g m in cells of %g m, expected up to 14999 cells per radius",
               radius, spacing);
    bb_index half = (bb_index)ceil(radius / spacing * (1.0 - 1e-12));
    half = half > disc->columns / 2 ? half : disc->columns / 2;
    double corner = -(double)half * spacing;
    bb_index shift = half - disc->columns / 2;
    layout plan = {2 * half, 2 * half, corner, corner, spacing, radius, false, disc, shift};
    BB_TRY(build(&plan, out));
done:
    return status;
}

bb_status bb_disc_mesh_rectangle(bb_index columns, bb_index rows, double spacing,
                                 bb_disc_mesh **out)
{
    layout plan = {columns, rows, 0.0, 0.0, spacing, 0.0, false, NULL, 0};
    return build(&plan, out);
}

bb_status bb_disc_mesh_periodic(bb_index columns, bb_index rows, double spacing, bb_disc_mesh **out)
{
    bb_status status = BB_OK;
    layout plan = {columns, rows, 0.0, 0.0, spacing, 0.0, true, NULL, 0};
    BB_REQUIRE(columns >= 3 && rows >= 3, BB_INVALID,
               "periodic mesh of %td x %td cells, expected at least 3 a side", columns, rows);
    BB_TRY(build(&plan, out));
done:
    return status;
}

double bb_disc_mesh_x(const bb_disc_mesh *mesh, bb_index node)
{
    return mesh->origin_x + mesh->spacing * mesh->node_column[node];
}

double bb_disc_mesh_y(const bb_disc_mesh *mesh, bb_index node)
{
    return mesh->origin_y + mesh->spacing * mesh->node_row[node];
}

bool bb_disc_mesh_has_cell(const bb_disc_mesh *mesh, bb_index column, bb_index row)
{
    return column >= 0 && row >= 0 && column < mesh->columns && row < mesh->rows &&
           mesh->cell_at[row * mesh->columns + column] >= 0;
}

bb_index bb_disc_mesh_cell_at(const bb_disc_mesh *mesh, bb_index column, bb_index row)
{
    if (mesh->periodic) {
        column = (column % mesh->columns + mesh->columns) % mesh->columns;
        row = (row % mesh->rows + mesh->rows) % mesh->rows;
    }
    return bb_disc_mesh_has_cell(mesh, column, row) ? mesh->cell_at[row * mesh->columns + column]
                                                    : -1;
}

bb_index bb_disc_mesh_cell(const bb_disc_mesh *mesh, double x, double y)
{
    double at_x = (x - mesh->origin_x) / mesh->spacing;
    double at_y = (y - mesh->origin_y) / mesh->spacing;
    if (!(at_x >= 0.0 && at_y >= 0.0 && at_x <= (double)mesh->columns &&
          at_y <= (double)mesh->rows)) {
        return -1;
    }
    bb_index column = (bb_index)at_x;
    bb_index row = (bb_index)at_y;
    // A point on a border may belong to the cell on its other side.
    for (bb_index dy = 0; dy <= (at_y == (double)row); ++dy) {
        for (bb_index dx = 0; dx <= (at_x == (double)column); ++dx) {
            if (bb_disc_mesh_has_cell(mesh, column - dx, row - dy)) {
                return mesh->cell_at[(row - dy) * mesh->columns + column - dx];
            }
        }
    }
    return -1;
}

// A mesh contains the segment from (0, 0) to each of its points, so the edge is found by bisection.
bb_index bb_disc_mesh_nearest(const bb_disc_mesh *mesh, double *x, double *y)
{
    enum { HALVINGS = 60 };
    double inside = 0.0;
    double outside = 1.0;
    bb_index cell = bb_disc_mesh_cell(mesh, *x, *y);
    if (cell >= 0) {
        return cell;
    }
    for (int i = 0; i < HALVINGS; ++i) {
        double middle = 0.5 * (inside + outside);
        if (bb_disc_mesh_cell(mesh, middle * *x, middle * *y) >= 0) {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    *x *= inside;
    *y *= inside;
    return bb_disc_mesh_cell(mesh, *x, *y);
}

double bb_disc_mesh_area(const bb_disc_mesh *mesh)
{
    return (double)mesh->cell_count * mesh->spacing * mesh->spacing;
}

void bb_disc_mesh_destroy(bb_disc_mesh **mesh)
{
    if (mesh == NULL || *mesh == NULL) {
        return;
    }
    BB_RELEASE(&(*mesh)->cell_nodes);
    BB_RELEASE(&(*mesh)->cell_at);
    BB_RELEASE(&(*mesh)->node_at);
    BB_RELEASE(&(*mesh)->node_column);
    BB_RELEASE(&(*mesh)->node_row);
    BB_RELEASE(&(*mesh)->node_area);
    BB_RELEASE(mesh);
}

// An edge that passes through a node up to rounding leaves no sliver on its other side.
static double from_node(double edge, double position, double half)
{
    double away = edge - position;
    return fabs(away) < 1e-9 * half ? 0.0 : away;
}

static double overlap(double a0, double a1, double b0, double b1)
{
    return fmax(fmin(a1, b1) - fmax(a0, b0), 0.0);
}

bb_node_cut bb_node_cut_of(const bb_disc_mesh *mesh, const bb_box *box, bb_index node, int side)
{
    double x = bb_disc_mesh_x(mesh, node);
    double y = bb_disc_mesh_y(mesh, node);
    double half = 0.5 * mesh->spacing;
    bb_index column = mesh->node_column[node];
    bb_index row = mesh->node_row[node] - 1 + side;
    double x0 = from_node(box->x0, x, half);
    double x1 = from_node(box->x1, x, half);
    // Lengths from the node: a whole quarter is spacing / 2 without rounding.
    double west = bb_disc_mesh_has_cell(mesh, column - 1, row) ? overlap(-half, 0.0, x0, x1) : 0.0;
    double east = bb_disc_mesh_has_cell(mesh, column, row) ? overlap(0.0, half, x0, x1) : 0.0;
    // Centre of the covered x; halves that are both covered meet at the node.
    double start = west > 0.0 ? fmin(x, box->x1) - west : fmax(x, box->x0);
    bb_node_cut cut = {.width = west + east};
    cut.low = fmax(side == 0 ? -half : 0.0, from_node(box->y0, y, half));
    cut.high = fmin(side == 0 ? 0.0 : half, from_node(box->y1, y, half));
    if (cut.high <= cut.low) {
        cut.width = 0.0;
    }
    cut.middle = start + 0.5 * cut.width;
    return cut;
}

void bb_node_cut_range(double low, double high, double origin, double spacing, bb_index count,
                       bb_index range[2])
{
    bb_index first = (bb_index)ceil((low - origin) / spacing - 0.5 - 1e-9);
    bb_index last = (bb_index)floor((high - origin) / spacing + 0.5 + 1e-9);
    range[0] = first < 0 ? 0 : first;
    range[1] = last >= count ? count - 1 : last;
}

bb_index bb_node_cut_most(const bb_disc_mesh *mesh, double width, double height)
{
    bb_index across = (bb_index)ceil(width / mesh->spacing) + 3;
    bb_index along = (bb_index)ceil(height / mesh->spacing) + 3;
    return across * along;
}
