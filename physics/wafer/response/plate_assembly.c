// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/plate_assembly.h"

#include "core/memory.h"
#include "physics/wafer/response/dissection.h"

#include <string.h>

// Six unknowns a node make small leaves worth their while: 13 % fewer values than leaves of 8.
enum { U = BB_PLATE_UNKNOWNS, NEIGHBOURS = 9, LEAF = 3 };
// Half of the neighbours stand before a node, and of its own block the upper triangle.
enum { VALUES_OF_NODE = U * U * (NEIGHBOURS / 2) + U * (U + 1) / 2 };

// Stiffness between a node and its neighbours, block [3 (dy + 1) + dx + 1].
typedef struct stencil {
    double block[NEIGHBOURS][U][U];
    int32_t node[NEIGHBOURS]; // -1 where there is none
} stencil;

static int32_t neighbour(const bb_disc_mesh *mesh, bb_index column, bb_index row)
{
    if (mesh->periodic) {
        column = (column + mesh->node_columns) % mesh->node_columns;
        row = (row + mesh->node_rows) % mesh->node_rows;
    }
    if (column < 0 || row < 0 || column >= mesh->node_columns || row >= mesh->node_rows) {
        return -1;
    }
    return mesh->node_at[row * mesh->node_columns + column];
}

static void add_cell(const bb_plate_element *element, double factor, int k, stencil *out)
{
    for (int l = 0; l < 4; ++l) {
        int index = 3 * (bb_plate_corner[l][1] - bb_plate_corner[k][1] + 1) +
                    bb_plate_corner[l][0] - bb_plate_corner[k][0] + 1;
        for (int c = 0; c < U; ++c) {
            for (int e = 0; e < U; ++e) {
                out->block[index][c][e] += element->elastic[U * k + c][U * l + e] +
                                           factor * element->springs[U * k + c][U * l + e];
            }
        }
    }
}

static void gather(const bb_disc_mesh *mesh, const bb_plate_element *element, const double *springs,
                   bb_index node, stencil *out)
{
    memset(out->block, 0, sizeof out->block);
    bb_index column = mesh->node_column[node];
    bb_index row = mesh->node_row[node];
    for (int i = 0; i < NEIGHBOURS; ++i) {
        out->node[i] = neighbour(mesh, column + i % 3 - 1, row + i / 3 - 1);
    }
    for (int k = 0; k < 4; ++k) {
        bb_index cell =
            bb_disc_mesh_cell_at(mesh, column - bb_plate_corner[k][0], row - bb_plate_corner[k][1]);
        if (cell >= 0) {
            add_cell(element, springs == NULL ? 1.0 : springs[cell], k, out);
        }
    }
}

// Places of the stencil in the order of their nodes; absent ones first.
static void sort(const stencil *weights, int place[NEIGHBOURS])
{
    for (int i = 0; i < NEIGHBOURS; ++i) {
        int index = i;
        for (; index > 0 && weights->node[place[index - 1]] > weights->node[i]; --index) {
            place[index] = place[index - 1];
        }
        place[index] = i;
    }
}

// The columns of one node. The matrix is symmetric: a row of the stencil is a column.
static void fill_node(const stencil *weights, bb_index node, bb_upper_triangle *out)
{
    int place[NEIGHBOURS];
    sort(weights, place);
    for (int c = 0; c < U; ++c) {
        int64_t column = U * (int64_t)node + c;
        int64_t index = out->start[column];
        for (int i = 0; i < NEIGHBOURS; ++i) {
            int64_t other = weights->node[place[i]];
            for (int e = 0; e < U && other >= 0 && U * other + e <= column; ++e) {
                out->row[index] = U * other + e;
                out->value[index++] = weights->block[place[i]][c][e];
            }
        }
        out->start[column + 1] = index;
    }
}

double bb_plate_matrix_values(double nodes)
{
    return nodes * VALUES_OF_NODE;
}

bb_status bb_plate_assemble(const bb_disc_mesh *mesh, const bb_plate_element *element,
                            const double *springs, bb_upper_triangle *out)
{
    bb_status status = BB_OK;
    bb_index nodes = mesh->node_count;
    bb_index limit = nodes * VALUES_OF_NODE;
    *out = (bb_upper_triangle){.unknowns = U * (int64_t)nodes};
    BB_TRY(BB_ALLOCATE(U * nodes + 1, &out->start));
    BB_TRY(BB_ALLOCATE(limit, &out->row));
    BB_TRY(BB_ALLOCATE(limit, &out->value));
    out->start[0] = 0;
    for (bb_index node = 0; node < nodes; ++node) {
        stencil weights;
        gather(mesh, element, springs, node, &weights);
        fill_node(&weights, node, out);
    }
done:
    if (status != BB_OK) {
        bb_upper_triangle_release(out);
    }
    return status;
}

void bb_upper_triangle_release(bb_upper_triangle *matrix)
{
    BB_RELEASE(&matrix->start);
    BB_RELEASE(&matrix->row);
    BB_RELEASE(&matrix->value);
}

bb_status bb_plate_order(const bb_disc_mesh *mesh, int64_t *order)
{
    bb_status status = BB_OK;
    int32_t *nodes = NULL;
    BB_TRY(BB_ALLOCATE(mesh->node_count, &nodes));
    for (bb_index i = 0; i < mesh->node_count; ++i) {
        nodes[i] = (int32_t)i;
    }
    if (!mesh->periodic) {
        bb_dissection_order(mesh, LEAF, nodes);
    }
    for (bb_index i = 0; i < U * mesh->node_count; ++i) {
        order[i] = U * (int64_t)nodes[i / U] + i % U;
    }
done:
    BB_RELEASE(&nodes);
    return status;
}
