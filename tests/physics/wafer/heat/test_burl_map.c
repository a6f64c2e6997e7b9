// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "physics/wafer/heat/burl_map.h"
#include "tests/check.h"

typedef struct setup {
    bb_disc_mesh *mesh;
    double *factor;
} setup;

static setup make(double spacing)
{
    setup scene = {0};
    check_ok(bb_disc_mesh_create(0.050, spacing, &scene.mesh));
    check_ok(BB_ALLOCATE(scene.mesh->cell_count, &scene.factor));
    return scene;
}

static void drop(setup *scene)
{
    BB_RELEASE(&scene->factor);
    bb_disc_mesh_destroy(&scene->mesh);
}

TEST(burls_side_by_side_are_uniform)
{
    autocall(drop) setup scene = make(0.001);
    bb_burl_config config = {.pitch_mm = 2.7, .footprint_mm = 2.7, .seed = 1};
    check_ok(bb_burl_map_fill(&config, scene.mesh, scene.factor));
    for (bb_index i = 0; i < scene.mesh->cell_count; ++i) {
        check_close(scene.factor[i], 1.0, 1e-12, 1.0);
    }
    assert_true(bb_burl_map_wanted(&config));
    config.pitch_mm = NAN;
    assert_false(bb_burl_map_wanted(&config));
    config.pitch_mm = 0.0;
    assert_false(bb_burl_map_wanted(&config));
}

// Sum over the cells = sum over the burls under the wafer of p^2 / h^2; the cell at a burl gets
// all of p^2 / f^2.
TEST(burls_keep_their_stiffness)
{
    autocall(drop) setup scene = make(0.001);
    bb_burl_config config = {
        .pitch_mm = 5.0, .footprint_mm = 2.0, .scatter = 0.2, .missing_fraction = 0.0, .seed = 7};
    check_ok(bb_burl_map_fill(&config, scene.mesh, scene.factor));
    bb_index burls = 0;
    for (bb_index j = -10; j <= 10; ++j) {
        for (bb_index i = -10; i <= 10; ++i) {
            double b = bb_burl_map_stiffness(&config, i, j);
            assert_true(b > 0.8 && b < 1.2);
            if (i * i + j * j > 80) {
                continue; // near the rim: part of the footprint is off the wafer
            }
            double sum = 0.0;
            for (int k = 0; k < 4; ++k) {
                bb_index cell =
                    bb_disc_mesh_cell(scene.mesh, 0.005 * (double)i + 0.0005 * (2 * (k % 2) - 1),
                                      0.005 * (double)j + 0.0005 * (2 * (k / 2) - 1));
                check_relative(scene.factor[cell], b * 25.0 / 4.0, 1e-9);
                sum += scene.factor[cell];
            }
            check_relative(sum, b * 25.0, 1e-9);
            ++burls;
        }
    }
    assert_int_equal(burls, 249);
    bb_index between = bb_disc_mesh_cell(scene.mesh, 0.0025, 0.0025);
    check_close(scene.factor[between], 0.0, 0.0, 1.0);
}

TEST(scatter_depends_on_seed_and_place_alone)
{
    bb_burl_config config = {.pitch_mm = 3.0, .footprint_mm = 1.5, .scatter = 0.2, .seed = 1};
    double sum = 0.0;
    double squares = 0.0;
    bb_index missing = 0;
    for (bb_index i = 0; i < 10000; ++i) {
        double b = bb_burl_map_stiffness(&config, i % 100 - 50, i / 100 - 50);
        sum += b;
        squares += (b - 1.0) * (b - 1.0);
    }
    check_close(sum / 10000.0, 1.0, 4.0 * 0.2 / sqrt(3e4), 1.0);
    check_relative(sqrt(squares / 10000.0), 0.2 / sqrt(3.0), 0.03);
    double other = bb_burl_map_stiffness(&config, 3, -4);
    config.missing_fraction = 0.1;
    for (bb_index i = 0; i < 10000; ++i) {
        missing += bb_burl_map_stiffness(&config, i % 100 - 50, i / 100 - 50) == 0.0;
    }
    assert_true(missing > 880 && missing < 1120);
    config.missing_fraction = 0.0;
    assert_true(bb_burl_map_stiffness(&config, 3, -4) == other);
    config.seed = 2;
    assert_true(bb_burl_map_stiffness(&config, 3, -4) != other);
}

TEST(named_burls_are_missing)
{
    autocall(drop) setup scene = make(0.001);
    bb_burl_place place[2] = {{9.0, -16.0}, {500.0, 0.0}};
    bb_burl_config config = {
        .pitch_mm = 5.0, .footprint_mm = 2.0, .missing = {place, 2}, .seed = 1};
    check_ok(bb_burl_map_fill(&config, scene.mesh, scene.factor));
    double gone = scene.factor[bb_disc_mesh_cell(scene.mesh, 0.0105, -0.0145)];
    double there = scene.factor[bb_disc_mesh_cell(scene.mesh, -0.0105, 0.0145)];
    check_close(gone, 0.0, 0.0, 1.0);
    check_relative(there, 6.25, 1e-12);
    config.footprint_mm = 6.0;
    check_fails(bb_burl_map_fill(&config, scene.mesh, scene.factor), BB_INVALID,
                "clamp.burls.footprint_mm = 6, expected over 0 and at most pitch_mm = 5");
    config.footprint_mm = NAN;
    check_fails(bb_burl_map_fill(&config, scene.mesh, scene.factor), BB_INVALID, "footprint_mm");
}
