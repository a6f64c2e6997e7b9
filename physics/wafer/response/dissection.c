// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/dissection.h"

typedef struct rectangle {
    bb_index column, row;
    bb_index columns, rows;
} rectangle;

static bb_index take(const bb_disc_mesh *mesh, rectangle part, int32_t *order)
{
    bb_index count = 0;
    for (bb_index row = part.row; row < part.row + part.rows; ++row) {
        for (bb_index column = part.column; column < part.column + part.columns; ++column) {
            int32_t node = mesh->node_at[row * mesh->node_columns + column];
            if (node >= 0) {
                order[count++] = node;
            }
        }
    }
    return count;
}

static bb_index dissect(const bb_disc_mesh *mesh, rectangle part, bb_index leaf, int32_t *order)
{
    if (part.columns <= leaf && part.rows <= leaf) {
        return take(mesh, part, order);
    }
    rectangle low = part;
    rectangle line = part;
    rectangle high = part;
    if (part.columns >= part.rows) {
        low.columns = part.columns / 2;
        line.column = part.column + low.columns;
        line.columns = 1;
        high.column = line.column + 1;
        high.columns = part.columns - low.columns - 1;
    } else {
        low.rows = part.rows / 2;
        line.row = part.row + low.rows;
        line.rows = 1;
        high.row = line.row + 1;
        high.rows = part.rows - low.rows - 1;
    }
    bb_index count = dissect(mesh, low, leaf, order);
    count += dissect(mesh, high, leaf, order + count);
    return count + take(mesh, line, order + count);
}

void bb_dissection_order(const bb_disc_mesh *mesh, bb_index leaf, int32_t *order)
{
    rectangle box = {0, 0, mesh->node_columns, mesh->node_rows};
    (void)dissect(mesh, box, leaf, order);
}
