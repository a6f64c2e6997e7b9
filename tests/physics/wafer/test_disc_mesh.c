// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/disc_mesh.h"
#include "tests/check.h"

// docs/lab/physics-wafer.md 2.3 item 9.
TEST(wafer_has_the_known_counts)
{
    autoptr(bb_disc_mesh) mesh = new_object(bb_disc_mesh, 0.150, 0.0005);
    assert_int_equal(mesh->columns, 600);
    assert_int_equal(mesh->cell_count, 282792);
    assert_int_equal(mesh->node_count, 283993);
    double area = 0.0;
    for (bb_index i = 0; i < mesh->node_count; ++i) {
        area += mesh->node_area[i];
    }
    check_relative(area, bb_disc_mesh_area(mesh), 1e-11);
    check_relative(area, 3.14159265358979 * 0.0225, 3e-4);
}

TEST(maps_agree_with_each_other)
{
    autoptr(bb_disc_mesh) mesh = new_object(bb_disc_mesh, 0.0103, 0.001);
    for (bb_index i = 0; i < mesh->node_count; ++i) {
        bb_index index = mesh->node_row[i] * mesh->node_columns + mesh->node_column[i];
        assert_int_equal(mesh->node_at[index], i);
    }
    for (bb_index cell = 0; cell < mesh->cell_count; ++cell) {
        const int32_t *nodes = mesh->cell_nodes + 4 * cell;
        double x = 0.5 * (bb_disc_mesh_x(mesh, nodes[0]) + bb_disc_mesh_x(mesh, nodes[2]));
        double y = 0.5 * (bb_disc_mesh_y(mesh, nodes[0]) + bb_disc_mesh_y(mesh, nodes[2]));
        assert_int_equal(bb_disc_mesh_cell(mesh, x, y), cell);
        assert_true(hypot(x, y) <= 0.0103);
        check_close(bb_disc_mesh_x(mesh, nodes[1]) - bb_disc_mesh_x(mesh, nodes[0]), 0.001, 1e-12,
                    0.001);
        check_close(bb_disc_mesh_y(mesh, nodes[3]) - bb_disc_mesh_y(mesh, nodes[0]), 0.001, 1e-12,
                    0.001);
    }
    assert_int_equal(bb_disc_mesh_cell(mesh, 0.02, 0.0), -1);
    assert_true(bb_disc_mesh_cell(mesh, 0.010, 0.0) >= 0);
}

TEST(periodic_mesh_wraps)
{
    autoptr(bb_disc_mesh) mesh = NULL;
    check_ok(bb_disc_mesh_periodic(5, 4, 0.1, &mesh));
    assert_int_equal(mesh->node_count, 20);
    for (bb_index i = 0; i < mesh->node_count; ++i) {
        check_relative(mesh->node_area[i], 0.01, 1e-14);
    }
    assert_int_equal(mesh->cell_nodes[4 * 19 + 2], 0);
}

TEST(bad_sizes_are_refused_and_nothing_leaks)
{
    bb_disc_mesh *mesh = NULL;
    check_fails(bb_disc_mesh_create(0.15, 0.0, &mesh), BB_INVALID, "disc of radius");
    check_fails(bb_disc_mesh_periodic(2, 5, 0.1, &mesh), BB_INVALID, "at least 3 a side");
    failing_allocation walk = {0};
    bb_status status = BB_OK;
    while (fail_next(&walk, status)) {
        autoptr(bb_disc_mesh) made = NULL;
        status = bb_disc_mesh_create(0.01, 0.001, &made);
    }
    assert_true(walk.k > 7);
}
