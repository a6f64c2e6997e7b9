// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/membrane.h"
#include "physics/wafer/response/response.h"
#include "tests/physics/wafer/response/slit_scene.h"

static slit_scene make(double spacing)
{
    slit_scene scene = slit_scene_make(spacing);
    check_ok(bb_membrane_create(scene.mesh, &SILICON, &CLAMP, &scene.membrane));
    return scene;
}

TEST(rows_are_forward_solves_and_blocks_agree)
{
    autorelease(slit_scene) scene = make(0.003);
    bb_index cells = scene.grid->cell_count;
    bb_fem_response fem;
    autofree double *s = doubles(cells);
    autofree double *t = doubles(scene.mesh->node_count);
    autofree double *u = doubles(2 * scene.mesh->node_count);
    autofree double *rows = doubles(40 * cells);
    autofree double *part = doubles(3 * 500);
    fill_array(s, cells, j, scene.grid->area[j] > 0.0 ? sin(1.0 + 0.3 * (double)j) : 0.0);
    slit_scene_spread(&scene, s, t);
    check_ok(bb_membrane_solve(scene.membrane, t, u));
    for (int axis = 0; axis < 2; ++axis) {
        check_ok(bb_fem_response_make(scene.mesh, scene.membrane, scene.grid, &scene.slit,
                                      scene.field, axis, &fem));
        check_ok(bb_matrix_source_fill(&fem.source, 30, 0, bb_view_matrix(rows, 40, cells)));
        double peak = 0.0;
        for (bb_index i = 0; i < 2 * scene.mesh->node_count; ++i) {
            peak = fmax(peak, fabs(u[i]));
        }
        for (bb_index p = 0; p < 40; ++p) {
            double sum = 0.0;
            for (bb_index j = 0; j < cells; ++j) {
                sum += rows[p * cells + j] * s[j];
                assert_true(scene.grid->area[j] > 0.0 || rows[p * cells + j] == 0.0);
            }
            double x = bb_slit_grid_x(&scene.slit, scene.field, 30 + p);
            double y = bb_slit_grid_y(&scene.slit, scene.field, 30 + p);
            check_close(sum, bb_membrane_at(scene.membrane, u, x, y, axis), 1e-11, peak);
        }
        check_ok(bb_matrix_source_fill(&fem.source, 41, 1700, bb_view_matrix(part, 3, 500)));
        for (bb_index i = 0; i < 3 * 500; ++i) {
            assert_true(part[i] == rows[(11 + i / 500) * cells + 1700 + i % 500]);
        }
    }
}

// Far from the edge both generators give the same displacement under heat around the field.
TEST(kernel_and_fem_agree_inside)
{
    autorelease(slit_scene) scene = make(0.002);
    bb_index cells = scene.grid->cell_count;
    bb_field_response kernel;
    bb_fem_response fem;
    autoptr(bb_response) response = new_object(bb_response, &SILICON, &CLAMP, scene.grid);
    autofree double *rows = doubles(2 * cells);
    check_ok(bb_field_response_make(response, &scene.slit, scene.field, BB_AXIS_X, &kernel));
    check_ok(bb_fem_response_make(scene.mesh, scene.membrane, scene.grid, &scene.slit, scene.field,
                                  BB_AXIS_X, &fem));
    double worst = 0.0;
    double peak = 0.0;
    for (bb_index point = 0; point < scene.slit.field_points; point += 37) {
        check_ok(bb_matrix_source_fill(&kernel.source, point, 0, bb_view_matrix(rows, 1, cells)));
        check_ok(
            bb_matrix_source_fill(&fem.source, point, 0, bb_view_matrix(rows + cells, 1, cells)));
        double u[2] = {0.0, 0.0};
        for (bb_index j = 0; j < cells; ++j) {
            double x = scene.grid->origin_x +
                       ((double)(j % scene.grid->columns) + 0.5) * scene.grid->cell_width;
            double y = scene.grid->origin_y +
                       ((double)(j / scene.grid->columns) + 0.5) * scene.grid->cell_height;
            double t = 0.1 * exp(-(x * x + y * y) / (0.02 * 0.02));
            u[0] += rows[j] * t;
            u[1] += rows[cells + j] * t;
        }
        worst = fmax(worst, fabs(u[0] - u[1]));
        peak = fmax(peak, fabs(u[0]));
    }
    print_message("kernel and FEM at 2 mm differ by %.1e of %.2f nm\n", worst / peak, 1e9 * peak);
    assert_true(worst < 1e-2 * peak);
}

// u along x at (x, y) of the field under a uniform rise of 0.1 K, from the slit points of a window
// with `columns` columns.
static double scored(const slit_scene *scene, bb_index columns, double x, double y)
{
    bb_response_config config = {.slit_points = {columns, 9}, .field_rows = 51};
    slit_scene with = *scene;
    bb_fem_response fem;
    double window[9 * 27];
    bb_index cells = scene->grid->cell_count;
    check_ok(bb_slit_grid_make(&config, scene->scan, &with.slit));
    autofree double *rows = doubles(with.slit.window_points * cells);
    check_ok(bb_fem_response_make(scene->mesh, scene->membrane, scene->grid, &with.slit,
                                  scene->field, BB_AXIS_X, &fem));
    bb_index offset = 0;
    while (offset < 42 && bb_slit_grid_y(&with.slit, scene->field, (offset + 4) * columns) < y) {
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
    return bb_slit_grid_interpolate(&with.slit, scene->field, offset, window, x, y);
}

// Scored points of field 0, some of them between slit points on and off the wafer: four columns
// over 26 mm, and 27 that are 1 mm apart.
TEST_FULL(few_columns_do_near_the_rim)
{
    autorelease(slit_scene) scene = make(0.002);
    scene.field = scene.scan->fields;
    double worst = 0.0;
    double peak = 0.0;
    bb_index count = 0;
    for (int k = 0; k < 13 * 11; ++k) {
        double x = scene.field->x + 1e-3 * (2.0 * (k % 13) - 12.0);
        double y = scene.field->y + 1e-3 * (3.0 * (double)(k / 13) - 15.0);
        if (hypot(x, y) > 0.147) {
            continue;
        }
        double coarse = scored(&scene, 4, x, y);
        double fine = scored(&scene, 27, x, y);
        worst = fmax(worst, fabs(coarse - fine));
        peak = fmax(peak, fabs(fine));
        ++count;
    }
    print_message("4 and 27 columns at %td points near the rim differ by %.2f of %.2f nm\n", count,
                  1e9 * worst, 1e9 * peak);
    assert_true(count == 9 && worst < 0.01 * peak);
}

TEST(height_is_refused)
{
    autorelease(slit_scene) scene = make(0.005);
    bb_fem_response fem;
    check_fails(bb_fem_response_make(scene.mesh, scene.membrane, scene.grid, &scene.slit,
                                     scene.field, BB_AXIS_Z, &fem),
                BB_UNSUPPORTED, "z needs generator plate");
}
