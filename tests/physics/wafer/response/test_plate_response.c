// SPDX-License-Identifier: Apache-2.0
//
// Rows of the coupled plate as used by a driver: against forward solves and the closed-form kernel,
// the same from any block and any number of threads, and the effect of burls.
#include "core/memory.h"
#include "core/thread.h"
#include "physics/wafer/heat/burl_map.h"
#include "physics/wafer/response/coupled_plate.h"
#include "physics/wafer/response/response.h"
#include "tests/physics/wafer/response/slit_scene.h"

static slit_scene make(double spacing, const bb_burl_config *burls)
{
    slit_scene scene = slit_scene_make(spacing);
    autofree double *springs = NULL;
    bb_plate plate = bb_plate_make(&SILICON, &CLAMP);
    if (burls != NULL) {
        check_ok(BB_ALLOCATE(scene.mesh->cell_count, &springs));
        check_ok(bb_burl_map_fill(burls, scene.mesh, springs));
    }
    check_ok(bb_coupled_plate_create(scene.mesh, &plate, springs, NULL, &scene.plate));
    return scene;
}

static void solve(const slit_scene *scene, const double *t, double *x)
{
    autofree double *right = doubles(BB_PLATE_UNKNOWNS * scene->mesh->node_count);
    bb_coupled_plate_load(scene->plate, t, NULL, right);
    check_ok(bb_coupled_plate_solve(scene->plate, right, x));
}

// E (T_S - T_nodes) at a slit point: the part of z in rows from the centres of cells.
static double local_change(const slit_scene *scene, const double *s, const double *t,
                           bb_index point)
{
    bb_plate_sample sample;
    bb_index cell[4];
    double weight[4];
    double change = 0.0;
    bb_plate_sample_make(scene->mesh, &scene->plate->plate,
                         bb_slit_grid_x(&scene->slit, scene->field, point),
                         bb_slit_grid_y(&scene->slit, scene->field, point), BB_AXIS_Z, &sample);
    double sum = bb_temperature_grid_weights(scene->grid, sample.x, sample.y, cell, weight);
    for (int k = 0; k < 4; ++k) {
        change += weight[k] / sum * s[cell[k]] - sample.bilinear[k] * t[sample.node[k]];
    }
    return bb_plate_local_height(&scene->plate->plate) * change;
}

// The second block: rows . tau of the cells = forward solve under tau; the first is unchanged, and
// a range of columns across both equals that part of whole rows.
TEST(the_second_block_is_of_moments)
{
    enum { ROWS = 9 };
    autorelease(slit_scene) scene = make(0.005, NULL);
    const bb_index cells = scene.grid->cell_count;
    bb_plate_response one;
    bb_plate_response two;
    autofree double *tau = doubles(cells);
    autofree double *spread_tau = doubles(scene.mesh->node_count);
    autofree double *cold = zeros(scene.mesh->node_count);
    autofree double *right = doubles(BB_PLATE_UNKNOWNS * scene.mesh->node_count);
    autofree double *x = doubles(BB_PLATE_UNKNOWNS * scene.mesh->node_count);
    autofree double *rows = doubles(ROWS * 2 * cells);
    autofree double *plain = doubles(ROWS * cells);
    autofree double *part = doubles(ROWS * 300);
    fill_array(tau, cells, j, scene.grid->area[j] > 0.0 ? sin(1.0 + 0.3 * (double)j) : 0.0);
    slit_scene_spread(&scene, tau, spread_tau);
    bb_coupled_plate_load(scene.plate, cold, spread_tau, right);
    check_ok(bb_coupled_plate_solve(scene.plate, right, x));
    for (int axis = 0; axis < 3; ++axis) {
        bb_plate_response_make(scene.plate, scene.grid, &scene.slit, scene.field, axis, 1, &one);
        bb_plate_response_make(scene.plate, scene.grid, &scene.slit, scene.field, axis, 2, &two);
        assert_int_equal(two.source.columns, 2 * cells);
        check_ok(bb_matrix_source_fill(&one.source, 30, 0, bb_view_matrix(plain, ROWS, cells)));
        check_ok(bb_matrix_source_fill(&two.source, 30, 0, bb_view_matrix(rows, ROWS, 2 * cells)));
        for (bb_index p = 0; p < ROWS; ++p) {
            const double *row = rows + p * 2 * cells;
            double sum = 0.0;
            double size = 0.0;
            assert_memory_equal(row, plain + p * cells, (size_t)cells * sizeof *row);
            for (bb_index j = 0; j < cells; ++j) {
                sum += row[cells + j] * tau[j];
                size += fabs(row[cells + j] * tau[j]);
                assert_true(scene.grid->area[j] > 0.0 || row[cells + j] == 0.0);
            }
            check_close(sum,
                        bb_coupled_plate_at(scene.plate, x, cold,
                                            bb_slit_grid_x(&scene.slit, scene.field, 30 + p),
                                            bb_slit_grid_y(&scene.slit, scene.field, 30 + p), axis),
                        1e-12, size);
        }
        check_ok(
            bb_matrix_source_fill(&two.source, 30, cells - 100, bb_view_matrix(part, ROWS, 300)));
        for (bb_index i = 0; i < ROWS * 300; ++i) {
            assert_true(part[i] == rows[i / 300 * 2 * cells + cells - 100 + i % 300]);
        }
    }
}

TEST(rows_are_forward_solves_and_blocks_agree)
{
    const bb_burl_config burls = {
        .pitch_mm = 7.0, .footprint_mm = 5.0, .scatter = 0.2, .missing_fraction = 0.05, .seed = 1};
    autorelease(slit_scene) scene = make(0.005, &burls);
    bb_index cells = scene.grid->cell_count;
    bb_plate_response plate;
    autofree double *s = doubles(cells);
    autofree double *t = doubles(scene.mesh->node_count);
    autofree double *x = doubles(BB_PLATE_UNKNOWNS * scene.mesh->node_count);
    autofree double *rows = doubles(40 * cells);
    autofree double *part = doubles(3 * 500);
    fill_array(s, cells, j, scene.grid->area[j] > 0.0 ? sin(1.0 + 0.3 * (double)j) : 0.0);
    slit_scene_spread(&scene, s, t);
    solve(&scene, t, x);
    for (int axis = 0; axis < 3; ++axis) {
        bb_plate_response_make(scene.plate, scene.grid, &scene.slit, scene.field, axis, 1, &plate);
        check_ok(bb_matrix_source_fill(&plate.source, 30, 0, bb_view_matrix(rows, 40, cells)));
        for (bb_index p = 0; p < 40; ++p) {
            double sum = 0.0;
            double size = 0.0;
            for (bb_index j = 0; j < cells; ++j) {
                sum += rows[p * cells + j] * s[j];
                size += fabs(rows[p * cells + j] * s[j]);
                assert_true(scene.grid->area[j] > 0.0 || rows[p * cells + j] == 0.0);
            }
            double forward = bb_coupled_plate_at(
                scene.plate, x, t, bb_slit_grid_x(&scene.slit, scene.field, 30 + p),
                bb_slit_grid_y(&scene.slit, scene.field, 30 + p), axis);
            if (axis == (int)BB_AXIS_Z) {
                forward += local_change(&scene, s, t, 30 + p);
            }
            check_close(sum, forward, 1e-12, size);
        }
        check_ok(bb_matrix_source_fill(&plate.source, 41, 1700, bb_view_matrix(part, 3, 500)));
        for (bb_index i = 0; i < 3 * 500; ++i) {
            assert_true(part[i] == rows[(11 + i / 500) * cells + 1700 + i % 500]);
        }
    }
}

TEST(threads_leave_the_bits)
{
    double *all_values[2] = {NULL, NULL};
    bb_index items = 0;
    for (int run = 0; run < 2; ++run) {
        check_ok(bb_threads_set(run == 0 ? 1 : 3));
        slit_scene scene = make(0.008, NULL);
        bb_plate_response plate;
        bb_plate_response_make(scene.plate, scene.grid, &scene.slit, scene.field, BB_AXIS_Z, 1,
                               &plate);
        items = plate.source.rows * plate.source.columns;
        check_ok(BB_ALLOCATE(items, &all_values[run]));
        check_ok(bb_matrix_source_load(&plate.source, all_values[run]));
        bb_scan_destroy(&scene.scan);
        bb_temperature_grid_destroy(&scene.grid);
        bb_coupled_plate_destroy(&scene.plate);
        bb_disc_mesh_destroy(&scene.mesh);
    }
    assert_memory_equal(all_values[0], all_values[1], (size_t)items * sizeof(double));
    BB_RELEASE(&all_values[0]);
    BB_RELEASE(&all_values[1]);
}

// Displacement of slit point `point` under a Gaussian at the centre of the wafer.
static double heated(const slit_scene *scene, const bb_matrix_source *source, bb_index point)
{
    bb_index cells = scene->grid->cell_count;
    double sum = 0.0;
    autofree double *row = doubles(cells);
    check_ok(bb_matrix_source_fill(source, point, 0, bb_view_matrix(row, 1, cells)));
    for (bb_index j = 0; j < cells; ++j) {
        double x = scene->grid->origin_x +
                   ((double)(j % scene->grid->columns) + 0.5) * scene->grid->cell_width;
        double y = scene->grid->origin_y +
                   ((double)(j / scene->grid->columns) + 0.5) * scene->grid->cell_height;
        sum += row[j] * 0.1 * exp(-(x * x + y * y) / (0.02 * 0.02));
    }
    return sum;
}

// Far from the edge the plate subtracts (d/2) grad w, 3e-3 of u, from the kernel's u0; height is
// the same except for the mesh.
TEST_FULL(kernel_and_plate_agree_inside)
{
    static const double bound[3] = {1e-2, 2e-2, 1.2e-2};
    autorelease(slit_scene) scene = make(0.0025, NULL);
    autoptr(bb_response) response = new_object(bb_response, &SILICON, &CLAMP, scene.grid);
    for (int axis = 0; axis < 3; ++axis) {
        bb_field_response kernel;
        bb_plate_response plate;
        double worst = 0.0;
        double peak = 0.0;
        check_ok(bb_field_response_make(response, &scene.slit, scene.field, axis, &kernel));
        bb_plate_response_make(scene.plate, scene.grid, &scene.slit, scene.field, axis, 1, &plate);
        for (bb_index point = 7; point < scene.slit.field_points; point += 61) {
            double a = heated(&scene, &kernel.source, point);
            double b = heated(&scene, &plate.source, point);
            worst = fmax(worst, fabs(a - b));
            peak = fmax(peak, fabs(a));
        }
        print_message("axis %d: kernel and plate at 2.5 mm differ by %.1e of %.3f nm\n", axis,
                      worst / peak, 1e9 * peak);
        assert_true(worst < bound[axis] * peak);
    }
}

// Largest difference between the displacement around a point under heat at that point, here and two
// burls further, relative to its largest value: both are shifted by whole burls and cells.
static double variance_under_translation(const bb_burl_config *burls)
{
    autorelease(slit_scene) scene = make(0.004, burls);
    double worst = 0.0;
    double peak = 0.0;
    double *value[2] = {NULL, NULL};
    enum { POINTS = 24 };
    const double shift = 0.016;
    autofree double *t = doubles(scene.mesh->node_count);
    autofree double *x = doubles(BB_PLATE_UNKNOWNS * scene.mesh->node_count);
    for (int place = 0; place < 2; ++place) {
        check_ok(BB_ALLOCATE(POINTS, &value[place]));
        for (bb_index i = 0; i < scene.mesh->node_count; ++i) {
            double dx = bb_disc_mesh_x(scene.mesh, i) - place * shift;
            double dy = bb_disc_mesh_y(scene.mesh, i);
            t[i] = 0.1 * exp(-(dx * dx + dy * dy) / (0.008 * 0.008));
        }
        solve(&scene, t, x);
        for (int p = 0; p < POINTS; ++p) {
            value[place][p] =
                bb_coupled_plate_at(scene.plate, x, t, place * shift + 0.001 * p, 0.003, BB_AXIS_X);
            peak = fmax(peak, fabs(value[place][p]));
        }
    }
    for (int p = 0; p < POINTS; ++p) {
        worst = fmax(worst, fabs(value[0][p] - value[1][p]));
    }
    BB_RELEASE(&value[0]);
    BB_RELEASE(&value[1]);
    return worst / peak;
}

TEST(burls_break_the_invariance)
{
    bb_burl_place place = {16.0, 0.0};
    bb_burl_config burls = {.pitch_mm = 8.0, .footprint_mm = 4.0, .seed = 1};
    double uniform = variance_under_translation(NULL);
    double regular = variance_under_translation(&burls);
    burls.missing = (bb_list){&place, 1};
    double missing = variance_under_translation(&burls);
    burls.missing.count = 0;
    burls.scatter = 0.2;
    double scattered = variance_under_translation(&burls);
    print_message("translation changes u by %.1e (uniform), %.1e (burls), %.1e (one missing), "
                  "%.1e (20 %% scatter)\n",
                  uniform, regular, missing, scattered);
    assert_true(missing > 10.0 * regular && scattered > 10.0 * regular && uniform < 2e-3);
}
