// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/heat/hood.h"

#include "physics/wafer/heat/node_cut.h"

#include <math.h>

bool bb_hood_wanted(const bb_hood_config *config)
{
    return config != NULL && config->exchange_w_per_m2_k > 0.0;
}

bb_hood bb_hood_make(const bb_disc_mesh *mesh, const bb_scan *scan, const bb_hood_config *config)
{
    bb_hood hood = {
        .mesh = mesh,
        .scan = scan,
        .exchange = config->exchange_w_per_m2_k,
        .width = 1e-3 * config->width_mm,
        .height = 1e-3 * config->height_mm,
        .rise = config->rise_k,
    };
    hood.cover_limit = bb_node_cut_most(mesh, hood.width, hood.height);
    return hood;
}

void bb_hood_centre(const bb_hood *hood, bb_index index, double time, double centre[2])
{
    const bb_scan *scan = hood->scan;
    const bb_field *field = &scan->fields[index];
    const double light = scan->step * (double)scan->light_steps;
    const double dark = scan->step * (double)scan->dark_steps;
    centre[0] = field->x;
    centre[1] = bb_scan_slit_y(scan, field, fmin(time, light)) - 0.5 * scan->sagitta;
    if (time > light && index + 1 < scan->field_count) {
        const bb_field *next = &scan->fields[index + 1];
        double part = (time - light) / dark;
        double start = bb_scan_slit_y(scan, next, 0.0) - 0.5 * scan->sagitta;
        centre[0] += part * (next->x - field->x);
        centre[1] += part * (start - centre[1]);
    }
}

bb_index bb_hood_cover(const bb_hood *hood, const double centre[2], double duration, int32_t *node,
                       double *exchange)
{
    const bb_disc_mesh *mesh = hood->mesh;
    const bb_box area = {centre[0] - 0.5 * hood->width, centre[0] + 0.5 * hood->width,
                         centre[1] - 0.5 * hood->height, centre[1] + 0.5 * hood->height};
    bb_index x[2];
    bb_index y[2];
    bb_index count = 0;
    bb_node_cut_range(area.x0, area.x1, mesh->origin_x, mesh->spacing, mesh->node_columns, x);
    bb_node_cut_range(area.y0, area.y1, mesh->origin_y, mesh->spacing, mesh->node_rows, y);
    for (bb_index row = y[0]; row <= y[1]; ++row) {
        for (bb_index column = x[0]; column <= x[1]; ++column) {
            int32_t index = mesh->node_at[row * mesh->node_columns + column];
            double covered = 0.0;
            for (int side = 0; side < 2 && index >= 0; ++side) {
                bb_node_cut cut = bb_node_cut_of(mesh, &area, index, side);
                covered += cut.width > 0.0 ? cut.width * (cut.high - cut.low) : 0.0;
            }
            if (covered > 0.0) {
                node[count] = index;
                exchange[count++] = duration * hood->exchange * covered;
            }
        }
    }
    return count;
}
