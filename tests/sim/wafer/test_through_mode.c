// SPDX-License-Identifier: Apache-2.0
//
// Second mode through the thickness against closed forms: relaxation, drop under flux, the two
// coupled equations of an evenly heated wafer, decay of a wave, and the step limit. Then a study
// with it: its moment bends the plate, and generators without moment are refused.
#include "core/memory.h"
#include "physics/wafer/heat/thermal.h"
#include "solvers/step/stepper.h"
#include "tests/physics/wafer/wafer_defaults.h"
#include "tests/sim/driver.h"

static const double PI = 3.14159265358979323846;
static const double CAPACITY = 2330.0 * 712.0 * 775e-6;
static const double DEPTH = 775e-6;
static const double CONDUCTIVITY = 148.0;
static const double FLUX = 1.7e5; // under the slit, W/m2

static double relaxation_time(void)
{
    return DEPTH * DEPTH * 2330.0 * 712.0 / (12.0 * CONDUCTIVITY);
}

typedef struct stand {
    bb_disc_mesh *mesh;
    bb_thermal *thermal;
    bb_stepper *stepper;
    int32_t *node;    // [2 nodes] T and tau
    double *joules;   // [2 nodes]
    double *exchange; // [nodes] of a hood over everything
} stand;

// A periodic sheet on an isothermal clamp.
static void enter(double spacing, double exchange, double hood, int stepping, double step,
                  stand *out)
{
    bb_clamp_config clamp = CLAMP;
    const bb_thermal_setting setting = {
        .hood_exchange = hood, .stepping = stepping, .through_thickness = BB_THROUGH_TWO_MODE};
    clamp.exchange_w_per_m2_k = exchange;
    *out = (stand){0};
    check_ok(bb_disc_mesh_periodic(16, 16, spacing, &out->mesh));
    check_ok(bb_thermal_create_in(out->mesh, &SILICON, &clamp, BB_CLAMP_ISOTHERMAL, step, &setting,
                                  &out->thermal));
    const bb_thermal *thermal = out->thermal;
    if (stepping == (int)BB_STEPPING_EXPLICIT) {
        check_ok(bb_stepper_create(&thermal->step_matrix, thermal->per_joule, &out->stepper));
    } else {
        check_ok(bb_stepper_create_implicit(&thermal->conductance, thermal->capacity, step,
                                            &out->stepper));
    }
    const bb_index nodes = thermal->node_count;
    assert_int_equal(thermal->size, 2 * nodes);
    check_ok(BB_ALLOCATE(2 * nodes, &out->node));
    check_ok(BB_ALLOCATE(2 * nodes, &out->joules));
    check_ok(BB_ALLOCATE(nodes, &out->exchange));
    for (bb_index i = 0; i < 2 * nodes; ++i) {
        out->node[i] = (int32_t)i;
        out->joules[i] = FLUX * step * out->mesh->node_area[i % nodes];
    }
    fill_array(out->exchange, nodes, i, hood * step * out->mesh->node_area[i]);
}

static void leave(stand *bench)
{
    bb_stepper_destroy(&bench->stepper);
    bb_thermal_destroy(&bench->thermal);
    bb_disc_mesh_destroy(&bench->mesh);
    BB_RELEASE(&bench->node);
    BB_RELEASE(&bench->joules);
    BB_RELEASE(&bench->exchange);
}

// Runs a step under flux and hood; returns the heat of hood and clamp, J.
static void advance(stand *bench, double hood_rise, bool lit, bb_ledger *ledger)
{
    const bb_index nodes = bench->thermal->node_count;
    const bb_stepper_input input = {.count = lit ? 2 * nodes : 0,
                                    .where = bench->node,
                                    .u = bench->joules,
                                    .exchange_count = bench->exchange[0] > 0.0 ? nodes : 0,
                                    .exchange_where = bench->node,
                                    .exchange = bench->exchange,
                                    .outside = hood_rise,
                                    .partner = bb_thermal_tau_first(bench->thermal)};
    double deposited = 0.0;
    for (bb_index i = 0; lit && i < nodes; ++i) {
        deposited += bench->joules[i];
    }
    check_ok(bb_stepper_advance(bench->stepper, &input));
    const double *exchanged = bb_stepper_exchanged(bench->stepper);
    bb_ledger_add(ledger, bench->thermal, exchanged, deposited);
    bb_ledger_add_hood(ledger, bench->thermal, exchanged, input.exchange_count, bench->node,
                       bench->exchange, hood_rise);
}

static const int steppings[] = {BB_STEPPING_EXPLICIT, BB_STEPPING_CRANK_NICOLSON};

// Without exchange tau is exact for steps of any length, and T is q t / C.
TEST(drop_under_flux_is_exact)
{
    check_relative(relaxation_time(), 0.561e-3, 1e-3);
    check_relative(FLUX * DEPTH / (2.0 * CONDUCTIVITY), 0.445, 1e-3);
    for (int k = 0; k < 4; ++k) {
        const double step = k < 2 ? 1e-3 : 0.13e-3;
        autocall(leave) stand bench;
        bb_ledger ledger = {0};
        enter(1e-3, 0.0, 0.0, steppings[k % 2], step, &bench);
        const double *t = NULL;
        for (int n = 1; n <= 12; ++n) {
            advance(&bench, 0.0, true, &ledger);
            t = bb_stepper_state(bench.stepper);
            const double time = n * step;
            const double tau =
                FLUX * DEPTH / (4.0 * CONDUCTIVITY) * -expm1(-time / relaxation_time());
            for (bb_index i = 0; i < bench.thermal->node_count; ++i) {
                check_relative(t[i], FLUX * time / CAPACITY, 1e-12);
                check_relative(t[bench.thermal->node_count + i], tau, 1e-12);
            }
        }
        const double before = t[bench.thermal->node_count];
        advance(&bench, 0.0, false, &ledger);
        check_relative(bb_stepper_state(bench.stepper)[bench.thermal->node_count],
                       before * exp(-step / relaxation_time()), 1e-12);
        check_close(bb_ledger_close(&ledger, bench.thermal, bb_stepper_state(bench.stepper)), 0.0,
                    1e-12, 1.0);
        if (k == 0) {
            print_message("12 ms under %.2g W/m2: top over bottom by %.4f K\n", FLUX, 2.0 * before);
        }
    }
}

// T and tau of y' = A y + b from 0, for a 2 x 2 matrix A with real eigenvalues.
static void closed_form(double exchange, double hood, double hood_rise, double time, double y[2])
{
    const double a[2][2] = {{-(exchange + hood) / CAPACITY, (exchange - hood) / CAPACITY},
                            {3.0 * (exchange - hood) / CAPACITY,
                             -3.0 * (exchange + hood + 4.0 * CONDUCTIVITY / DEPTH) / CAPACITY}};
    const double b[2] = {(FLUX + hood * hood_rise) / CAPACITY,
                         3.0 * (FLUX + hood * hood_rise) / CAPACITY};
    const double half = 0.5 * (a[0][0] + a[1][1]);
    const double root = sqrt(0.25 * (a[0][0] - a[1][1]) * (a[0][0] - a[1][1]) + a[0][1] * a[1][0]);
    const double rate[2] = {half + root, half - root};
    y[0] = y[1] = 0.0;
    for (int k = 0; k < 2; ++k) {
        // Projector onto one eigenvector: (A - other) / (one - other).
        const double other = rate[1 - k];
        const double grown = expm1(rate[k] * time) / rate[k] / (rate[k] - other);
        y[0] += grown * ((a[0][0] - other) * b[0] + a[0][1] * b[1]);
        y[1] += grown * (a[1][0] * b[0] + (a[1][1] - other) * b[1]);
    }
}

// Even heating, clamp below and hood above: first order for Euler, second for Crank-Nicolson.
TEST(even_heating_follows_the_coupled_equations)
{
    enum { LEVELS = 4 };
    const double exchange = 4e4;
    const double hood = 2.5e4;
    const double rise = 0.7;
    const double time = 8e-3;
    double expected[2];
    closed_form(exchange, hood, rise, time, expected);
    for (int k = 0; k < 2; ++k) {
        double error[LEVELS][2];
        for (int level = 0; level < LEVELS; ++level) {
            const int steps = 16 << level;
            autocall(leave) stand bench;
            bb_ledger ledger = {0};
            enter(2e-3, exchange, hood, steppings[k], time / steps, &bench);
            for (int n = 0; n < steps; ++n) {
                advance(&bench, rise, true, &ledger);
            }
            const double *t = bb_stepper_state(bench.stepper);
            error[level][0] = fabs(t[0] / expected[0] - 1.0);
            error[level][1] = fabs(t[bench.thermal->node_count] / expected[1] - 1.0);
            check_close(bb_ledger_close(&ledger, bench.thermal, t), 0.0, 1e-12, 1.0);
        }
        print_message("T %.4f K, tau %.4f K; %s: %.1e and %.1e off by 128 steps\n", expected[0],
                      expected[1], k == 0 ? "Euler" : "Crank-Nicolson", error[LEVELS - 1][0],
                      error[LEVELS - 1][1]);
        for (int mode = 0; mode < 2; ++mode) {
            const double order = log2(error[LEVELS - 2][mode] / error[LEVELS - 1][mode]);
            check_close(order, k + 1.0, 0.06, 1.0);
            assert_true(error[LEVELS - 1][mode] < (k == 0 ? 5e-3 : 1e-4));
        }
    }
}

// tau = cos(q x) decays at 1 / relaxation + kappa q^2, with q^2 of the mesh; T stays 0.
TEST(waves_of_tau_decay)
{
    const double spacing = 0.5e-3;
    const double step = 2e-6;
    const double angle = 2.0 * PI / 16.0;
    // Lumped Q1 along an axis is the second difference.
    const double squared = (2.0 - 2.0 * cos(angle)) / (spacing * spacing);
    const double rate = 1.0 / relaxation_time() + CONDUCTIVITY / (2330.0 * 712.0) * squared;
    for (int k = 0; k < 2; ++k) {
        autocall(leave) stand bench;
        bb_ledger ledger = {0};
        enter(spacing, 0.0, 0.0, steppings[k], step, &bench);
        const bb_index nodes = bench.thermal->node_count;
        for (bb_index i = 0; i < nodes; ++i) {
            const double value = cos(angle * (double)bench.mesh->node_column[i]);
            bb_stepper_set(bench.stepper, nodes + i, 1, &value);
        }
        for (int n = 0; n < 250; ++n) {
            advance(&bench, 0.0, false, &ledger);
        }
        const double *t = bb_stepper_state(bench.stepper);
        for (bb_index i = 0; i < nodes; ++i) {
            assert_true(t[i] == 0.0);
            check_close(t[nodes + i],
                        exp(-rate * 250.0 * step) * cos(angle * (double)bench.mesh->node_column[i]),
                        k == 0 ? 1e-3 : 1e-6, 1.0);
        }
    }
}

// Largest eigenvalue of M^-1 S compared with the bound, with the step limited by T and by tau.
TEST(the_limit_bounds_the_spectrum)
{
    static const struct {
        double spacing, exchange;
    } cases[] = {
        {0.5e-3, 1500.0},
        {0.25e-3, 1500.0},
        {2e-3, 1500.0},
        {2e-3, 2e6},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        double step = 1e-6;
        autocall(leave) stand bench;
        // The limit depends only on the spacing: use the step that it gives.
        enter(cases[c].spacing, cases[c].exchange, 0.0, BB_STEPPING_EXPLICIT, step, &bench);
        step = bench.thermal->stable_step;
        leave(&bench);
        enter(cases[c].spacing, cases[c].exchange, 0.0, BB_STEPPING_EXPLICIT, step, &bench);
        check_relative(bench.thermal->stable_step, step, 1e-14);
        const bb_index size = bench.thermal->size;
        double minimum = 0.0;
        autofree double *x = new_array(double, size);
        autofree double *y = new_array(double, size);
        for (bb_index i = 0; i < size; ++i) {
            const bb_index node = i % bench.thermal->node_count;
            x[i] =
                (bench.mesh->node_column[node] + bench.mesh->node_row[node]) % 2 == 0 ? 1.0 : -1.0;
            x[i] += 0.3 * sin(12.9898 * (double)i);
        }
        for (int n = 0; n < 3000; ++n) { // of A - 1, whose eigenvalues are -2 to 0
            double largest = 0.0;
            check_ok(bb_csr_multiply(&bench.thermal->step_matrix, x, y));
            for (bb_index i = 0; i < size; ++i) {
                y[i] -= x[i];
                largest = fmax(largest, fabs(y[i]));
            }
            fill_array(x, size, i, y[i] / largest);
            minimum = largest;
        }
        print_message("%g mm, %g W/m2 K: stable to %.4f ms, there 1 - A up to %.4f\n",
                      1e3 * cases[c].spacing, cases[c].exchange, 1e3 * step, minimum);
        assert_true(minimum <= 2.0 * (1.0 + 1e-9) && minimum > 1.2);
    }
}

// K + H of wafer, clamp layer and ring is symmetric, and a uniform T has the energy of the mean
// model.
TEST(the_system_is_symmetric)
{
    autoptr(bb_thermal) one = NULL;
    autoptr(bb_thermal) two = NULL;
    bb_thermal_setting setting = {.stepping = BB_STEPPING_CRANK_NICOLSON};
    autoptr(bb_disc_mesh) mesh = disc_mesh(0.030, 0.002);
    check_ok(bb_thermal_create_in(mesh, &SILICON, &CLAMP, BB_CLAMP_LAYER, 1e-3, &setting, &one));
    setting.through_thickness = BB_THROUGH_TWO_MODE;
    check_ok(bb_thermal_create_in(mesh, &SILICON, &CLAMP, BB_CLAMP_LAYER, 1e-3, &setting, &two));
    const bb_index size = two->size;
    autofree double *dense = new_zeros(double, size *size);
    for (bb_index row = 0; row < size; ++row) {
        for (bb_index i = two->conductance.row_start[row]; i < two->conductance.row_start[row + 1];
             ++i) {
            dense[row * size + two->conductance.column[i]] = two->conductance.value[i];
        }
    }
    for (bb_index i = 0; i < size; ++i) {
        for (bb_index j = 0; j < i; ++j) {
            assert_true(dense[i * size + j] == dense[j * size + i]);
        }
    }
    for (bb_index row = 0; row < one->size; ++row) {
        for (bb_index i = one->conductance.row_start[row]; i < one->conductance.row_start[row + 1];
             ++i) {
            assert_true(one->conductance.value[i] ==
                        dense[row * size + one->conductance.column[i]]);
        }
        assert_true(one->capacity[row] == two->capacity[row]);
    }
}

#define PLATE                                                                                      \
    "response.generator=plate", "scan.fields=[2]",                                                 \
        "pipelines=[{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}, "          \
        "{name: single, storage: fp32, multiply: fp32, accumulate: fp64}]"

// Rms over the points of an axis of the reference's displacement, and of its difference, nm.
static void measure(const bb_results *results, const bb_results *other, int axis, double out[2])
{
    const bb_index points = driver_dataset(results, "point")->count;
    const double *a = driver_dataset(results, "displacement_nm")->numbers + axis * points;
    const double *b = driver_dataset(other, "displacement_nm")->numbers + axis * points;
    out[0] = out[1] = 0.0;
    for (bb_index i = 0; i < points; ++i) {
        out[0] += a[i] * a[i] / (double)points;
        out[1] += (b[i] - a[i]) * (b[i] - a[i]) / (double)points;
    }
    out[0] = sqrt(out[0]);
    out[1] = sqrt(out[1]);
}

TEST_FULL(its_moment_bends_the_plate)
{
    const driver_case two = {CONFIG_WAFER_SMALL, {PLATE, "mesh.through_thickness=two_mode"}};
    autoptr(bb_results) mean = driver_results(CASE(CONFIG_WAFER_SMALL, {PLATE}));
    autoptr(bb_results) drop = driver_results(&two);
    driver_check_output_plan(&two, drop);
    for (int axis = 0; axis < 3; ++axis) {
        double rms[2];
        measure(mean, drop, axis, rms);
        print_message("%c: rms %.3g nm, moved by %.3g nm\n", "xyz"[axis], rms[0], rms[1]);
        assert_true(rms[1] > (axis == 2 ? 0.1 : 1e-3) * rms[0]);
    }
    // Twice as many columns.
    assert_true(driver_number(drop, "operator_bytes", "reference") ==
                2.0 * driver_number(mean, "operator_bytes", "reference"));
    assert_true(driver_number(drop, "flops", "reference") ==
                2.0 * driver_number(mean, "flops", "reference"));
    assert_true(driver_number(drop, "qoi_relative_error", "single") < 1e-5);
    assert_true(driver_number(drop, "certificate_violations", "single") == 0.0);
    driver_check_threads(&two);
}

TEST(rows_without_a_moment_are_refused)
{
    const driver_case kernel = {CONFIG_WAFER_SMALL, {"mesh.through_thickness=two_mode"}};
    const driver_case flat = {CONFIG_WAFER_SMALL,
                              {"mesh.through_thickness=two_mode", "response.axes=[x, y]"}};
    autoptr(bb_config) config = NULL;
    assert_int_equal(driver_load(&kernel, &config), BB_INVALID);
    check_ok(driver_load(&flat, &config));
}

TEST_GROUP(.is_quiet = true);
