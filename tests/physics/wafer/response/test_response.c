// SPDX-License-Identifier: Apache-2.0
#include "core/clock.h"
#include "core/thread.h"
#include "physics/wafer/response/plate.h"
#include "physics/wafer/response/response.h"
#include "tests/physics/wafer/wafer_defaults.h"

#include <gsl/gsl_integration.h>
#include <gsl/gsl_sf_bessel.h>

typedef struct setup {
    bb_disc_mesh *mesh;
    bb_temperature_grid *grid;
    bb_scan *scan;
    bb_slit_grid slit;
    bb_response *response;
} setup;

static setup make(double spacing, bb_grid_config cells, bb_grid_config points,
                  const bb_clamp_config *clamp)
{
    setup made = {0};
    bb_response_config config = {
        .grid = cells, .slit_points = points, .field_rows = BB_INTEGER_UNSET};
    check_ok(bb_disc_mesh_create(0.150, spacing, &made.mesh));
    check_ok(bb_temperature_grid_create(made.mesh, &cells, &made.grid));
    made.scan = fast_scan();
    check_ok(bb_slit_grid_make(&config, made.scan, &made.slit));
    check_ok(bb_response_create(&SILICON, clamp, made.grid, &made.response));
    return made;
}

static void drop(setup *made)
{
    bb_response_destroy(&made->response);
    bb_scan_destroy(&made->scan);
    bb_temperature_grid_destroy(&made->grid);
    bb_disc_mesh_destroy(&made->mesh);
}

static const bb_grid_config QUICK_GRID = {128, 125};
static const bb_grid_config QUICK_POINTS = {11, 9};

TEST(entries_do_not_depend_on_block_or_threads)
{
    autocall(drop) setup scene = make(0.001, QUICK_GRID, QUICK_POINTS, &CLAMP);
    bb_index cells = scene.grid->cell_count;
    autofree double *all_values = doubles(4 * cells);
    autofree double *part = doubles(4 * cells);
    for (int axis = 0; axis < 3; ++axis) {
        bb_field_response rows;
        check_ok(bb_field_response_make(scene.response, &scene.slit, &scene.scan->fields[41], axis,
                                        &rows));
        assert_int_equal(rows.source.rows, scene.slit.field_points);
        check_ok(bb_matrix_source_fill(&rows.source, 300, 0, bb_view_matrix(all_values, 4, cells)));
        bb_index first = 7003;
        bb_index count = 1311;
        check_ok(bb_threads_set(2));
        check_ok(bb_matrix_source_fill(&rows.source, 300, first, bb_view_matrix(part, 4, count)));
        check_ok(bb_threads_set(1));
        for (bb_index row = 0; row < 4; ++row) {
            for (bb_index i = 0; i < count; ++i) {
                assert_true(part[row * count + i] == all_values[row * cells + first + i]);
            }
            for (bb_index i = 0; i < cells; ++i) {
                assert_true(scene.grid->area[i] > 0.0 || all_values[row * cells + i] == 0.0);
            }
        }
    }
}

typedef struct edge {
    double x;
    double scale;
} edge;

static double on_edge(double y, void *context)
{
    const edge *side = context;
    return gsl_sf_bessel_K0(hypot(side->x, y) / side->scale);
}

// Integral of K0(r / scale) along a line at distance x, by adaptive quadrature in parts that end
// next to the point.
static double edge_integral(double x, double y0, double y1, double scale)
{
    gsl_integration_workspace *work = gsl_integration_workspace_alloc(200);
    edge side = {x, scale};
    gsl_function function = {on_edge, &side};
    double parts[3] = {y0, fmin(fmax(0.0, y0), y1), y1};
    double sum = 0.0;
    for (int k = 0; k < 2; ++k) {
        double value = 0.0;
        double error = 0.0;
        (void)gsl_integration_qag(&function, parts[k], parts[k + 1], 1e-15, 1e-12, 200, 6, work,
                                  &value, &error);
        sum += value;
    }
    gsl_integration_workspace_free(work);
    return sum;
}

// The coarsest grid, of cells half the wafer wide, for every field: its entries agree with
// quadrature. With soft springs the tables for such long cells start outside the wafer.
TEST(coarsest_grid_works)
{
    bb_clamp_config soft = CLAMP;
    soft.tangential_stiffness_n_per_m3 = 1e8;
    const bb_clamp_config *clamps[2] = {&CLAMP, &soft};
    for (int k = 0; k < 2; ++k) {
        autocall(drop) setup scene = make(0.002, (bb_grid_config){2, 2}, QUICK_POINTS, clamps[k]);
        const bb_temperature_grid *grid = scene.grid;
        double scale = scene.response->screening_length;
        for (bb_index i = 0; i < scene.scan->field_count; ++i) {
            const bb_field *field = &scene.scan->fields[i];
            bb_field_response rows;
            double row[4];
            for (int axis = 0; axis < 3; ++axis) {
                check_ok(bb_field_response_make(scene.response, &scene.slit, field, axis, &rows));
            }
            check_ok(bb_field_response_make(scene.response, &scene.slit, field, BB_AXIS_X, &rows));
            check_ok(bb_matrix_source_fill(&rows.source, 7, 0, bb_view_matrix(row, 1, 4)));
            double x = grid->origin_x - bb_slit_grid_x(&scene.slit, field, 7);
            double y = grid->origin_y - bb_slit_grid_y(&scene.slit, field, 7);
            for (int j = 0; j < 4; ++j) {
                double rest = x + (j % 2) * grid->cell_width;
                double low = y + (j / 2) * grid->cell_height;
                double high = low + grid->cell_height;
                double live = grid->area[j] / (grid->cell_width * grid->cell_height);
                double expected = edge_integral(rest + grid->cell_width, low, high, scale) -
                                  edge_integral(rest, low, high, scale);
                check_close(row[j], scene.response->in_plane * live * expected, 1e-9,
                            scene.response->in_plane * grid->cell_height);
            }
        }
    }
}

// docs/manual/physics-wafer.md 2.4: the difference between the midplane and the surface of the
// plate, (d/2) q W of the 2 x 2 system of 1.4 over its U.
TEST(rotation_left_out_is_as_documented)
{
    static const double wavelength_m[] = {0.026, 0.013, 0.0101, 0.006, 0.003};
    static const double documented[] = {8.6e-4, 2.6e-3, 2.9e-3, 1.8e-3, 5.0e-4};
    bb_plate plate = bb_plate_make(&SILICON, &CLAMP);
    for (int i = 0; i < 5; ++i) {
        double q = 2.0 * M_PI / wavelength_m[i];
        double half = 0.5 * plate.thickness * q;
        double a = plate.membrane * q * q + plate.tangential;
        double b = plate.tangential * half;
        double c = plate.bending * pow(q, 4.0) + plate.normal + plate.tangential * half * half;
        // a U - b W = 1, c W - b U = 0.
        double u = c / (a * c - b * b);
        double w = b / (a * c - b * b);
        print_message("%.1f mm: (d/2) q W / U = %.2e, coupling %.1e of u\n", 1e3 * wavelength_m[i],
                      half * w / u, a * u - 1.0);
        check_relative(half * w / u, documented[i], 0.02);
        assert_true(a * u - 1.0 < 1.2e-5);
    }
}

// A radial temperature of peak 0.1 K; width 0 stands for a uniform one.
static double temperature(double r, double width)
{
    return width == 0.0 ? 0.1 : 0.1 * exp(-r * r / (width * width));
}

typedef struct moment {
    double width;
    double scale;
    int inner;
} moment;

static double radial_moment(double s, void *context)
{
    const moment *instant = context;
    double bessel = instant->inner ? gsl_sf_bessel_I0(s / instant->scale)
                                   : gsl_sf_bessel_K0(s / instant->scale);
    return s > 0.0 ? bessel * temperature(s, instant->width) * s : 0.0;
}

// docs/lab/physics-wafer.md 2.3 item 4 without its A I1 term: the infinite plate heated on a
// disc. For a uniform rise it is (1 + nu) alpha dT R K1(R / l) I1(r / l).
static double infinite_plate(double r, double width, double scale)
{
    gsl_integration_workspace *work = gsl_integration_workspace_alloc(200);
    moment instant = {width, scale, 1};
    moment out = {width, scale, 0};
    gsl_function inner = {radial_moment, &instant};
    gsl_function outer = {radial_moment, &out};
    double a = 0.0;
    double b = 0.0;
    double error = 0.0;
    (void)gsl_integration_qag(&inner, 0.0, r, 1e-20, 1e-11, 200, 6, work, &a, &error);
    (void)gsl_integration_qag(&outer, r, 0.15, 1e-20, 1e-11, 200, 6, work, &b, &error);
    gsl_integration_workspace_free(work);
    return 1.28 * 2.6e-6 / scale *
           (gsl_sf_bessel_K1(r / scale) * a - gsl_sf_bessel_I1(r / scale) * b);
}

// Displacement of some points of field 48 by a radial temperature, against the closed form.
static double radial_error(const setup *scene, double width)
{
    double worst = 0.0;
    double peak = 0.0;
    bb_index cells = scene->grid->cell_count;
    autofree double *s = doubles(cells);
    autofree double *row = doubles(cells);
    for (bb_index j = 0; j < cells; ++j) {
        bb_index column = j % scene->grid->columns;
        bb_index line = j / scene->grid->columns;
        double x = scene->grid->origin_x + ((double)column + 0.5) * scene->grid->cell_width;
        double y = scene->grid->origin_y + ((double)line + 0.5) * scene->grid->cell_height;
        s[j] = temperature(hypot(x, y), width);
    }
    const bb_field *field = &scene->scan->fields[44];
    bb_field_response rows[2];
    for (int axis = 0; axis < 2; ++axis) {
        check_ok(bb_field_response_make(scene->response, &scene->slit, field, axis, &rows[axis]));
    }
    for (bb_index point = 3; point < scene->slit.field_points; point += 97) {
        double x = bb_slit_grid_x(&scene->slit, field, point);
        double y = bb_slit_grid_y(&scene->slit, field, point);
        double exact = infinite_plate(hypot(x, y), width, scene->response->screening_length);
        peak = fmax(peak, fabs(exact));
        for (int axis = 0; axis < 2; ++axis) {
            check_ok(
                bb_matrix_source_fill(&rows[axis].source, point, 0, bb_view_matrix(row, 1, cells)));
            double u = 0.0;
            for (bb_index j = 0; j < cells; ++j) {
                u += row[j] * s[j];
            }
            worst = fmax(worst, fabs(u - exact * (axis ? y : x) / hypot(x, y)));
        }
    }
    return worst / peak;
}

TEST(radial_heat_moves_points_as_on_an_infinite_plate)
{
    double analytic = 1.28 * 2.6e-6 * 0.1 * 0.15 * gsl_sf_bessel_K1(0.15 / 0.0367) *
                      gsl_sf_bessel_I1(0.05 / 0.0367);
    check_relative(infinite_plate(0.05, 0.0, 0.0367), analytic, 1e-9);
    autocall(drop) setup quick = make(0.001, QUICK_GRID, QUICK_POINTS, &CLAMP);
    autocall(drop) setup seed =
        make(0.0005, (bb_grid_config){512, 500}, (bb_grid_config){21, 18}, &CLAMP);
    assert_int_equal(seed.slit.field_rows, 103);
    double coarse = radial_error(&quick, 0.02);
    double fine = radial_error(&seed, 0.02);
    double uniform[2] = {radial_error(&quick, 0.0), radial_error(&seed, 0.0)};
    print_message("Gaussian heat: %.1e at 128 x 125, %.1e at 512 x 500; uniform: %.1e, %.1e\n",
                  coarse, fine, uniform[0], uniform[1]);
    assert_true(coarse < 2e-3 && fine < 1.5e-4);
    assert_true(uniform[0] < 5e-3 && uniform[1] < 2e-3);
}

// The coupled 2 x 2 Fourier system (docs/manual/physics-wafer.md 1.4) against rows times a cosine
// on S. Stiff springs keep the response local, so that the disc's edge has no effect.
TEST(height_rows_follow_the_fourier_system)
{
    bb_clamp_config clamp = CLAMP;
    clamp.tangential_stiffness_n_per_m3 = 1e13;
    clamp.normal_stiffness_n_per_m3 = 1e11;
    autocall(drop) setup scene = make(0.001, (bb_grid_config){300, 200}, QUICK_POINTS, &clamp);
    bb_index cells = scene.grid->cell_count;
    bb_field_response rows;
    autofree double *row = doubles(cells);
    bb_index middle = 0;
    while (scene.scan->fields[middle].row != 0 || scene.scan->fields[middle].column != 0) {
        ++middle;
    }
    const bb_field *field = &scene.scan->fields[middle];
    check_ok(bb_field_response_make(scene.response, &scene.slit, field, BB_AXIS_Z, &rows));
    for (bb_index point = 5; point < 400; point += 61) {
        double q = 2.0 * M_PI / 0.018;
        double px = bb_slit_grid_x(&scene.slit, field, point);
        check_ok(bb_matrix_source_fill(&rows.source, point, 0, bb_view_matrix(row, 1, cells)));
        double z = 0.0;
        for (bb_index j = 0; j < cells; ++j) {
            double x = scene.grid->origin_x +
                       ((double)(j % scene.grid->columns) + 0.5) * scene.grid->cell_width;
            z += row[j] * cos(q * (x - px));
        }
        double exact = bb_response_height_amplitude(&SILICON, &clamp, q);
        // Means over cells reduce the kernel's part by sinc(q h / 2), linear interpolation the
        // local part.
        double local = 2.6e-6 * 775e-6 * 1.28;
        double h = scene.grid->cell_width;
        double along = (px - scene.grid->origin_x) / h - 0.5;
        double a = along - floor(along);
        double between = (1.0 - a) * cos(q * h * a) + a * cos(q * h * (1.0 - a));
        double expected = (exact - local) * sin(0.5 * q * h) / (0.5 * q * h) + local * between;
        check_relative(z, expected, 2e-5);
    }
}

TEST(height_amplitude_has_its_limits)
{
    // docs/manual/physics-wafer.md 1.4: 2.0 nm/K free, 3.6 nm/K laterally held.
    double held = bb_response_height_amplitude(&SILICON, &CLAMP, 1e-3);
    check_relative(held, 2.6e-6 * 775e-6 * 1.28 / 0.72, 1e-6);
    double shortest = bb_response_height_amplitude(&SILICON, &CLAMP, 1e6);
    check_relative(shortest, 2.6e-6 * 775e-6 * 1.28, 1e-3);
}

TEST_FULL(one_field_is_quick)
{
    autocall(drop) setup scene = make(0.001, QUICK_GRID, QUICK_POINTS, &CLAMP);
    bb_index cells = scene.grid->cell_count;
    autofree double *rows = doubles(scene.slit.field_points * cells);
    for (int axis = 0; axis < 3; ++axis) {
        bb_field_response field;
        check_ok(bb_field_response_make(scene.response, &scene.slit, &scene.scan->fields[44], axis,
                                        &field));
        double begin = bb_clock_seconds();
        check_ok(bb_matrix_source_fill(&field.source, 0, 0,
                                       bb_view_matrix(rows, scene.slit.field_points, cells)));
        print_message("%s: %td points x %td cells in %.2f s\n", field.source.name,
                      scene.slit.field_points, cells, bb_clock_seconds() - begin);
    }
}
