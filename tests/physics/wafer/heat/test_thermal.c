// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "physics/wafer/heat/thermal.h"
#include "tests/physics/wafer/wafer_defaults.h"

static const double PI = 3.14159265358979323846;

// Diffusivity and areal capacity of the defaults.
static const double KAPPA = 148.0 / (2330.0 * 712.0);
static const double CAPACITY = 2330.0 * 712.0 * 775e-6;

static void advance(const bb_thermal *thermal, double **state, double **scratch, bb_index steps)
{
    for (bb_index n = 0; n < steps; ++n) {
        check_ok(bb_csr_multiply(&thermal->step_matrix, *state, *scratch));
        double *swap = *state;
        *state = *scratch;
        *scratch = swap;
    }
}

TEST_FULL(wafer_step_matrix_conserves_and_keeps_sign)
{
    autoptr(bb_disc_mesh) mesh = disc_mesh(0.150, 0.0005);
    autoptr(bb_thermal) thermal =
        new_object(bb_thermal, mesh, &SILICON, &CLAMP, BB_CLAMP_LAYER, 1e-3);
    // docs/manual/physics-wafer.md 1.3: 12.34 entries a wafer row, limits 1.40 and 1.05 ms. Its
    // 8,193 clamp unknowns belong to cells with all corners inside; an independent count for ours
    // gives 8,209.
    assert_int_equal(thermal->clamp_count, 8209);
    const bb_csr *matrix = &thermal->step_matrix;
    double a_row = (double)matrix->row_start[thermal->node_count] / (double)thermal->node_count;
    print_message("%.2f entries a wafer row, stable to %.4f ms, positive to %.4f ms\n", a_row,
                  1e3 * thermal->stable_step, 1e3 * thermal->positive_step);
    check_close(a_row, 12.34, 0.01, 1.0);
    check_close(thermal->stable_step, 1.40e-3, 0.005, 1e-3);
    check_close(thermal->positive_step, 1.05e-3, 0.005, 1e-3);
    double worst = 0.0;
    for (bb_index row = 0; row < matrix->rows; ++row) {
        double sum = 0.0;
        for (bb_index i = matrix->row_start[row]; i < matrix->row_start[row + 1]; ++i) {
            assert_true(matrix->value[i] >= 0.0);
            sum += matrix->value[i];
        }
        double loss = thermal->step * thermal->loss[row] * thermal->per_joule[row];
        worst = fmax(worst, fabs(sum - (1.0 - loss)));
    }
    assert_true(worst < 1e-14);
}

TEST(long_steps_are_refused_with_the_limit)
{
    bb_thermal *thermal = NULL;
    autoptr(bb_disc_mesh) mesh = disc_mesh(0.010, 0.0005);
    check_fails(bb_thermal_create(mesh, &SILICON, &CLAMP, BB_CLAMP_LAYER, 1.41e-3, &thermal),
                BB_INVALID, "at most 1.398 ms");
    bb_clamp_config fine = CLAMP;
    fine.spacing_mm = 0.2;
    check_fails(bb_thermal_create(mesh, &SILICON, &fine, BB_CLAMP_LAYER, 1e-3, &thermal),
                BB_INVALID, "clamp spacing = 0.2 mm");
}

// The largest eigenvalue of I - A, by power iteration from a checkerboard, is below the bound.
TEST(limit_is_safe_and_sharp)
{
    autoptr(bb_disc_mesh) mesh = disc_mesh(0.020, 0.0005);
    autoptr(bb_thermal) thermal =
        new_object(bb_thermal, mesh, &SILICON, &CLAMP, BB_CLAMP_LAYER, 1.3e-3);
    autofree double *x = zeros(thermal->size);
    autofree double *y = zeros(thermal->size);
    fill_array(x, mesh->node_count, i, mesh->node_column[i] % 2 ? 1.0 : -1.0);
    double rate = 0.0;
    for (int n = 0; n < 2000; ++n) {
        check_ok(bb_csr_multiply(&thermal->step_matrix, x, y));
        double norm = 0.0;
        double dot = 0.0;
        for (bb_index i = 0; i < thermal->size; ++i) {
            double next = (x[i] - y[i]) / thermal->step;
            dot += thermal->capacity[i] * x[i] * next;
            norm += thermal->capacity[i] * x[i] * x[i];
            y[i] = next;
        }
        rate = dot / norm;
        double scale = 1.0 / sqrt(norm) / rate;
        fill_array(x, thermal->size, i, y[i] * scale);
    }
    double ratio = rate * thermal->stable_step / 2.0;
    print_message("largest rate over bound: %.4f\n", ratio);
    assert_true(ratio <= 1.0 && ratio > 0.97);
}

// Error after 16 ms of cos cos decay on a periodic square of 24 mm with an isothermal clamp.
static double cosine_error(bb_index cells, bb_index steps)
{
    autoptr(bb_disc_mesh) mesh = NULL;
    double side = 0.024;
    double total = 0.016;
    check_ok(bb_disc_mesh_periodic(cells, cells, side / (double)cells, &mesh));
    autoptr(bb_thermal) thermal =
        new_object(bb_thermal, mesh, &SILICON, &CLAMP, BB_CLAMP_ISOTHERMAL, total / (double)steps);
    autofree double *x = doubles(thermal->size);
    autofree double *y = doubles(thermal->size);
    double q = 2.0 * PI / side;
    for (bb_index i = 0; i < thermal->size; ++i) {
        x[i] = cos(q * bb_disc_mesh_x(mesh, i)) * cos(q * bb_disc_mesh_y(mesh, i));
    }
    advance(thermal, &x, &y, steps);
    double exact = exp(-(2.0 * q * q * KAPPA + 1500.0 / CAPACITY) * total);
    double error = x[0] - exact;
    return error;
}

// docs/lab/physics-wafer.md 2.3 item 8: lumped Q1 is second order in space, forward Euler first
// in time.
TEST(cosine_decays_at_second_and_first_order)
{
    double fixed = cosine_error(12, 4096);
    double halved = cosine_error(24, 4096);
    double quartered = cosine_error(48, 4096);
    double space = log2((fixed - halved) / (halved - quartered));
    double time = log2((cosine_error(24, 128) - cosine_error(24, 256)) /
                       (cosine_error(24, 256) - cosine_error(24, 512)));
    print_message("orders: space %.3f, time %.3f; error at 0.5 mm %.2e\n", space, time, quartered);
    check_close(space, 2.0, 0.08, 1.0);
    check_close(time, 1.0, 0.03, 1.0);
    assert_true(fabs(quartered) < 2e-3);
}

// docs/lab/physics-wafer.md 2.3 item 6: spreading of a point's heat on an infinite plate.
TEST(point_heat_spreads_as_a_gaussian)
{
    autoptr(bb_disc_mesh) mesh = disc_mesh(0.030, 0.0005);
    autoptr(bb_thermal) thermal =
        new_object(bb_thermal, mesh, &SILICON, &CLAMP, BB_CLAMP_ISOTHERMAL, 0.25e-3);
    autofree double *x = zeros(thermal->size);
    autofree double *y = zeros(thermal->size);
    int32_t centre = mesh->node_at[60 * mesh->node_columns + 60];
    x[centre] = 0.1 * thermal->per_joule[centre];
    advance(thermal, &x, &y, 400);
    double t = 0.1;
    double peak = 0.1 / (4.0 * PI * KAPPA * t * CAPACITY) * exp(-t * 1500.0 / CAPACITY);
    for (bb_index away = 0; away <= 16; away += 4) {
        double r = 0.0005 * (double)away;
        double exact = peak * exp(-r * r / (4.0 * KAPPA * t));
        check_close(x[mesh->node_at[60 * mesh->node_columns + 60 + away]], exact, 5e-3, peak);
    }
}

// docs/lab/physics-wafer.md 2.3 item 6: decay rates of Bessel modes; the staircase edge costs
// per mille.
TEST(disc_modes_decay_at_their_rates)
{
    static const struct {
        int order;
        double zero;
    } modes[] = {{1, 1.84118378}, {2, 3.05423693}, {0, 3.83170597}, {0, 7.01558667}};
    double radius = 0.050;
    autoptr(bb_disc_mesh) mesh = disc_mesh(radius, 0.0005);
    autoptr(bb_thermal) thermal =
        new_object(bb_thermal, mesh, &SILICON, &CLAMP, BB_CLAMP_ISOTHERMAL, 0.5e-3);
    autofree double *x = doubles(thermal->size);
    autofree double *y = doubles(thermal->size);
    for (int m = 0; m < 4; ++m) {
        double before = 0.0;
        double after = 0.0;
        for (int pass = 0; pass < 2; ++pass) {
            for (bb_index i = 0; i < thermal->size && pass == 0; ++i) {
                double px = bb_disc_mesh_x(mesh, i);
                double py = bb_disc_mesh_y(mesh, i);
                x[i] = jn(modes[m].order, modes[m].zero * hypot(px, py) / radius) *
                       cos(modes[m].order * atan2(py, px));
            }
            double sum = 0.0;
            for (bb_index i = 0; i < thermal->size; ++i) {
                double px = bb_disc_mesh_x(mesh, i);
                double py = bb_disc_mesh_y(mesh, i);
                sum += mesh->node_area[i] * x[i] *
                       jn(modes[m].order, modes[m].zero * hypot(px, py) / radius) *
                       cos(modes[m].order * atan2(py, px));
            }
            *(pass == 0 ? &before : &after) = sum;
            if (pass == 0) {
                advance(thermal, &x, &y, 200);
            }
        }
        double rate = log(before / after) / 0.1;
        double exact =
            KAPPA * modes[m].zero * modes[m].zero / (radius * radius) + 1500.0 / CAPACITY;
        print_message("mode %d %.3f: rate %.5f, exact %.5f 1/s\n", modes[m].order, modes[m].zero,
                      rate, exact);
        check_relative(rate, exact, 3e-3);
    }
}

// Wafer and clamp: heat from a spot rotated by a quarter turn is rotated by a quarter turn.
TEST(a_quarter_turn_turns_the_heat)
{
    double *x[2] = {NULL};
    autoptr(bb_disc_mesh) mesh = disc_mesh(0.020, 0.0005);
    autoptr(bb_thermal) thermal =
        new_object(bb_thermal, mesh, &SILICON, &CLAMP, BB_CLAMP_LAYER, 1e-3);
    autofree double *y = doubles(thermal->size);
    const bb_index stride = mesh->node_columns;
    const bb_index spot[2] = {mesh->node_at[30 * stride + 25],
                              mesh->node_at[25 * stride + stride - 1 - 30]};
    for (int k = 0; k < 2; ++k) {
        check_ok(BB_ZEROED(thermal->size, &x[k]));
        x[k][spot[k]] = 1.0;
        advance(thermal, &x[k], &y, 60);
    }
    for (bb_index i = 0; i < mesh->node_count; ++i) {
        const bb_index turned =
            mesh->node_at[mesh->node_column[i] * stride + stride - 1 - mesh->node_row[i]];
        check_close(x[1][turned], x[0][i], 1e-14, 1.0);
    }
    for (int k = 0; k < 2; ++k) {
        BB_RELEASE(&x[k]);
    }
}

TEST(mirrored_heat_stays_mirrored_and_adds_up)
{
    double *x[3] = {NULL};
    autoptr(bb_disc_mesh) mesh = disc_mesh(0.020, 0.0005);
    autoptr(bb_thermal) thermal =
        new_object(bb_thermal, mesh, &SILICON, &CLAMP, BB_CLAMP_LAYER, 1e-3);
    autofree double *y = doubles(thermal->size);
    bb_index stride = mesh->node_columns;
    bb_index indices[2] = {mesh->node_at[30 * stride + 25], mesh->node_at[30 * stride + 55]};
    for (int k = 0; k < 3; ++k) {
        check_ok(BB_ZEROED(thermal->size, &x[k]));
        x[k][indices[0]] = k == 1 ? 0.0 : 1.0;
        x[k][indices[1]] = k == 0 ? 0.0 : 1.0;
        advance(thermal, &x[k], &y, 60);
    }
    for (bb_index i = 0; i < mesh->node_count; ++i) {
        bb_index column = mesh->node_column[i];
        bb_index mirror = mesh->node_at[mesh->node_row[i] * stride + stride - 1 - column];
        check_close(x[0][i], x[1][mirror], 1e-14, 1.0);
        check_close(x[2][i], x[0][i] + x[1][i], 1e-14, 1.0);
    }
    for (int k = 0; k < 3; ++k) {
        BB_RELEASE(&x[k]);
    }
}

// The guaranteed step from the sizes of cells is no longer than the model's own bound, for any
// position of the clamp's nodes on the mesh, and close to it on a fine one. Thin clamps are the
// slowest part.
TEST(sure_steps_are_stable)
{
    static const double across[] = {1.0, 4.0 / 3.0, 1.5, 1.9, 2.0, 3.7, 12.0}; // coarse/fine
    const bb_thermal_setting setting = {.stepping = BB_STEPPING_CRANK_NICOLSON};
    const double spacing = 0.003;
    double worst = 0.0;
    autoptr(bb_disc_mesh) mesh = disc_mesh(0.1, spacing);
    for (size_t i = 0; i < sizeof across / sizeof *across; ++i) {
        bb_clamp_config clamp = CLAMP;
        autoptr(bb_thermal) thermal = NULL;
        clamp.thickness_mm = 0.1;
        clamp.exchange_w_per_m2_k = 1e6;
        clamp.spacing_mm = 1e3 * spacing * across[i];
        check_ok(
            bb_thermal_create_in(mesh, &SILICON, &clamp, BB_CLAMP_LAYER, 1e-3, &setting, &thermal));
        const double part =
            bb_thermal_sure_step(&SILICON, &clamp, &setting, spacing) / thermal->stable_step;
        print_message("%.2f cells in a coarse one: sure step %.3f of the stable one\n", across[i],
                      part);
        worst = fmax(worst, part);
        assert_true(part <= 1.0);
    }
    assert_true(worst > 0.7);
}
