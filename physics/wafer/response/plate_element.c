// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/plate_element.h"

#include <string.h>

const int bb_plate_corner[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};

// Gauss-Legendre rule of four points on [0, 1]; exact to degree 7.
static const double POINT[4] = {0.069431844202973712388, 0.33000947820757186760,
                                0.66999052179242813240, 0.93056815579702628761};
static const double WEIGHT[4] = {0.17392742256872692869, 0.32607257743127307131,
                                 0.32607257743127307131, 0.17392742256872692869};

// Cubic Hermite shape of end `end` (0 or 1), of value (order 0) or slope (order 1), and its first
// two derivatives with respect to t of [0, 1].
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
