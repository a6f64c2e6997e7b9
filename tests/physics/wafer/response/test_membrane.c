// SPDX-License-Identifier: Apache-2.0
//
// Closed forms of docs/lab/physics-wafer.md 2.3, items 1 to 4, on the staircase disc at 0.5 mm;
// the element; reciprocity. The slowest program of the wafer: it factors 568 thousand unknowns
// twice.
#include "core/clock.h"
#include "core/memory.h"
#include "core/thread.h"
#include "physics/wafer/response/membrane.h"
#include "physics/wafer/response/plate_assembly.h"
#include "tests/physics/wafer/response/disc_closed_forms.h"
#include "tests/physics/wafer/wafer_defaults.h"

static const double NU = 0.28;

// The closed 8 x 8 matrix of docs/manual/physics-wafer.md 1.4.
TEST(element_is_the_known_square)
{
    bb_clamp_config clamp = CLAMP;
    bb_membrane_element element;
    clamp.tangential_stiffness_n_per_m3 = 0.0;
    bb_plate plate = bb_plate_make(&SILICON, &clamp);
    bb_membrane_element_make(&plate, 0.0005, &element);
    const double first[8] = {0.5 - NU / 6,    0.125 + NU / 8,  -0.25 - NU / 12, -0.125 + 3 * NU / 8,
                             -0.25 + NU / 12, -0.125 - NU / 8, NU / 6,          0.125 - 3 * NU / 8};
    for (int l = 0; l < 8; ++l) {
        check_close(element.stiffness[0][l], plate.membrane * first[l], 1e-14, plate.membrane);
        for (int k = 0; k < 8; ++k) {
            check_close(element.stiffness[k][l], element.stiffness[l][k], 1e-15, plate.membrane);
        }
    }
    clamp = CLAMP;
    bb_plate sprung = bb_plate_make(&SILICON, &clamp);
    bb_membrane_element with;
    bb_membrane_element_make(&sprung, 0.0005, &with);
    const double mass[4] = {4.0, 2.0, 1.0, 2.0};
    for (int l = 0; l < 4; ++l) {
        check_close(with.stiffness[0][2 * l] - element.stiffness[0][2 * l],
                    1e11 * 0.25e-6 / 36.0 * mass[l], 1e-14, plate.membrane);
    }
}

TEST(dissection_is_a_permutation)
{
    autoptr(bb_disc_mesh) mesh = disc_mesh(0.020, 0.0005);
    autofree int32_t *order = new_array(int32_t, mesh->node_count);
    autofree int32_t *seen = new_zeros(int32_t, mesh->node_count);
    for (bb_index leaf = 2; leaf <= 8; ++leaf) {
        bb_plate_dissect(mesh, leaf, order);
        for (bb_index i = 0; i < mesh->node_count; ++i) {
            assert_true(order[i] >= 0 && order[i] < mesh->node_count);
            assert_true(seen[order[i]]++ == leaf - 2);
        }
    }
}

typedef struct setup {
    bb_disc_mesh *mesh;
    bb_membrane *membrane;
    double scale;
    double *t;
    double *u;
} setup;

static setup make(double spacing, double stiffness)
{
    setup made = {0};
    bb_clamp_config clamp = CLAMP;
    clamp.tangential_stiffness_n_per_m3 = stiffness;
    check_ok(bb_threads_set(1));
    check_ok(bb_disc_mesh_create(DISC_RADIUS, spacing, &made.mesh));
    double begin = bb_clock_seconds();
    check_ok(bb_membrane_create(made.mesh, &SILICON, &clamp, &made.membrane));
    print_message("%td unknowns, %td values in the factor, %.1f s\n", 2 * made.mesh->node_count,
                  bb_membrane_factor_values(made.membrane), bb_clock_seconds() - begin);
    bb_plate plate = bb_plate_make(&SILICON, &clamp);
    made.scale = sqrt(plate.membrane / stiffness);
    check_ok(BB_ALLOCATE(made.mesh->node_count, &made.t));
    check_ok(BB_ALLOCATE(2 * made.mesh->node_count, &made.u));
    return made;
}

static void drop(setup *made)
{
    BB_RELEASE(&made->t);
    BB_RELEASE(&made->u);
    bb_membrane_destroy(&made->membrane);
    bb_disc_mesh_destroy(&made->mesh);
}

static void heat(setup *scene, double width)
{
    for (bb_index i = 0; i < scene->mesh->node_count; ++i) {
        scene->t[i] = disc_temperature(
            hypot(bb_disc_mesh_x(scene->mesh, i), bb_disc_mesh_y(scene->mesh, i)), width);
    }
    check_ok(bb_membrane_solve(scene->membrane, scene->t, scene->u));
}

// Largest difference from the closed form along an axis and a diagonal, relative to u(R).
static double disc_error(setup *scene, double width, bool sprung)
{
    double worst = 0.0;
    heat(scene, width);
    double edge =
        sprung ? sprung_disc(DISC_RADIUS, width, scene->scale) : free_disc(DISC_RADIUS, width);
    for (int k = 1; k <= 10; ++k) {
        double r = DISC_RADIUS * k / 10.0;
        double exact = sprung ? sprung_disc(r, width, scene->scale) : free_disc(r, width);
        double on_axis = bb_membrane_at(scene->membrane, scene->u, r, 0.0, BB_AXIS_X);
        // A point on the rim may be off the staircase on the diagonal.
        double q = sqrt(0.5) * (k == 10 ? DISC_RADIUS - 0.0005 : r);
        double diagonal = sqrt(2.0) * bb_membrane_at(scene->membrane, scene->u, q, -q, BB_AXIS_X);
        worst = fmax(worst, fabs(on_axis - exact));
        worst = fmax(worst, k < 10 ? fabs(diagonal - exact) : 0.0);
    }
    return worst / fabs(edge);
}

TEST_FULL(wafer_on_springs_matches_items_2_and_4)
{
    autocall(drop) setup scene = make(0.0005, 1e11);
    check_relative(sprung_disc(DISC_RADIUS, 0.0, scene.scale), 12.488308e-9, 1e-6);
    check_relative(sprung_disc(0.5 * DISC_RADIUS, 0.0, scene.scale), 1.956439e-9, 1e-6);
    double uniform = disc_error(&scene, 0.0, true);
    double gaussian = disc_error(&scene, 0.10, true);
    print_message("item 2: %.1e of u(R), item 4: %.1e\n", uniform, gaussian);
    assert_true(uniform < 1.5e-3 && gaussian < 1.5e-3);
}

// Radial stress over E at the centre of a cell, from its strain minus free expansion.
static double radial_stress(const setup *scene, bb_index cell)
{
    const int32_t *node = scene->mesh->cell_nodes + 4 * cell;
    const double half = 0.5 / scene->mesh->spacing;
    double strain[3] = {0.0}; // xx, yy, twice xy
    double t = 0.0;
    double x = 0.0;
    double y = 0.0;
    for (int k = 0; k < 4; ++k) {
        const double along_x = k == 1 || k == 2 ? half : -half;
        const double along_y = k >= 2 ? half : -half;
        const double *u = scene->u + (bb_index)2 * node[k];
        strain[0] += along_x * u[0];
        strain[1] += along_y * u[1];
        strain[2] += along_y * u[0] + along_x * u[1];
        t += 0.25 * scene->t[node[k]];
        x += 0.25 * bb_disc_mesh_x(scene->mesh, node[k]);
        y += 0.25 * bb_disc_mesh_y(scene->mesh, node[k]);
    }
    const double c = x / hypot(x, y);
    const double s = y / hypot(x, y);
    const double radial = c * c * strain[0] + s * s * strain[1] + c * s * strain[2];
    const double hoop = strain[0] + strain[1] - radial;
    return (radial + DISC_POISSON * hoop) / (1.0 - DISC_POISSON * DISC_POISSON) -
           DISC_EXPANSION * t / (1.0 - DISC_POISSON);
}

// Largest difference from the closed form over alpha times the peak of T, in cells up to 0.9 R.
static double stress_error(const setup *scene, double width)
{
    double worst = 0.0;
    for (int k = 1; k <= 18; ++k) {
        const double r = 0.9 * DISC_RADIUS * k / 18.0;
        const double q = k % 2 == 0 ? 0.0 : 0.6; // two directions
        const bb_index cell = bb_disc_mesh_cell(scene->mesh, r * sqrt(1.0 - q * q), r * q);
        const int32_t *node = scene->mesh->cell_nodes + 4 * cell;
        const double shift = 0.5 * scene->mesh->spacing;
        const double centre = hypot(bb_disc_mesh_x(scene->mesh, node[0]) + shift,
                                    bb_disc_mesh_y(scene->mesh, node[0]) + shift);
        worst = fmax(worst, fabs(radial_stress(scene, cell) - free_disc_stress(centre, width)));
    }
    return worst / (DISC_EXPANSION * disc_temperature(0.0, width));
}

// k_s = 1e4 N/m3 fixes the rigid motions and changes u by (R / l_s)^2 = 2e-6.
TEST_FULL(free_wafer_matches_items_1_and_3)
{
    autocall(drop) setup scene = make(0.0005, 1e4);
    double uniform = disc_error(&scene, 0.0, false);
    double no_stress = stress_error(&scene, 0.0);
    check_relative(free_disc(DISC_RADIUS, 0.0), 39.0e-9, 1e-9);
    double gaussian = disc_error(&scene, 0.10, false);
    double stress = stress_error(&scene, 0.10);
    print_message("item 1: %.1e of u(R), stress %.1e of E alpha T; item 3: %.1e, %.1e\n", uniform,
                  no_stress, gaussian, stress);
    assert_true(uniform < 1e-5 && gaussian < 1.5e-3);
    assert_true(no_stress < 1e-5 && stress < 1e-3);
}

// Heat rotated by a quarter turn gives displacements rotated by a quarter turn.
TEST(a_quarter_turn_turns_the_answer)
{
    autocall(drop) setup scene = make(0.002, 1e11);
    const bb_disc_mesh *mesh = scene.mesh;
    const bb_index count = mesh->node_count;
    const bb_index last = mesh->node_columns - 1;
    double peak = 0.0;
    autofree double *turned = doubles(count);
    autofree double *u = doubles(2 * count);
    for (bb_index i = 0; i < count; ++i) {
        scene.t[i] = exp(-1e3 * (pow(bb_disc_mesh_x(mesh, i) - 0.06, 2.0) +
                                 pow(bb_disc_mesh_y(mesh, i) + 0.02, 2.0)));
    }
    for (bb_index i = 0; i < count; ++i) { // (column, row) to (last - row, column)
        turned[mesh->node_at[mesh->node_column[i] * mesh->node_columns + last -
                             mesh->node_row[i]]] = scene.t[i];
    }
    check_ok(bb_membrane_solve(scene.membrane, scene.t, scene.u));
    check_ok(bb_membrane_solve(scene.membrane, turned, u));
    for (bb_index i = 0; i < 2 * count; ++i) {
        peak = fmax(peak, fabs(scene.u[i]));
    }
    for (bb_index i = 0; i < count; ++i) {
        const bb_index target =
            mesh->node_at[mesh->node_column[i] * mesh->node_columns + last - mesh->node_row[i]];
        check_close(u[2 * target], -scene.u[2 * i + 1], 1e-12, peak);
        check_close(u[2 * target + 1], scene.u[2 * i], 1e-12, peak);
    }
}

// Adjoint row . temperature = forward displacement, on and off nodes and off the wafer.
TEST(rows_are_reciprocal)
{
    autocall(drop) setup scene = make(0.002, 1e11);
    const double x[5] = {0.0, 0.0313, -0.1201, 0.07, 0.2};
    const double y[5] = {0.0, -0.0177, 0.0604, -0.111, 0.0};
    bb_index count = scene.mesh->node_count;
    autofree double *rows = doubles(BB_MEMBRANE_BATCH * count);
    fill_array(scene.t, count, i, sin(3.0 + 0.37 * (double)i));
    check_ok(bb_membrane_solve(scene.membrane, scene.t, scene.u));
    for (int axis = 0; axis < 2; ++axis) {
        check_ok(bb_membrane_rows(scene.membrane, axis, 5, x, y, rows));
        for (int p = 0; p < 5; ++p) {
            double dot = 0.0;
            double norm[2] = {0.0, 0.0};
            for (bb_index i = 0; i < count; ++i) {
                const double entry = rows[i * BB_MEMBRANE_BATCH + p];
                dot += entry * scene.t[i];
                norm[0] += entry * entry;
                norm[1] += scene.t[i] * scene.t[i];
            }
            check_close(dot, bb_membrane_at(scene.membrane, scene.u, x[p], y[p], axis), 1e-12,
                        sqrt(norm[0] * norm[1]));
        }
        // Off the wafer u is that of the edge.
        double edge = bb_membrane_at(scene.membrane, scene.u, DISC_RADIUS, 0.0, axis);
        check_relative(bb_membrane_at(scene.membrane, scene.u, x[4], y[4], axis), edge, 1e-12);
    }
    check_fails(bb_membrane_rows(scene.membrane, BB_AXIS_Z, 5, x, y, rows), BB_UNSUPPORTED,
                "bending plate");
}

// Mean displacement along an axis, weighted by area, m.
static double drift(const setup *scene, int axis)
{
    double sum = 0.0;
    double area = 0.0;
    for (bb_index i = 0; i < scene->mesh->node_count; ++i) {
        sum += scene->mesh->node_area[i] * scene->u[2 * i + axis];
        area += scene->mesh->node_area[i];
    }
    return sum / area;
}

// Largest difference of rows times temperature between two membranes at three points, and from the
// forward solution of the first, m.
static double rows_difference(const setup *a, const setup *b)
{
    const double x[3] = {0.0, 0.0313, -0.1201};
    const double y[3] = {0.0, -0.0177, 0.0604};
    double *rows[2] = {NULL, NULL};
    double worst = 0.0;
    const bb_index nodes = a->mesh->node_count;
    for (int axis = 0; axis < 2; ++axis) {
        for (int s = 0; s < 2; ++s) {
            check_ok(BB_ALLOCATE(BB_MEMBRANE_BATCH * nodes, &rows[s]));
            check_ok(bb_membrane_rows((s == 0 ? a : b)->membrane, axis, 3, x, y, rows[s]));
        }
        for (int p = 0; p < 3; ++p) {
            double sum[2] = {0.0, 0.0};
            for (bb_index i = 0; i < nodes; ++i) {
                sum[0] += rows[0][i * BB_MEMBRANE_BATCH + p] * a->t[i];
                sum[1] += rows[1][i * BB_MEMBRANE_BATCH + p] * a->t[i];
            }
            worst = fmax(worst, fabs(sum[0] - sum[1]));
            worst = fmax(worst, fabs(sum[0] - bb_membrane_at(a->membrane, a->u, x[p], y[p], axis)));
        }
        BB_RELEASE(&rows[0]);
        BB_RELEASE(&rows[1]);
    }
    return worst;
}

// A temperature does no work on a rigid motion of the wafer: however soft the springs, the wafer
// neither drifts nor rotates, and its shape is that with springs ten thousand times as stiff.
TEST(soft_springs_let_nothing_drift)
{
    autocall(drop) setup soft = make(0.002, 1.0);
    autocall(drop) setup firm = make(0.002, 1e4);
    setup *both[2] = {&soft, &firm};
    for (int s = 0; s < 2; ++s) {
        for (bb_index i = 0; i < soft.mesh->node_count; ++i) {
            const double x = bb_disc_mesh_x(soft.mesh, i) - 0.06;
            const double y = bb_disc_mesh_y(soft.mesh, i) + 0.04;
            both[s]->t[i] = 0.1 * exp(-(x * x + 2.0 * y * y + x * y) / 1e-3);
        }
        check_ok(bb_membrane_solve(both[s]->membrane, both[s]->t, both[s]->u));
    }
    double worst = 0.0;
    for (bb_index i = 0; i < 2 * soft.mesh->node_count; ++i) {
        worst = fmax(worst, fabs(soft.u[i] - firm.u[i]));
    }
    const double rows = rows_difference(&soft, &firm);
    print_message("k_s = 1 N/m3: drift %.1e and %.1e nm, off 1e4 N/m3 by %.1e nm, rows by %.1e\n",
                  1e9 * drift(&soft, 0), 1e9 * drift(&soft, 1), 1e9 * worst, 1e9 * rows);
    assert_true(fabs(drift(&soft, 0)) < 1e-16 && fabs(drift(&soft, 1)) < 1e-16);
    assert_true(worst < 1e-14 && rows < 1e-14); // relative to 2 nm
}
