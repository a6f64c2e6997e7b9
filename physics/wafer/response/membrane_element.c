// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/membrane_element.h"

#include <math.h>
#include <string.h>

static const double CORNER[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};

// Shape functions and their gradients at (a, b) of [-1, 1]^2.
static void shapes(double a, double b, double side, double value[4], double gradient[4][2])
{
    for (int k = 0; k < 4; ++k) {
        double in_a = 1.0 + CORNER[k][0] * a;
        double in_b = 1.0 + CORNER[k][1] * b;
        value[k] = 0.25 * in_a * in_b;
        gradient[k][0] = 0.5 * CORNER[k][0] * in_b / side;
        gradient[k][1] = 0.5 * CORNER[k][1] * in_a / side;
    }
}

// Plane stress: N11 = N22 = B, N12 = nu B, N66 = B (1 - nu) / 2, or those of a cubic crystal.
static void add_stretch(const bb_plate *plate, const double (*gradient)[2], double weight,
                        double stiffness[8][8])
{
    double along = plate->membrane * weight;
    double across = plate->poisson * along;
    double shear = plate->shear * along;
    for (int k = 0; k < 4; ++k) {
        for (int l = 0; l < 4; ++l) {
            double xx = gradient[k][0] * gradient[l][0];
            double yy = gradient[k][1] * gradient[l][1];
            double xy = gradient[k][0] * gradient[l][1];
            double yx = gradient[k][1] * gradient[l][0];
            stiffness[2 * k][2 * l] += along * xx + shear * yy;
            stiffness[2 * k][2 * l + 1] += across * xy + shear * yx;
            stiffness[2 * k + 1][2 * l] += across * yx + shear * xy;
            stiffness[2 * k + 1][2 * l + 1] += along * yy + shear * xx;
        }
    }
}

void bb_membrane_element_make(const bb_plate *plate, double side, bb_membrane_element *out)
{
    memset(out, 0, sizeof *out);
    double weight = 0.25 * side * side;
    for (int point = 0; point < 4; ++point) {
        double value[4];
        double gradient[4][2];
        shapes(CORNER[point][0] / sqrt(3.0), CORNER[point][1] / sqrt(3.0), side, value, gradient);
        add_stretch(plate, (const double(*)[2])gradient, weight, out->stiffness);
        for (int k = 0; k < 4; ++k) {
            for (int l = 0; l < 4; ++l) {
                double spring = plate->tangential * weight * value[k] * value[l];
                out->stiffness[2 * k][2 * l] += spring;
                out->stiffness[2 * k + 1][2 * l + 1] += spring;
                for (int c = 0; c < 2; ++c) {
                    out->load[2 * k + c][l] += plate->thermal * weight * gradient[k][c] * value[l];
                }
            }
        }
    }
}
