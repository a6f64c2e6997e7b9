// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/rigid_modes.h"

#include "core/memory.h"
#include "core/portable.h"

enum { MODES = 3, WIDEST = 32 };

// Consistent masses of a square: int phi_k phi_l over its area, times 36.
static const double MASS[4][4] = {
    {4.0, 2.0, 1.0, 2.0}, {2.0, 4.0, 2.0, 1.0}, {1.0, 2.0, 4.0, 2.0}, {2.0, 1.0, 2.0, 4.0}};

static void add_cells(const bb_disc_mesh *mesh, bb_rigid_modes *out)
{
    const double unit = mesh->spacing * mesh->spacing / 36.0;
    for (bb_index cell = 0; cell < mesh->cell_count; ++cell) {
        const int32_t *corner = mesh->cell_nodes + 4 * cell;
        for (int k = 0; k < 4; ++k) {
            for (int l = 0; l < 4; ++l) {
                out->weight[corner[k]] += unit * MASS[k][l];
                out->weight_x[corner[k]] += unit * MASS[k][l] * out->node[2 * corner[l]];
                out->weight_y[corner[k]] += unit * MASS[k][l] * out->node[2 * corner[l] + 1];
            }
        }
    }
}

bb_status bb_rigid_modes_create(const bb_disc_mesh *mesh, bb_rigid_modes *out)
{
    bb_status status = BB_OK;
    double centre[2] = {0.0, 0.0};
    *out = (bb_rigid_modes){.node_count = mesh->node_count};
    BB_TRY(BB_ALLOCATE(2 * mesh->node_count, &out->node));
    BB_TRY(BB_ZEROED(mesh->node_count, &out->weight));
    BB_TRY(BB_ZEROED(mesh->node_count, &out->weight_x));
    BB_TRY(BB_ZEROED(mesh->node_count, &out->weight_y));
    for (bb_index i = 0; i < mesh->node_count; ++i) {
        centre[0] += mesh->node_area[i] * bb_disc_mesh_x(mesh, i);
        centre[1] += mesh->node_area[i] * bb_disc_mesh_y(mesh, i);
        out->area += mesh->node_area[i];
    }
    for (bb_index i = 0; i < mesh->node_count; ++i) {
        out->node[2 * i] = bb_disc_mesh_x(mesh, i) - centre[0] / out->area;
        out->node[2 * i + 1] = bb_disc_mesh_y(mesh, i) - centre[1] / out->area;
    }
    add_cells(mesh, out);
    for (bb_index i = 0; i < mesh->node_count; ++i) {
        out->polar += out->node[2 * i] * out->weight_x[i] + out->node[2 * i + 1] * out->weight_y[i];
    }
done:
    if (status != BB_OK) {
        bb_rigid_modes_release(out);
    }
    return status;
}

void bb_rigid_modes_release(bb_rigid_modes *modes)
{
    BB_RELEASE(&modes->node);
    BB_RELEASE(&modes->weight);
    BB_RELEASE(&modes->weight_x);
    BB_RELEASE(&modes->weight_y);
}

// What a node has of each mode, in x and in y.
typedef struct share {
    double x[MODES], y[MODES];
} share;

static share of_motion(const bb_rigid_modes *modes, bb_index i)
{
    return (share){.x = {1.0, 0.0, -modes->node[2 * i + 1]}, .y = {0.0, 1.0, modes->node[2 * i]}};
}

static share of_load(const bb_rigid_modes *modes, bb_index i)
{
    return (share){.x = {modes->weight[i], 0.0, -modes->weight_y[i]},
                   .y = {0.0, modes->weight[i], modes->weight_x[i]}};
}

typedef share (*sharing)(const bb_rigid_modes *modes, bb_index i);

// v - what (test' v)/(r' M r), for the three modes and all columns.
BB_CLONES static void project(const bb_rigid_modes *modes, const int64_t *place, int width,
                              sharing test, sharing what, double *v)
{
    double sum[MODES][WIDEST] = {{0.0}};
    const double norm[MODES] = {modes->area, modes->area, modes->polar};
    for (bb_index i = 0; i < modes->node_count; ++i) {
        const share node = test(modes, i);
        const double *x = v + place[2 * i] * width;
        const double *y = v + place[2 * i + 1] * width;
        for (int m = 0; m < MODES; ++m) {
            for (int p = 0; p < width; ++p) {
                sum[m][p] += node.x[m] * x[p] + node.y[m] * y[p];
            }
        }
    }
    for (bb_index i = 0; i < modes->node_count; ++i) {
        const share node = what(modes, i);
        double *x = v + place[2 * i] * width;
        double *y = v + place[2 * i + 1] * width;
        for (int m = 0; m < MODES; ++m) {
            for (int p = 0; p < width; ++p) {
                x[p] -= node.x[m] * sum[m][p] / norm[m];
                y[p] -= node.y[m] * sum[m][p] / norm[m];
            }
        }
    }
}

void bb_rigid_modes_unload(const bb_rigid_modes *modes, const int64_t *place, int width, double *f)
{
    project(modes, place, width, of_motion, of_load, f);
}

void bb_rigid_modes_take(const bb_rigid_modes *modes, const int64_t *place, int width, double *u)
{
    project(modes, place, width, of_load, of_motion, u);
}
