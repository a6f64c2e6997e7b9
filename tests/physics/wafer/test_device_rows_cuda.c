// SPDX-License-Identifier: Apache-2.0
//
// Response rows computed on a GPU against those of the host, by every generator and axis, in
// several panels and at the rim.
#include "core/memory.h"
#include "physics/wafer/device_rows.h"
#include "tests/device_pair.h"
#include "tests/physics/wafer/wafer_case.h"

// More slit points than a panel has.
static const bb_grid_config FINE_SLIT = {13, 12};

static double largest_of(const double *values, bb_index count)
{
    double largest = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        largest = fmax(largest, fabs(values[i]));
    }
    return largest;
}

// Rows of both, the largest difference relative to the largest entry of a row.
static void check_rows(const bb_wafer_problem *problem, bb_device_rows *rows, bb_index field,
                       int axis)
{
    const bb_index points = problem->slit.field_points;
    const bb_index columns = problem->input_count;
    const size_t bytes = (size_t)(points * columns) * sizeof(double);
    autofree double *expected = new_array(double, points *columns);
    autofree double *found = new_array(double, points *columns);
    bb_wafer_rows host;
    double worst = 0.0;
    void *block = NULL;
    check_ok(bb_wafer_problem_rows(problem, field, axis, &host));
    check_ok(bb_matrix_source_load(host.source, expected));
    check_ok(bb_device_allocate(gpu, bytes, &block));
    for (int turn = 0; turn < 2; ++turn) { // the second run finds the leftovers of the first
        check_ok(bb_device_rows_fill(rows, field, axis, block));
    }
    check_ok(bb_device_download(gpu, found, block, bytes));
    bb_device_release(gpu, &block);
    for (bb_index p = 0; p < points; ++p) {
        const double largest = largest_of(expected + p * columns, columns);
        assert_true(largest > 0.0);
        for (bb_index j = 0; j < columns; ++j) {
            const bb_index i = p * columns + j;
            assert_true(isfinite(found[i]));
            worst = fmax(worst, fabs(found[i] - expected[i]) / largest);
        }
    }
    print_message("field %td, axis %d: rows differ by %.1e of a row's largest\n", field, axis,
                  worst);
    assert_true(worst < 1e-10);
}

static void check_problem(const wafer_case *c)
{
    bb_wafer_config config = config_of(c);
    autoptr(bb_wafer_problem) problem = new_object(bb_wafer_problem, &config);
    bb_device_rows *rows = NULL;
    assert_null(bb_device_rows_absent(problem));
    assert_true(bb_device_rows_planned(&config));
    check_ok(bb_device_rows_create(problem, gpu, &rows));
    for (bb_index field = 0; field < problem->scored_count; ++field) {
        for (bb_index a = 0; a < c->response.axes.count; ++a) {
            check_rows(problem, rows, field, c->axes[a]);
        }
    }
    bb_device_rows_destroy(&rows);
}

static void fine_case(int generator, wafer_case *out)
{
    coarse_case(out);
    out->response.generator = generator;
    out->response.slit_points = FINE_SLIT;
}

TEST(rows_of_the_kernel_agree)
{
    wafer_case c;
    fine_case(BB_GENERATOR_KERNEL, &c);
    check_problem(&c);
}

TEST(rows_of_the_membrane_agree)
{
    wafer_case c;
    fine_case(BB_GENERATOR_FEM, &c);
    c.mesh.spacing_mm = 2.0;
    check_problem(&c);
}

TEST(rows_of_the_plate_agree)
{
    wafer_case c;
    fine_case(BB_GENERATOR_PLATE, &c);
    check_problem(&c);
    c.clamp.burls = (bb_burl_config){
        .pitch_mm = 10.0, .footprint_mm = 5.0, .scatter = 0.2, .missing_fraction = 0.05, .seed = 1};
    c.mesh.through_thickness = BB_THROUGH_TWO_MODE;
    c.fields[1] = 3;
    check_problem(&c);
}

TEST(rows_that_the_host_makes_are_refused)
{
    wafer_case c;
    fine_case(BB_GENERATOR_FEM, &c);
    bb_device_rows *rows = NULL;
    c.clamp.tangential_stiffness_n_per_m3 = 1e3;
    c.response.axes.count = 2;
    bb_wafer_config config = config_of(&c);
    autoptr(bb_wafer_problem) problem = new_object(bb_wafer_problem, &config);
    assert_non_null(bb_device_rows_absent(problem));
    assert_false(bb_device_rows_planned(&config));
    check_fails(bb_device_rows_create(problem, gpu, &rows), BB_UNSUPPORTED, "soft springs");
}

TEST_GROUP(.begin = open_devices, .end = close_devices);
