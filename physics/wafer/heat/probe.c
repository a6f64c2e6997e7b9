// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/heat/probe.h"

#include "core/memory.h"
#include "physics/wafer/heat/clamp_grid.h"

#include <math.h>
#include <string.h>

static bb_status check_name(const bb_probe_config *configs, bb_index index)
{
    bb_status status = BB_OK;
    const char *name = configs[index].name;
    BB_REQUIRE(bb_lot_probe_name_valid(name), BB_INVALID,
               "probe '%s': expected 1 to %d letters, digits and _, a letter first", name,
               BB_PROBE_NAME);
    for (bb_index i = 0; i < index; ++i) {
        BB_REQUIRE(strcmp(configs[i].name, name) != 0, BB_INVALID,
                   "probe '%s': probe %td has this name too", name, i);
    }
done:
    return status;
}

static void place_in_wafer(const bb_disc_mesh *mesh, double x, double y, bb_probe *probe)
{
    const bb_index cell = bb_disc_mesh_nearest(mesh, &x, &y);
    const int32_t *corner = mesh->cell_nodes + 4 * cell;
    const double across =
        fmin(fmax((x - bb_disc_mesh_x(mesh, corner[0])) / mesh->spacing, 0.0), 1.0);
    const double up = fmin(fmax((y - bb_disc_mesh_y(mesh, corner[0])) / mesh->spacing, 0.0), 1.0);
    const double weight[4] = {(1.0 - across) * (1.0 - up), across * (1.0 - up), across * up,
                              (1.0 - across) * up};
    for (int k = 0; k < 4; ++k) {
        probe->unknown[k] = corner[k];
        probe->weight[k] = weight[k];
    }
}

// Clamp cells cover the wafer's, so that a point on a wafer cell is on one of them.
static bb_status place_in_clamp(const bb_disc_mesh *mesh, const bb_clamp_grid *grid, double x,
                                double y, bb_probe *probe)
{
    bb_status status = BB_OK;
    (void)bb_disc_mesh_nearest(mesh, &x, &y);
    BB_REQUIRE(bb_clamp_grid_weigh(grid, x, y, probe->unknown, probe->weight), BB_INTERNAL,
               "probe '%s' lies on no clamp cell", probe->config->name);
    for (int k = 0; k < 4; ++k) {
        probe->unknown[k] += mesh->node_count;
    }
done:
    return status;
}

bb_status bb_probes_create(const bb_probe_config *configs, bb_index count, const bb_disc_mesh *mesh,
                           double radius, double clamp_spacing, bb_probe **out)
{
    bb_status status = BB_OK;
    bb_clamp_grid *grid = NULL;
    bb_probe *probes = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(count, &probes));
    for (bb_index i = 0; i < count; ++i) {
        const double x = 1e-3 * configs[i].x_mm;
        const double y = 1e-3 * configs[i].y_mm;
        BB_TRY(check_name(configs, i));
        BB_REQUIRE(hypot(x, y) <= radius, BB_INVALID,
                   "probe '%s' at (%g, %g) mm: expected within %g mm of the centre",
                   configs[i].name, configs[i].x_mm, configs[i].y_mm, 1e3 * radius);
        probes[i].config = &configs[i];
        if (configs[i].layer == (int)BB_PROBE_WAFER) {
            place_in_wafer(mesh, x, y, &probes[i]);
            continue;
        }
        if (grid == NULL) {
            BB_TRY(bb_clamp_grid_create(mesh, clamp_spacing, &grid));
        }
        BB_TRY(place_in_clamp(mesh, grid, x, y, &probes[i]));
    }
    *out = probes;
    probes = NULL;
done:
    bb_clamp_grid_destroy(&grid);
    BB_RELEASE(&probes);
    return status;
}

double bb_probe_rise(const bb_probe *probe, const double *state)
{
    double rise = 0.0;
    for (int k = 0; k < 4; ++k) {
        rise += probe->weight[k] * state[probe->unknown[k]];
    }
    return rise;
}
