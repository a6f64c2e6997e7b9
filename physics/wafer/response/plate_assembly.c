// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/plate_assembly.h"

#include "core/memory.h"

#include <string.h>

const int bb_plate_corner[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};

// Gauss-Legendre rule of four points on [0, 1]; exact to degree 7.
static const double POINT[4] = {0.069431844202973712388, 0.33000947820757186760,
                                0.66999052179242813240, 0.93056815579702628761};
static const double WEIGHT[4] = {0.17392742256872692869, 0.32607257743127307131,
                                 0.32607257743127307131, 0.17392742256872692869};

// Computes the cubic Hermite shape of end `end` (0 or 1), for value (order 0) or slope (order 1),
// and its first two derivatives with respect to t of [0, 1].
static void hermite(int end, int order, double t, double out[3])
{
    if (order == 0) {
        double sign = end == 0 ? -1.0 : 1.0;
        out[0] = (end == 0 ? 1.0 : 0.0) + sign * t * t * (3.0 - 2.0 * t);
        out[1] = sign * 6.0 * t * (1.0 - t);
        out[2] = sign * (6.0 - 12.0 * t);
    } else if (end == 0) {
        out[0] = t * (1.0 - t) * (1.0 - t);
        out[1] = (1.0 - t) * (1.0 - 3.0 * t);
        out[2] = 6.0 * t - 4.0;
    } else {
        out[0] = -t * t * (1.0 - t);
        out[1] = t * (3.0 * t - 2.0);
        out[2] = 6.0 * t - 2.0;
    }
}

void bb_plate_shapes_at(double a, double b, double side, bb_plate_shapes *out)
{
    for (int k = 0; k < 4; ++k) {
        double in_a = bb_plate_corner[k][0] ? a : 1.0 - a;
        double in_b = bb_plate_corner[k][1] ? b : 1.0 - b;
        out->q[k] = in_a * in_b;
        out->q_x[k] = (bb_plate_corner[k][0] ? in_b : -in_b) / side;
        out->q_y[k] = (bb_plate_corner[k][1] ? in_a : -in_a) / side;
        for (int m = 0; m < 4; ++m) {
            double along[3];
            double across[3];
            hermite(bb_plate_corner[k][0], m % 2, a, along);
            hermite(bb_plate_corner[k][1], m / 2, b, across);
            int i = 4 * k + m;
            out->w[i] = along[0] * across[0];
            out->w_x[i] = along[1] * across[0] / side;
            out->w_y[i] = along[0] * across[1] / side;
            out->w_xx[i] = along[2] * across[0] / (side * side);
            out->w_yy[i] = along[0] * across[2] / (side * side);
            out->w_xy[i] = along[1] * across[1] / (side * side);
        }
    }
}

static void add_membrane(const bb_plate *plate, const bb_plate_shapes *shapes, double weight,
                         bb_plate_element *out)
{
    double along = plate->membrane * weight;
    double across = plate->poisson * along;
    double shear = plate->shear * along;
    for (int k = 0; k < 4; ++k) {
        for (int l = 0; l < 4; ++l) {
            double(*to)[BB_PLATE_ELEMENT] = out->elastic + 6 * k;
            to[0][6 * l] +=
                along * shapes->q_x[k] * shapes->q_x[l] + shear * shapes->q_y[k] * shapes->q_y[l];
            to[0][6 * l + 1] +=
                across * shapes->q_x[k] * shapes->q_y[l] + shear * shapes->q_y[k] * shapes->q_x[l];
            to[1][6 * l] +=
                across * shapes->q_y[k] * shapes->q_x[l] + shear * shapes->q_x[k] * shapes->q_y[l];
            to[1][6 * l + 1] +=
                along * shapes->q_y[k] * shapes->q_y[l] + shear * shapes->q_x[k] * shapes->q_x[l];
        }
    }
}

// Twist is 2 w_xy, so that D66 counts four times.
static void add_bending(const bb_plate *plate, const bb_plate_shapes *shapes, double weight,
                        bb_plate_element *out)
{
    double along = plate->bending * weight;
    double across = plate->poisson * along;
    double twist = 4.0 * plate->shear * along;
    for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 16; ++j) {
            out->elastic[6 * (i / 4) + 2 + i % 4][6 * (j / 4) + 2 + j % 4] +=
                along * (shapes->w_xx[i] * shapes->w_xx[j] + shapes->w_yy[i] * shapes->w_yy[j]) +
                across * (shapes->w_xx[i] * shapes->w_yy[j] + shapes->w_yy[i] * shapes->w_xx[j]) +
                twist * shapes->w_xy[i] * shapes->w_xy[j];
        }
    }
}

// Displacement of the bottom along x and y, and w, by unknown: u0 + (d/2) grad w.
static void bottom_of(const bb_plate *plate, const bb_plate_shapes *shapes,
                      double bottom[3][BB_PLATE_ELEMENT])
{
    memset(bottom, 0, 3 * sizeof *bottom);
    for (int k = 0; k < 4; ++k) {
        bottom[0][6 * k] = shapes->q[k];
        bottom[1][6 * k + 1] = shapes->q[k];
        for (int m = 0; m < 4; ++m) {
            bottom[0][6 * k + 2 + m] = 0.5 * plate->thickness * shapes->w_x[4 * k + m];
            bottom[1][6 * k + 2 + m] = 0.5 * plate->thickness * shapes->w_y[4 * k + m];
            bottom[2][6 * k + 2 + m] = shapes->w[4 * k + m];
        }
    }
}

static void add_springs(const bb_plate *plate, const bb_plate_shapes *shapes, double weight,
                        bb_plate_element *out)
{
    double bottom[3][BB_PLATE_ELEMENT];
    bottom_of(plate, shapes, bottom);
    for (int i = 0; i < BB_PLATE_ELEMENT; ++i) {
        for (int j = 0; j < BB_PLATE_ELEMENT; ++j) {
            out->springs[i][j] +=
                weight *
                (plate->tangential * (bottom[0][i] * bottom[0][j] + bottom[1][i] * bottom[1][j]) +
                 plate->normal * bottom[2][i] * bottom[2][j]);
        }
    }
}

// M_T per kelvin of tau is N_T per kelvin times d / 6.
static void add_loads(const bb_plate *plate, const bb_plate_shapes *shapes, double weight,
                      bb_plate_element *out)
{
    double force = plate->thermal * weight;
    double moment = force * plate->thickness / 6.0;
    for (int k = 0; k < 4; ++k) {
        for (int l = 0; l < 4; ++l) {
            out->load[6 * k][l] += force * shapes->q_x[k] * shapes->q[l];
            out->load[6 * k + 1][l] += force * shapes->q_y[k] * shapes->q[l];
            for (int m = 0; m < 4; ++m) {
                int i = 4 * k + m;
                out->moment[6 * k + 2 + m][l] -=
                    moment * (shapes->w_xx[i] + shapes->w_yy[i]) * shapes->q[l];
            }
        }
    }
}

void bb_plate_element_make(const bb_plate *plate, double side, bb_plate_element *out)
{
    memset(out, 0, sizeof *out);
    for (int point = 0; point < 16; ++point) {
        bb_plate_shapes shapes;
        double weight = WEIGHT[point % 4] * WEIGHT[point / 4] * side * side;
        bb_plate_shapes_at(POINT[point % 4], POINT[point / 4], side, &shapes);
        add_membrane(plate, &shapes, weight, out);
        add_bending(plate, &shapes, weight, out);
        add_springs(plate, &shapes, weight, out);
        add_loads(plate, &shapes, weight, out);
    }
}

typedef struct rectangle {
    bb_index column, row;
    bb_index columns, rows;
} rectangle;

static bb_index list_nodes(const bb_disc_mesh *mesh, rectangle part, int32_t *order)
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
        return list_nodes(mesh, part, order);
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
    return count + list_nodes(mesh, line, order + count);
}

void bb_plate_dissect(const bb_disc_mesh *mesh, bb_index leaf, int32_t *order)
{
    rectangle box = {0, 0, mesh->node_columns, mesh->node_rows};
    (void)dissect(mesh, box, leaf, order);
}

// With six unknowns per node small leaves pay off: 13 % fewer values than leaves of 8.
enum { U = BB_PLATE_UNKNOWNS, NEIGHBOURS = 9, LEAF = 3 };
// Half of the neighbours precede a node; of its own block only the upper triangle.
enum { VALUES_OF_NODE = U * U * (NEIGHBOURS / 2) + U * (U + 1) / 2 };

// Stiffness between a node and its neighbours, block [3 (dy + 1) + dx + 1].
typedef struct stencil {
    double block[NEIGHBOURS][U][U];
    int32_t node[NEIGHBOURS]; // -1 if there is none
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

// Sorts positions of the stencil by node; absent ones first.
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
        bb_plate_dissect(mesh, LEAF, nodes);
    }
    for (bb_index i = 0; i < U * mesh->node_count; ++i) {
        order[i] = U * (int64_t)nodes[i / U] + i % U;
    }
done:
    BB_RELEASE(&nodes);
    return status;
}
