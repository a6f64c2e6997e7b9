// SPDX-License-Identifier: Apache-2.0
//
// The coupled plate against closed forms of docs/lab/physics-wafer.md 2.3, items 1 to 5 and 8,
// the Fourier system of 1.4, the membrane, and its symmetries.
#include "core/memory.h"
#include "physics/wafer/response/coupled_plate.h"
#include "physics/wafer/response/membrane.h"
#include "tests/physics/wafer/response/disc_closed_forms.h"
#include "tests/physics/wafer/wafer_defaults.h"

typedef struct setup {
    bb_disc_mesh *mesh;
    bb_coupled_plate *plate;
    double *t;
    double *right;
    double *x; // [node_count][6]
} setup;

static setup make(bb_disc_mesh *mesh, const bb_plate *plate)
{
    setup made = {.mesh = mesh};
    check_ok(bb_coupled_plate_create(mesh, plate, NULL, NULL, &made.plate));
    check_ok(BB_ZEROED(mesh->node_count, &made.t));
    check_ok(BB_ZEROED(BB_PLATE_UNKNOWNS * mesh->node_count, &made.right));
    check_ok(BB_ALLOCATE(BB_PLATE_UNKNOWNS * mesh->node_count, &made.x));
    return made;
}

static setup make_disc(double spacing, const bb_plate *plate)
{
    bb_disc_mesh *mesh = disc_mesh(DISC_RADIUS, spacing);
    return make(mesh, plate);
}

static void drop(setup *made)
{
    BB_RELEASE(&made->t);
    BB_RELEASE(&made->right);
    BB_RELEASE(&made->x);
    bb_coupled_plate_destroy(&made->plate);
    bb_disc_mesh_destroy(&made->mesh);
}

static bb_plate silicon(double tangential, double normal)
{
    bb_plate plate = bb_plate_make(&SILICON, &CLAMP);
    plate.tangential = tangential;
    plate.normal = normal;
    return plate;
}

static void solve(setup *scene)
{
    bb_coupled_plate_load(scene->plate, scene->t, NULL, scene->right);
    check_ok(bb_coupled_plate_solve(scene->plate, scene->right, scene->x));
}

// Largest difference of u0 from the closed form at the nodes of the x axis, relative to u(R).
static double disc_error(setup *scene, double width, bool sprung)
{
    double scale = sqrt(scene->plate->plate.membrane / scene->plate->plate.tangential);
    double worst = 0.0;
    double edge = disc_displacement(DISC_RADIUS, width, scale, sprung);
    for (bb_index i = 0; i < scene->mesh->node_count; ++i) {
        scene->t[i] = disc_temperature(
            hypot(bb_disc_mesh_x(scene->mesh, i), bb_disc_mesh_y(scene->mesh, i)), width);
    }
    solve(scene);
    for (bb_index i = 0; i < scene->mesh->node_count; ++i) {
        double x = bb_disc_mesh_x(scene->mesh, i);
        if (x > 0.01 && bb_disc_mesh_y(scene->mesh, i) == 0.0) {
            double exact = disc_displacement(x, width, scale, sprung);
            worst = fmax(worst, fabs(scene->x[BB_PLATE_UNKNOWNS * i] - exact));
        }
    }
    return worst / fabs(edge);
}

// The coupling of w into u0 is at most 1e-5 with these springs.
TEST_FULL(discs_match_items_1_to_4)
{
    bb_plate plate = silicon(1e4, 1e11);
    setup scene = make_disc(0.002, &plate);
    double items[4];
    items[0] = disc_error(&scene, 0.0, false);
    items[2] = disc_error(&scene, 0.10, false);
    drop(&scene);
    plate.tangential = 1e11;
    scene = make_disc(0.002, &plate);
    items[1] = disc_error(&scene, 0.0, true);
    items[3] = disc_error(&scene, 0.10, true);
    drop(&scene);
    print_message("2 mm: items 1 to 4 to %.1e, %.1e, %.1e, %.1e of u(R)\n", items[0], items[1],
                  items[2], items[3]);
    assert_true(items[0] < 1e-5 && items[1] < 4e-3 && items[2] < 4e-3 && items[3] < 4e-3);
}

// Item 5: w = -(P lam^2 / (2 pi D)) kei(r / lam), kei tabulated; cells of lam / n.
static double winkler_error(int n)
{
    static const double kei[6] = {-0.785398, -0.494995, -0.202400, -0.051122, 0.002198, 0.011188};
    bb_disc_mesh *mesh = NULL;
    bb_plate plate = silicon(1e4, 1e10);
    double lam = pow(plate.bending / plate.normal, 0.25);
    bb_index cells = 20 * n;
    check_ok(bb_disc_mesh_rectangle(cells, cells, lam / n, &mesh));
    autocall(drop) setup scene = make(mesh, &plate);
    bb_index middle = (cells / 2) * (cells + 1) + cells / 2;
    scene.right[BB_PLATE_UNKNOWNS * middle + 2] = 1.0;
    check_ok(bb_coupled_plate_solve(scene.plate, scene.right, scene.x));
    double factor = -lam * lam / (2.0 * M_PI * plate.bending);
    double peak = 1.0 / (8.0 * sqrt(plate.bending * plate.normal));
    check_relative(factor * kei[0], peak, 1e-6);
    double worst = 0.0;
    for (int k = 0; k < 6; ++k) {
        double w = scene.x[BB_PLATE_UNKNOWNS * (middle + k * n) + 2];
        worst = fmax(worst, fabs(w - factor * kei[k]) / peak);
    }
    return worst;
}

TEST(point_load_is_kei)
{
    double error[2] = {winkler_error(2), winkler_error(4)};
    print_message("item 5: %.1e of w(0) at lam/2, %.1e at lam/4, order %.2f\n", error[0], error[1],
                  log2(error[0] / error[1]));
    assert_true(error[1] < 2e-3 && fabs(log2(error[0] / error[1]) - 2.0) < 0.3);
}

enum { LINE = 5 };
static const double GAUSS[LINE] = {0.046910077030668, 0.230765344947158, 0.5, 0.769234655052842,
                                   0.953089922969332};
static const double GAUSS_WEIGHT[LINE] = {0.118463442528095, 0.239314335249683, 0.284444444444444,
                                          0.239314335249683, 0.118463442528095};

static double wave(double x, double y, double q)
{
    return cos(q * x) * cos(q * y);
}

// Adds int p phi for p = factor cos qx cos qy; `values` are the unknowns of w and NULL adds, else
// the squared error of w against cos cos over the mesh is returned.
static double over_cells(setup *scene, double q, double factor, const double *values)
{
    double sum = 0.0;
    double h = scene->mesh->spacing;
    for (bb_index cell = 0; cell < scene->mesh->cell_count; ++cell) {
        const int32_t *node = scene->mesh->cell_nodes + 4 * cell;
        for (int g = 0; g < LINE * LINE; ++g) {
            double a = GAUSS[g % LINE];
            double b = GAUSS[g / LINE];
            double weight = GAUSS_WEIGHT[g % LINE] * GAUSS_WEIGHT[g / LINE] * h * h;
            bb_plate_shapes shapes;
            bb_plate_shapes_at(a, b, h, &shapes);
            double exact = wave(bb_disc_mesh_x(scene->mesh, node[0]) + a * h,
                                bb_disc_mesh_y(scene->mesh, node[0]) + b * h, q);
            double w = 0.0;
            for (int i = 0; i < 16; ++i) {
                bb_index unknown = BB_PLATE_UNKNOWNS * node[i / 4] + 2 + i % 4;
                scene->right[unknown] +=
                    values == NULL ? factor * exact * weight * shapes.w[i] : 0.0;
                w += values == NULL ? 0.0 : shapes.w[i] * values[unknown];
            }
            sum += weight * (w - exact) * (w - exact);
        }
    }
    return sum;
}

// Item 8: w = cos qx cos qy on a periodic square, load D (2 q^2)^2 + k_n times it, no coupling.
static double plate_error(bb_index cells)
{
    bb_disc_mesh *mesh = NULL;
    bb_plate plate = silicon(1e2, 1e10);
    double length = 0.04;
    double q = 2.0 * M_PI / length;
    check_ok(bb_disc_mesh_periodic(cells, cells, length / (double)cells, &mesh));
    autocall(drop) setup scene = make(mesh, &plate);
    double factor = plate.bending * 4.0 * pow(q, 4) + plate.normal;
    (void)over_cells(&scene, q, factor, NULL);
    check_ok(bb_coupled_plate_solve(scene.plate, scene.right, scene.x));
    double error = sqrt(over_cells(&scene, q, 0.0, scene.x)) / (0.5 * length);
    return error;
}

TEST(bending_alone_is_of_order_4)
{
    double error[3] = {plate_error(6), plate_error(12), plate_error(24)};
    print_message("item 8: w to %.1e, %.1e, %.1e, orders %.3f, %.3f\n", error[0], error[1],
                  error[2], log2(error[0] / error[1]), log2(error[1] / error[2]));
    assert_true(fabs(log2(error[1] / error[2]) - 4.0) < 0.1);
}

typedef struct amplitudes {
    double u, w, top, z;
} amplitudes;

// The 2 x 2 system of 1.4 for T = t cos qx and tau = s cos qx.
static amplitudes fourier(const bb_plate *plate, double q, double t, double s)
{
    double d = plate->thickness;
    double couple = plate->tangential * 0.5 * d * q;
    double a = plate->membrane * q * q + plate->tangential;
    double b = plate->bending * pow(q, 4) + plate->normal + 0.5 * couple * d * q;
    double force = plate->thermal * q * t;
    double moment = plate->thermal * d / 6.0 * q * q * s;
    double determinant = a * b - couple * couple;
    double u = (force * b + couple * moment) / determinant;
    double w = (moment * a + couple * force) / determinant;
    double growth = plate->expansion * d * (1.0 + 2.0 * plate->contraction) * t -
                    plate->contraction * d * q * u;
    return (amplitudes){u, w, u + 0.5 * d * q * w, w + growth};
}

static double wave_error(const bb_plate *plate, bb_index cells, double length, double s)
{
    bb_disc_mesh *mesh = NULL;
    double q = 2.0 * M_PI / length;
    check_ok(bb_disc_mesh_periodic(cells, 3, length / (double)cells, &mesh));
    autocall(drop) setup scene = make(mesh, plate);
    autofree double *tau = doubles(mesh->node_count);
    for (bb_index i = 0; i < mesh->node_count; ++i) {
        scene.t[i] = cos(q * bb_disc_mesh_x(mesh, i));
        tau[i] = s * scene.t[i];
    }
    bb_coupled_plate_load(scene.plate, scene.t, tau, scene.right);
    check_ok(bb_coupled_plate_solve(scene.plate, scene.right, scene.x));
    amplitudes exact = fourier(plate, q, 1.0, s);
    double quarter = 0.25 * length;
    // Crests of T are nodes; a third of a cell next to them tests the interpolation.
    double aside = mesh->spacing / 3.0;
    double top = bb_coupled_plate_at(scene.plate, scene.x, scene.t, quarter, 0.0, BB_AXIS_X);
    double z =
        bb_coupled_plate_at(scene.plate, scene.x, scene.t, quarter + aside, aside, BB_AXIS_Z);
    double far =
        bb_coupled_plate_at(scene.plate, scene.x, scene.t, 2.0 * quarter, aside, BB_AXIS_Z);
    double worst = fabs(scene.x[BB_PLATE_UNKNOWNS * (cells / 4)] / exact.u - 1.0);
    worst = fmax(worst, fabs(scene.x[2] / exact.w - 1.0));
    worst = fmax(worst, fabs(top / exact.top - 1.0));
    worst = fmax(worst, fabs(far / -exact.z - 1.0));
    worst = fmax(worst, fabs(z / exact.z + sin(q * aside)));
    return worst;
}

TEST(waves_have_the_fourier_amplitudes)
{
    bb_wafer_material_config crystal = SILICON;
    crystal.elasticity = BB_ELASTICITY_CUBIC_110;
    crystal.c11_gpa = 165.7;
    crystal.c12_gpa = 63.9;
    crystal.c44_gpa = 79.6;
    bb_plate plates[3] = {silicon(1e11, 1e12), silicon(1e12, 1e11),
                          bb_plate_make(&crystal, &CLAMP)};
    for (int i = 0; i < 3; ++i) {
        for (int with_tau = 0; with_tau < 2; ++with_tau) {
            double coarse = wave_error(&plates[i], 32, 0.026, 0.5 * with_tau);
            double fine = wave_error(&plates[i], 64, 0.026, 0.5 * with_tau);
            print_message("plate %d, tau %d: amplitudes to %.1e, %.1e, order %.2f\n", i, with_tau,
                          coarse, fine, log2(coarse / fine));
            assert_true(fine < 4e-3 && fabs(log2(coarse / fine) - 2.0) < 0.15);
        }
    }
}

typedef struct norms {
    double u, slope, w; // L2 of u and w, H1 of u, relative
} norms;

// T = cos qx cos qy: u = U sin qx cos qy, v = U cos qx sin qy, w = W cos qx cos qy with
//     (2 B q^2 + k_s) U - k_s (d/2) q W = N_T q
//     (4 D q^4 + k_n + k_s d^2 q^2/2) W - k_s d q U = 0
static norms product_error(bb_index cells)
{
    bb_disc_mesh *mesh = NULL;
    bb_plate plate = silicon(1e12, 1e11);
    double length = 0.04;
    double q = 2.0 * M_PI / length;
    double couple = plate.tangential * 0.5 * plate.thickness * q;
    double a = 2.0 * plate.membrane * q * q + plate.tangential;
    double b = 4.0 * plate.bending * pow(q, 4) + plate.normal + couple * plate.thickness * q;
    double u = plate.thermal * q * b / (a * b - 2.0 * couple * couple);
    double w = 2.0 * couple * u / b;
    double h = length / (double)cells;
    norms sum = {0};
    check_ok(bb_disc_mesh_periodic(cells, cells, h, &mesh));
    setup scene = make(mesh, &plate);
    for (bb_index i = 0; i < mesh->node_count; ++i) {
        scene.t[i] = wave(bb_disc_mesh_x(mesh, i), bb_disc_mesh_y(mesh, i), q);
    }
    solve(&scene);
    for (bb_index k = 0; k < mesh->cell_count * LINE * LINE; ++k) {
        const int32_t *node = mesh->cell_nodes + 4 * (k / (LINE * LINE));
        int gx = (int)(k % LINE);
        int gy = (int)(k / LINE % LINE);
        double x = bb_disc_mesh_x(mesh, node[0]) + GAUSS[gx] * h;
        double y = bb_disc_mesh_y(mesh, node[0]) + GAUSS[gy] * h;
        double weight = GAUSS_WEIGHT[gx] * GAUSS_WEIGHT[gy] * h * h;
        bb_plate_shapes shapes;
        bb_plate_shapes_at(GAUSS[gx], GAUSS[gy], h, &shapes);
        double off[3] = {-u * sin(q * x) * cos(q * y), -u * q * cos(q * x) * cos(q * y),
                         -w * wave(x, y, q)};
        for (int l = 0; l < 4; ++l) {
            const double *unknown = scene.x + BB_PLATE_UNKNOWNS * node[l];
            off[0] += shapes.q[l] * unknown[0];
            off[1] += shapes.q_x[l] * unknown[0];
            for (int m = 0; m < 4; ++m) {
                off[2] += shapes.w[4 * l + m] * unknown[2 + m];
            }
        }
        sum.u += weight * off[0] * off[0];
        sum.slope += weight * off[1] * off[1];
        sum.w += weight * off[2] * off[2];
    }
    drop(&scene);
    return (norms){sqrt(sum.u) / (0.5 * length * u), sqrt(sum.slope) / (0.5 * length * u * q),
                   sqrt(sum.w) / (0.5 * length * w)};
}

TEST(coupled_orders_are_2_and_1)
{
    norms coarse = product_error(16);
    norms fine = product_error(32);
    double order[3] = {log2(coarse.u / fine.u), log2(coarse.slope / fine.slope),
                       log2(coarse.w / fine.w)};
    print_message("item 8: u %.1e, u_x %.1e, w %.1e; orders %.3f, %.3f, %.3f\n", fine.u, fine.slope,
                  fine.w, order[0], order[1], order[2]);
    assert_true(fabs(order[0] - 2.0) < 0.05 && fabs(order[1] - 1.0) < 0.05);
    assert_true(fabs(order[2] - 2.0) < 0.05);
}

// With k_n so large that w = 0 only the membrane remains.
TEST(stiff_springs_leave_the_membrane)
{
    bb_plate plate = silicon(CLAMP.tangential_stiffness_n_per_m3, 1e20);
    autocall(drop) setup scene = make_disc(0.004, &plate);
    autoptr(bb_membrane) membrane = new_object(bb_membrane, scene.mesh, &SILICON, &CLAMP);
    autofree double *u = doubles(2 * scene.mesh->node_count);
    fill_array(scene.t, scene.mesh->node_count, i, sin(3.0 + 0.37 * (double)i));
    check_ok(bb_membrane_solve(membrane, scene.t, u));
    solve(&scene);
    double peak = 0.0;
    double worst = 0.0;
    for (bb_index i = 0; i < 2 * scene.mesh->node_count; ++i) {
        peak = fmax(peak, fabs(u[i]));
        worst = fmax(worst, fabs(scene.x[BB_PLATE_UNKNOWNS * (i / 2) + i % 2] - u[i]));
    }
    print_message("membrane limit to %.1e of the peak\n", worst / peak);
    assert_true(worst < 1e-9 * peak);
}

// Even heat: u is odd along x and even along y, z is even along both.
TEST(symmetric_heat_gives_symmetric_answers)
{
    static const int parity[3][2] = {{-1, 1}, {1, -1}, {1, 1}};
    bb_plate plate = silicon(1e11, 1e12);
    autocall(drop) setup scene = make_disc(0.004, &plate);
    for (bb_index i = 0; i < scene.mesh->node_count; ++i) {
        double x = bb_disc_mesh_x(scene.mesh, i);
        double y = bb_disc_mesh_y(scene.mesh, i);
        scene.t[i] = exp(-x * x / 0.002) * (1.0 + cos(70.0 * y));
    }
    solve(&scene);
    for (int axis = 0; axis < 3; ++axis) {
        double worst = 0.0;
        double peak = 0.0;
        for (int k = 0; k < 200; ++k) {
            double x = 0.149 * sin(1.0 + k);
            double y = 0.149 * cos(2.0 + 3.0 * k);
            double value = bb_coupled_plate_at(scene.plate, scene.x, scene.t, x, y, axis);
            double rest = bb_coupled_plate_at(scene.plate, scene.x, scene.t, -x, y, axis);
            double down = bb_coupled_plate_at(scene.plate, scene.x, scene.t, x, -y, axis);
            peak = fmax(peak, fabs(value));
            worst = fmax(worst, fabs(value - parity[axis][0] * rest));
            worst = fmax(worst, fabs(value - parity[axis][1] * down));
        }
        print_message("axis %d: symmetric to %.1e of the peak\n", axis, worst / peak);
        assert_true(worst < 1e-12 * peak);
    }
}

// As rows_are_reciprocal for tau: row of moments . tau = forward displacement under tau only.
TEST(rows_of_moments_are_reciprocal)
{
    const double x[4] = {0.0, 0.0313, -0.1201, 0.2};
    const double y[4] = {0.0, -0.0177, 0.0604, 0.0};
    bb_plate plate = silicon(1e11, 1e12);
    autocall(drop) setup scene = make_disc(0.004, &plate);
    const bb_index count = scene.mesh->node_count;
    autofree double *rows = doubles(BB_PLATE_BATCH * count);
    autofree double *alone = doubles(BB_PLATE_BATCH * count);
    autofree double *moments = doubles(BB_PLATE_BATCH * count);
    autofree double *tau = doubles(count);
    for (bb_index i = 0; i < count; ++i) {
        scene.t[i] = 0.0;
        tau[i] = sin(3.0 + 0.37 * (double)i);
    }
    bb_coupled_plate_load(scene.plate, scene.t, tau, scene.right);
    check_ok(bb_coupled_plate_solve(scene.plate, scene.right, scene.x));
    double worst = 0.0;
    for (int axis = 0; axis < 3; ++axis) {
        check_ok(bb_coupled_plate_rows(scene.plate, axis, 4, x, y, rows, moments));
        check_ok(bb_coupled_plate_rows(scene.plate, axis, 4, x, y, alone, NULL));
        assert_memory_equal(rows, alone, (size_t)(BB_PLATE_BATCH * count) * sizeof *rows);
        for (int p = 0; p < 4; ++p) {
            double dot = 0.0;
            double norm[2] = {0.0, 0.0};
            for (bb_index i = 0; i < count; ++i) {
                const double row = moments[i * BB_PLATE_BATCH + p];
                dot += row * tau[i];
                norm[0] += row * row;
                norm[1] += tau[i] * tau[i];
            }
            const double forward =
                bb_coupled_plate_at(scene.plate, scene.x, scene.t, x[p], y[p], axis);
            assert_true(norm[0] > 0.0);
            worst = fmax(worst, fabs(dot - forward) / sqrt(norm[0] * norm[1]));
        }
    }
    print_message("moments reciprocal to %.1e of the norms\n", worst);
    assert_true(worst < 1e-12);
}

// Adjoint row . temperature = forward displacement, on and off nodes and off the wafer.
TEST(rows_are_reciprocal)
{
    const double x[5] = {0.0, 0.0313, -0.1201, 0.07, 0.2};
    const double y[5] = {0.0, -0.0177, 0.0604, -0.111, 0.0};
    bb_plate plate = silicon(1e11, 1e12);
    autocall(drop) setup scene = make_disc(0.004, &plate);
    bb_index count = scene.mesh->node_count;
    autofree double *rows = doubles(BB_PLATE_BATCH * count);
    autofree double *again = doubles(BB_PLATE_BATCH * count);
    fill_array(scene.t, count, i, sin(3.0 + 0.37 * (double)i));
    solve(&scene);
    double worst = 0.0;
    for (int axis = 0; axis < 3; ++axis) {
        check_ok(bb_coupled_plate_rows(scene.plate, axis, 5, x, y, rows, NULL));
        for (int p = 0; p < 5; ++p) {
            double dot = 0.0;
            double norm[2] = {0.0, 0.0};
            for (bb_index i = 0; i < count; ++i) {
                double row = rows[i * BB_PLATE_BATCH + p];
                dot += row * scene.t[i];
                norm[0] += row * row;
                norm[1] += scene.t[i] * scene.t[i];
            }
            double forward = bb_coupled_plate_at(scene.plate, scene.x, scene.t, x[p], y[p], axis);
            worst = fmax(worst, fabs(dot - forward) / sqrt(norm[0] * norm[1]));
        }
        // With fewer rows at once the others are unchanged and the padding is zero.
        check_ok(bb_coupled_plate_rows(scene.plate, axis, 2, x, y, again, NULL));
        for (bb_index i = 0; i < count; ++i) {
            assert_true(again[i * BB_PLATE_BATCH + 1] == rows[i * BB_PLATE_BATCH + 1]);
            assert_true(rows[i * BB_PLATE_BATCH + 5] == 0.0);
        }
        double edge = bb_coupled_plate_at(scene.plate, scene.x, scene.t, DISC_RADIUS, 0.0, axis);
        check_relative(bb_coupled_plate_at(scene.plate, scene.x, scene.t, x[4], y[4], axis), edge,
                       1e-12);
    }
    print_message("reciprocal to %.1e of the norms\n", worst);
    assert_true(worst < 1e-12);
    check_fails(bb_coupled_plate_rows(scene.plate, 3, 5, x, y, rows, NULL), BB_INVALID, "axis 3");
    check_fails(bb_coupled_plate_rows(scene.plate, 0, 33, x, y, rows, NULL), BB_INVALID,
                "33 plate rows");
}
