// SPDX-License-Identifier: Apache-2.0
//
// docs/lab/physics-wafer.md 2.3 item 7: a moving point source on a plate with loss has, in its own
// frame, T = P/(2 pi k d) exp(-v x'/(2 kappa)) K0(r sqrt((v/(2 kappa))^2 + h_c/(kappa C)))
// (Rosenthal 1946), x' ahead of it.
#include "physics/wafer/heat/thermal.h"
#include "tests/physics/wafer/wafer_defaults.h"

#include <gsl/gsl_sf_bessel.h>

static const double PI = 3.14159265358979323846;

static double rosenthal(double speed, double ahead, double aside)
{
    const double kappa = 148.0 / (2330.0 * 712.0);
    const double capacity = 2330.0 * 712.0 * 775e-6;
    double front = speed / (2.0 * kappa);
    double rate = sqrt(front * front + 1500.0 / (kappa * capacity));
    return exp(-front * ahead) * gsl_sf_bessel_K0(rate * hypot(ahead, aside)) /
           (2.0 * PI * 148.0 * 775e-6);
}

// One watt for `time` s at (x, y), to the four surrounding nodes by bilinear weights.
static void heat(const bb_disc_mesh *mesh, const bb_thermal *thermal, double x, double y,
                 double time, double *t)
{
    bb_index column = (bb_index)floor(x / mesh->spacing);
    bb_index row = (bb_index)floor(y / mesh->spacing);
    double a = x / mesh->spacing - (double)column;
    double b = y / mesh->spacing - (double)row;
    for (int k = 0; k < 4; ++k) {
        bb_index node = mesh->node_at[(row + k / 2) * mesh->node_columns + column + k % 2];
        t[node] += time * thermal->per_joule[node] * (k % 2 ? a : 1.0 - a) * (k / 2 ? b : 1.0 - b);
    }
}

TEST(moving_heat_is_rosenthals)
{
    static const double speed = 0.05;
    static const double step = 1e-3;
    // Ahead, aside, and the error allowed for 0.5 mm cells: the front decreases by e in 1.7 mm.
    static const double places[][3] = {{0.003, 0.0, 1.5e-2},
                                       {0.0, 0.004, 1e-2},
                                       {-0.005, 0.0, 2e-3},
                                       {-0.01, 0.005, 2e-3},
                                       {-0.02, 0.0, 2e-3}};
    autoptr(bb_disc_mesh) mesh = NULL;
    check_ok(bb_disc_mesh_rectangle(270, 120, 0.0005, &mesh));
    autoptr(bb_thermal) thermal =
        new_object(bb_thermal, mesh, &SILICON, &CLAMP, BB_CLAMP_ISOTHERMAL, step);
    autofree double *t = zeros(thermal->size);
    autofree double *next = zeros(thermal->size);
    double x = 0.030;
    for (int n = 0; n < 1600; ++n) {
        check_ok(bb_csr_multiply(&thermal->step_matrix, t, next));
        heat(mesh, thermal, x + 0.5 * speed * step, 0.030, step, next);
        x += speed * step;
        double *swap = t;
        t = next;
        next = swap;
    }
    for (size_t p = 0; p < sizeof places / sizeof *places; ++p) {
        bb_index column = (bb_index)lround((x + places[p][0]) / mesh->spacing);
        bb_index row = (bb_index)lround((0.030 + places[p][1]) / mesh->spacing);
        bb_index node = mesh->node_at[row * mesh->node_columns + column];
        double exact = rosenthal(speed, bb_disc_mesh_x(mesh, node) - x, places[p][1]);
        print_message("%5.1f mm ahead, %3.1f aside: %.5f, exact %.5f K\n", 1e3 * places[p][0],
                      1e3 * places[p][1], t[node], exact);
        check_relative(t[node], exact, places[p][2]);
    }
}
