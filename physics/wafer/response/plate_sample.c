// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/plate_sample.h"

#include "physics/wafer/response/plate_element.h"

#include <string.h>

static void add(bb_plate_sample *out, int64_t node, int component, double weight)
{
    out->unknown[out->count] = BB_PLATE_UNKNOWNS * node + component;
    out->weight[out->count++] = weight;
}

// Adds `factor` times the mean of div u0 at a node over the cells around it.
static void add_divergence(const bb_disc_mesh *mesh, bb_index node, double factor,
                           bb_plate_sample *out)
{
    bb_index cell[4];
    int cells = 0;
    for (int k = 0; k < 4; ++k) {
        cell[k] = bb_disc_mesh_cell_at(mesh, mesh->node_column[node] - bb_plate_corner[k][0],
                                       mesh->node_row[node] - bb_plate_corner[k][1]);
        cells += cell[k] >= 0;
    }
    for (int k = 0; k < 4; ++k) {
        if (cell[k] < 0) {
            continue;
        }
        bb_plate_shapes shapes;
        bb_plate_shapes_at(bb_plate_corner[k][0], bb_plate_corner[k][1], mesh->spacing, &shapes);
        const int32_t *corner = mesh->cell_nodes + 4 * cell[k];
        for (int l = 0; l < 4; ++l) {
            add(out, corner[l], 0, factor * shapes.q_x[l] / cells);
            add(out, corner[l], 1, factor * shapes.q_y[l] / cells);
        }
    }
}

static void sample_plane(const bb_plate *plate, const bb_plate_shapes *shapes, const int32_t *node,
                         int axis, bb_plate_sample *out)
{
    const double *slope = axis == (int)BB_AXIS_X ? shapes->w_x : shapes->w_y;
    for (int k = 0; k < 4; ++k) {
        add(out, node[k], axis, shapes->q[k]);
        for (int m = 0; m < 4; ++m) {
            add(out, node[k], 2 + m, -0.5 * plate->thickness * slope[4 * k + m]);
        }
    }
}

static void sample_height(const bb_disc_mesh *mesh, const bb_plate *plate,
                          const bb_plate_shapes *shapes, const int32_t *node, bb_plate_sample *out)
{
    double shrink = plate->contraction * plate->thickness;
    out->growth = plate->expansion * plate->thickness * (1.0 + 2.0 * plate->contraction);
    for (int k = 0; k < 4; ++k) {
        for (int m = 0; m < 4; ++m) {
            add(out, node[k], 2 + m, shapes->w[4 * k + m]);
        }
        add_divergence(mesh, node[k], -shrink * shapes->q[k], out);
    }
}

void bb_plate_sample_make(const bb_disc_mesh *mesh, const bb_plate *plate, double x, double y,
                          int axis, bb_plate_sample *out)
{
    bb_plate_shapes shapes;
    bb_index cell = bb_disc_mesh_nearest(mesh, &x, &y);
    const int32_t *node = mesh->cell_nodes + 4 * cell;
    double a = (x - bb_disc_mesh_x(mesh, node[0])) / mesh->spacing;
    double b = (y - bb_disc_mesh_y(mesh, node[0])) / mesh->spacing;
    bb_plate_shapes_at(a, b, mesh->spacing, &shapes);
    memset(out, 0, sizeof *out);
    out->x = x;
    out->y = y;
    memcpy(out->node, node, sizeof out->node);
    memcpy(out->bilinear, shapes.q, sizeof out->bilinear);
    if (axis == (int)BB_AXIS_Z) {
        sample_height(mesh, plate, &shapes, node, out);
    } else {
        sample_plane(plate, &shapes, node, axis, out);
    }
}
