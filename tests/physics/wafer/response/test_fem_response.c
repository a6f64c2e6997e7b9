// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "physics/wafer/response/fem_response.h"
#include "physics/wafer/response/response.h"
#include "tests/check.h"
#include "tests/physics/wafer/wafer_defaults.h"

typedef struct setup {
    bb_disc_mesh *mesh;
    bb_membrane *membrane;
    bb_temperature_grid *grid;
    bb_scan *scan;
    bb_slit_grid slit;
    const bb_field *field; // next to the middle of the wafer
} setup;

static setup make(double spacing)
{
    setup at = {0};
    bb_grid_config cells = {64, 60};
    bb_response_config config = {
        .slit_points = {5, 9},
          .field_rows = BB_INTEGER_UNSET
    };
    check_ok(bb_disc_mesh_create(0.150, spacing, &at.mesh));
    check_ok(bb_membrane_create(at.mesh, &SILICON, &CLAMP, &at.membrane));
    check_ok(bb_temperature_grid_create(at.mesh, &cells, &at.grid));
    check_ok(bb_scan_create(&FAST_SCAN, 1e-3, &at.scan));
    check_ok(bb_slit_grid_make(&config, at.scan, &at.slit));
    at.field = at.scan->fields;
    while (at.field->row != 0 || at.field->column != 0) {
        ++at.field;
    }
    return at;
}

static void drop(setup *at)
{
    bb_scan_destroy(&at->scan);
    bb_temperature_grid_destroy(&at->grid);
    bb_membrane_destroy(&at->membrane);
    bb_disc_mesh_destroy(&at->mesh);
}

// T_i = sum_j a_ij S_j / m_i: what the rows hold for the temperatures between S and the nodes.
static void spread(const setup *at, const double *s, double *t)
{
    const bb_csr *matrix = &at->grid->restriction;
    memset(t, 0, (size_t)at->mesh->node_count * sizeof *t);
    for (bb_index j = 0; j < matrix->rows; ++j) {
        for (bb_index i = matrix->row_start[j]; i < matrix->row_start[j + 1]; ++i) {
            bb_index node = matrix->column[i];
            t[node] += at->grid->area[j] * matrix->value[i] * s[j] / at->mesh->node_area[node];
        }
    }
}

static void rows_are_forward_solves_and_blocks_agree(void **state)
{
    (void)state;
    setup at = make(0.003);
    bb_index cells = at.grid->cell_count;
    double *s = NULL;
    double *t = NULL;
    double *u = NULL;
    double *rows = NULL;
    double *part = NULL;
    bb_fem_response fem;
    check_ok(BB_ALLOCATE(cells, &s));
    check_ok(BB_ALLOCATE(at.mesh->node_count, &t));
    check_ok(BB_ALLOCATE(2 * at.mesh->node_count, &u));
    check_ok(BB_ALLOCATE(40 * cells, &rows));
    check_ok(BB_ALLOCATE(3 * 500, &part));
    for (bb_index j = 0; j < cells; ++j) {
        s[j] = at.grid->area[j] > 0.0 ? sin(1.0 + 0.3 * (double)j) : 0.0;
    }
    spread(&at, s, t);
    check_ok(bb_membrane_solve(at.membrane, t, u));
    for (int axis = 0; axis < 2; ++axis) {
        check_ok(
            bb_fem_response_make(at.mesh, at.membrane, at.grid, &at.slit, at.field, axis, &fem));
        check_ok(bb_matrix_source_fill(&fem.source, 30, 0, bb_view_matrix(rows, 40, cells)));
        double peak = 0.0;
        for (bb_index i = 0; i < 2 * at.mesh->node_count; ++i) {
            peak = fmax(peak, fabs(u[i]));
        }
        for (bb_index p = 0; p < 40; ++p) {
            double sum = 0.0;
            for (bb_index j = 0; j < cells; ++j) {
                sum += rows[p * cells + j] * s[j];
                assert_true(at.grid->area[j] > 0.0 || rows[p * cells + j] == 0.0);
            }
            double x = bb_slit_grid_x(&at.slit, at.field, 30 + p);
            double y = bb_slit_grid_y(&at.slit, at.field, 30 + p);
            check_close(sum, bb_membrane_at(at.membrane, u, x, y, axis), 1e-11, peak);
        }
        check_ok(bb_matrix_source_fill(&fem.source, 41, 1700, bb_view_matrix(part, 3, 500)));
        for (bb_index i = 0; i < 3 * 500; ++i) {
            assert_true(part[i] == rows[(11 + i / 500) * cells + 1700 + i % 500]);
        }
    }
    BB_RELEASE(&s);
    BB_RELEASE(&t);
    BB_RELEASE(&u);
    BB_RELEASE(&rows);
    BB_RELEASE(&part);
    drop(&at);
}

// Far from the edge both generators give the same displacement under heat around the field.
static void kernel_and_fem_agree_inside(void **state)
{
    (void)state;
    setup at = make(0.002);
    bb_index cells = at.grid->cell_count;
    bb_response *response = NULL;
    bb_field_response kernel;
    bb_fem_response fem;
    double *rows = NULL;
    check_ok(bb_response_create(&SILICON, &CLAMP, at.grid, &response));
    check_ok(BB_ALLOCATE(2 * cells, &rows));
    check_ok(bb_field_response_make(response, &at.slit, at.field, BB_AXIS_X, &kernel));
    check_ok(
        bb_fem_response_make(at.mesh, at.membrane, at.grid, &at.slit, at.field, BB_AXIS_X, &fem));
    double worst = 0.0;
    double peak = 0.0;
    for (bb_index point = 0; point < at.slit.field_points; point += 37) {
        check_ok(bb_matrix_source_fill(&kernel.source, point, 0, bb_view_matrix(rows, 1, cells)));
        check_ok(
            bb_matrix_source_fill(&fem.source, point, 0, bb_view_matrix(rows + cells, 1, cells)));
        double u[2] = {0.0, 0.0};
        for (bb_index j = 0; j < cells; ++j) {
            double x =
                at.grid->origin_x + ((double)(j % at.grid->columns) + 0.5) * at.grid->cell_width;
            double y =
                at.grid->origin_y + ((double)(j / at.grid->columns) + 0.5) * at.grid->cell_height;
            double t = 0.1 * exp(-(x * x + y * y) / (0.02 * 0.02));
            u[0] += rows[j] * t;
            u[1] += rows[cells + j] * t;
        }
        worst = fmax(worst, fabs(u[0] - u[1]));
        peak = fmax(peak, fabs(u[0]));
    }
    print_message("kernel and FEM at 2 mm differ by %.1e of %.2f nm\n", worst / peak, 1e9 * peak);
    assert_true(worst < 1e-2 * peak);
    BB_RELEASE(&rows);
    bb_response_destroy(&response);
    drop(&at);
}

// u along x at (x, y) of the field under a uniform rise of 0.1 K, from the slit points of a window
// with `columns` columns.
static double scored(const setup *at, bb_index columns, double x, double y)
{
    bb_response_config config = {
        .slit_points = {columns, 9},
          .field_rows = 51
    };
    setup with = *at;
    bb_fem_response fem;
    double *rows = NULL;
    double window[9 * 27];
    bb_index cells = at->grid->cell_count;
    check_ok(bb_slit_grid_make(&config, at->scan, &with.slit));
    check_ok(BB_ALLOCATE(with.slit.window_points * cells, &rows));
    check_ok(bb_fem_response_make(at->mesh, at->membrane, at->grid, &with.slit, at->field,
                                  BB_AXIS_X, &fem));
    bb_index offset = 0;
    while (offset < 42 && bb_slit_grid_y(&with.slit, at->field, (offset + 4) * columns) < y) {
        ++offset;
    }
    check_ok(bb_matrix_source_fill(&fem.source, offset * columns, 0,
                                   bb_view_matrix(rows, with.slit.window_points, cells)));
    for (bb_index p = 0; p < with.slit.window_points; ++p) {
        window[p] = 0.0;
        for (bb_index j = 0; j < cells; ++j) {
            window[p] += rows[p * cells + j] * 0.1;
        }
    }
    BB_RELEASE(&rows);
    return bb_slit_grid_interpolate(&with.slit, at->field, offset, window, x, y);
}

// Points of field 0 that are scored, some of them between slit points on and off the wafer: four
// columns over 26 mm, and 27 that stand 1 mm apart.
static void few_columns_do_near_the_rim(void **state)
{
    (void)state;
    setup at = make(0.002);
    at.field = at.scan->fields;
    double worst = 0.0;
    double peak = 0.0;
    bb_index count = 0;
    for (int k = 0; k < 13 * 11; ++k) {
        double x = at.field->x + 1e-3 * (2.0 * (k % 13) - 12.0);
        double y = at.field->y + 1e-3 * (3.0 * (double)(k / 13) - 15.0);
        if (hypot(x, y) > 0.147) {
            continue;
        }
        double coarse = scored(&at, 4, x, y);
        double fine = scored(&at, 27, x, y);
        worst = fmax(worst, fabs(coarse - fine));
        peak = fmax(peak, fabs(fine));
        ++count;
    }
    print_message("4 and 27 columns at %td points near the rim differ by %.2f of %.2f nm\n", count,
                  1e9 * worst, 1e9 * peak);
    assert_true(count == 9 && worst < 0.01 * peak);
    drop(&at);
}

static void height_is_refused(void **state)
{
    (void)state;
    setup at = make(0.005);
    bb_fem_response fem;
    check_fails(
        bb_fem_response_make(at.mesh, at.membrane, at.grid, &at.slit, at.field, BB_AXIS_Z, &fem),
        BB_UNSUPPORTED, "z needs the bending plate");
    drop(&at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_forward_solves_and_blocks_agree),
        cmocka_unit_test(kernel_and_fem_agree_inside),
        cmocka_unit_test(few_columns_do_near_the_rim),
        cmocka_unit_test(height_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
