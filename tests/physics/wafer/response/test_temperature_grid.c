// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/temperature_grid.h"
#include "tests/physics/doubles.h"

// Rows sum to 1 or are empty, areas add up, heat is conserved, live cells of a row are one run.
static void check_grid(double spacing, bb_index columns, bb_index rows)
{
    bb_grid_config config = {columns, rows};
    autoptr(bb_disc_mesh) mesh = new_object(bb_disc_mesh, 0.150, spacing);
    autoptr(bb_temperature_grid) grid = new_object(bb_temperature_grid, mesh, &config);
    autofree double *t = doubles(mesh->node_count);
    autofree double *s = doubles(grid->cell_count);
    double heat = 0.0;
    for (bb_index i = 0; i < mesh->node_count; ++i) {
        t[i] = 1.0 + sin((double)(i % 97));
        heat += mesh->node_area[i] * t[i];
    }
    check_ok(bb_csr_multiply(&grid->restriction, t, s));
    double area = 0.0;
    double kept = 0.0;
    bb_index live = 0;
    const bb_csr *matrix = &grid->restriction;
    for (bb_index cell = 0; cell < grid->cell_count; ++cell) {
        double sum = 0.0;
        for (bb_index i = matrix->row_start[cell]; i < matrix->row_start[cell + 1]; ++i) {
            assert_true(matrix->value[i] > 0.0);
            sum += matrix->value[i];
        }
        bb_index column = cell % columns;
        bool in_run =
            column >= grid->live_begin[cell / columns] && column < grid->live_end[cell / columns];
        assert_int_equal(in_run, grid->area[cell] > 0.0);
        check_close(sum, in_run ? 1.0 : 0.0, 1e-12, 1.0);
        assert_true(grid->area[cell] <= grid->cell_width * grid->cell_height * (1.0 + 1e-9));
        area += grid->area[cell];
        kept += grid->area[cell] * s[cell];
        live += grid->area[cell] > 0.0;
    }
    assert_int_equal(live, grid->live_count);
    check_relative(area, bb_disc_mesh_area(mesh), 1e-10);
    check_relative(kept, heat, 1e-10);
    print_message("%td x %td: %td live, %.2f entries a live row\n", columns, rows, live,
                  (double)bb_csr_nonzeros(matrix) / (double)live);
}

TEST(seed_grid_conserves_heat)
{
    check_grid(0.0005, 512, 500);
}

TEST(quick_and_fine_grids_conserve_heat)
{
    check_grid(0.001, 128, 125);
    check_grid(0.001, 700, 601);
    check_grid(0.0007, 31, 2);
}

TEST(bad_grids_are_refused)
{
    autoptr(bb_disc_mesh) mesh = NULL;
    bb_temperature_grid *grid = NULL;
    bb_grid_config config = {1, 5};
    check_ok(bb_disc_mesh_periodic(4, 4, 0.1, &mesh));
    check_fails(bb_temperature_grid_create(mesh, &config, &grid), BB_INVALID, "at least 2 x 2");
    config.columns = 2;
    check_fails(bb_temperature_grid_create(mesh, &config, &grid), BB_INVALID, "periodic");
}
