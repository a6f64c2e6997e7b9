// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/heat/node_cut.h"

#include <math.h>

// An edge that passes through a node to rounding leaves no sliver on its other side.
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
    // The middle of the covered x; halves that are both covered meet at the node.
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
