// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "physics/wafer/heat/exposure.h"
#include "physics/wafer/heat/thermal.h"
#include "physics/wafer/scan.h"
#include "tests/physics/wafer/wafer_defaults.h"

static const bb_hood_config HOOD = {
    .exchange_w_per_m2_k = 200.0, .width_mm = 40.3, .height_mm = 20.1, .rise_k = -0.5};

typedef struct setup {
    bb_disc_mesh *mesh;
    bb_scan *scan;
    bb_hood hood;
    int32_t *node;
    double *exchange;
} setup;

static setup make(double spacing)
{
    setup scene = {0};
    check_ok(bb_disc_mesh_create(0.150, spacing, &scene.mesh));
    scene.scan = fast_scan();
    scene.hood = bb_hood_make(scene.mesh, scene.scan, &HOOD);
    check_ok(BB_ALLOCATE(scene.hood.cover_limit, &scene.node));
    check_ok(BB_ALLOCATE(scene.hood.cover_limit, &scene.exchange));
    return scene;
}

static void drop(setup *scene)
{
    BB_RELEASE(&scene->node);
    BB_RELEASE(&scene->exchange);
    bb_scan_destroy(&scene->scan);
    bb_disc_mesh_destroy(&scene->mesh);
}

// Completely on the wafer, exactly its area; off the wafer nothing; over the edge its overlap with
// the disc.
TEST(covers_its_area)
{
    autocall(drop) setup scene = make(0.0007);
    static const struct {
        double centre[2];
        double tolerance;
    } places[] = {
        {{0.0, 0.0}, 1e-12},    {{0.01234, -0.071}, 1e-12}, {{0.1, 0.1}, 5e-3},
        {{-0.13, 0.055}, 5e-3}, {{0.3, 0.0}, 0.0},
    };
    const double total = 0.0403 * 0.0201;
    for (size_t p = 0; p < sizeof places / sizeof *places; ++p) {
        const double *c = places[p].centre;
        bb_index count = bb_hood_cover(&scene.hood, c, 2e-3, scene.node, scene.exchange);
        double sum = 0.0;
        assert_true(count <= scene.hood.cover_limit);
        for (bb_index i = 0; i < count; ++i) {
            assert_true(i == 0 || scene.node[i] > scene.node[i - 1]);
            assert_true(scene.exchange[i] <=
                        2e-3 * 200.0 * scene.mesh->node_area[scene.node[i]] + 1e-18);
            sum += scene.exchange[i];
        }
        double inside = bb_field_area_inside(0.15, c[0] - 0.02015, c[0] + 0.02015, c[1] - 0.01005,
                                             c[1] + 0.01005);
        check_close(sum, 2e-3 * 200.0 * inside, places[p].tolerance, 2e-3 * 200.0 * total);
    }
}

// With the slit in the light steps, in a straight line in the dark ones, parked after the last
// exposure.
TEST(follows_the_slit)
{
    autocall(drop) setup scene = make(0.003);
    const bb_scan *scan = scene.scan;
    double c[2];
    double next[2];
    for (bb_index field = 40; field < 42; ++field) {
        const bb_field *exposed = &scan->fields[field];
        bb_hood_centre(&scene.hood, field, 0.017, c); // the middle of the light steps
        check_close(c[0], exposed->x, 1e-15, 1.0);
        check_close(c[1], exposed->y, 1e-12, 1.0);
        bb_hood_centre(&scene.hood, field, 0.018, next);
        check_relative((next[1] - c[1]) / 1e-3, exposed->up ? scan->speed : -scan->speed, 1e-9);
        bb_hood_centre(&scene.hood, field + 1, 0.0, next);
        bb_hood_centre(&scene.hood, field, 0.070, c);
        check_close(c[0], next[0], 1e-14, 1.0);
        check_close(c[1], next[1], 1e-14, 1.0);
        double light[2];
        double half[2];
        bb_hood_centre(&scene.hood, field, 0.034, light);
        bb_hood_centre(&scene.hood, field, 0.052, half);
        check_close(half[0], 0.5 * (light[0] + next[0]), 1e-14, 1.0);
        check_close(half[1], 0.5 * (light[1] + next[1]), 1e-14, 1.0);
    }
    bb_index last = scan->field_count - 1;
    bb_hood_centre(&scene.hood, last, 0.034, c);
    bb_hood_centre(&scene.hood, last, 0.060, next);
    assert_true(c[0] == next[0] && c[1] == next[1]);
}

TEST(limits_the_step)
{
    bb_thermal *covered = NULL;
    const double capacity = 2330.0 * 712.0 * 775e-6;
    const bb_thermal_setting setting = {.hood_exchange = 4e4};
    bb_hood_config strong = HOOD;
    strong.exchange_w_per_m2_k = 4e4;
    autoptr(bb_disc_mesh) mesh = disc_mesh(0.020, 0.0005);
    autoptr(bb_thermal) bare = new_object(bb_thermal, mesh, &SILICON, &CLAMP, BB_CLAMP_LAYER, 1e-3);
    check_ok(
        bb_thermal_create_in(mesh, &SILICON, &CLAMP, BB_CLAMP_LAYER, 1e-3, &setting, &covered));
    check_relative(2.0 / covered->stable_step - 2.0 / bare->stable_step, 4e4 / capacity, 1e-10);
    check_relative(1.0 / covered->positive_step - 1.0 / bare->positive_step, 4e4 / capacity, 1e-10);
    check_relative(bb_thermal_wafer_limit(&SILICON, &CLAMP, &strong, 0.0005), covered->stable_step,
                   1e-12);
    // The hood is not part of A.
    assert_memory_equal(covered->step_matrix.value, bare->step_matrix.value,
                        (size_t)bb_csr_nonzeros(&bare->step_matrix) * sizeof(double));
    bb_thermal_destroy(&covered);
    check_fails(
        bb_thermal_create_in(mesh, &SILICON, &CLAMP, BB_CLAMP_LAYER,
                             1.001 * bb_thermal_wafer_limit(&SILICON, &CLAMP, &strong, 0.0005),
                             &setting, &covered),
        BB_INVALID, "explicit steps are unstable");
}
