// SPDX-License-Identifier: Apache-2.0
//
// Probes are bilinear in the mesh of their layer, at any position on the disc; others are rejected.
#include "core/memory.h"
#include "physics/wafer/wafer_problem.h"
#include "tests/physics/wafer/wafer_defaults.h"

static const double RADIUS = 0.030;
static const double PITCH = 0.0037; // of the clamp: not a multiple of the mesh's

typedef struct stand {
    bb_disc_mesh *mesh;
    bb_thermal *thermal;
    double *field; // of a state
} stand;

static double plane(double x, double y)
{
    return 2.0 + 30.0 * x - 50.0 * y;
}

// A plane over the wafer.
static void make(stand *out)
{
    bb_wafer_material_config small = SILICON;
    bb_clamp_config clamp = CLAMP;
    small.diameter_mm = 60.0;
    clamp.spacing_mm = 1e3 * PITCH;
    check_ok(bb_disc_mesh_create(RADIUS, 0.001, &out->mesh));
    check_ok(bb_thermal_create(out->mesh, &small, &clamp, BB_CLAMP_LAYER, 1e-3, &out->thermal));
    check_ok(BB_ZEROED(out->thermal->size, &out->field));
    for (bb_index i = 0; i < out->mesh->node_count; ++i) {
        out->field[i] = plane(bb_disc_mesh_x(out->mesh, i), bb_disc_mesh_y(out->mesh, i));
    }
}

static void drop(stand *bench)
{
    BB_RELEASE(&bench->field);
    bb_thermal_destroy(&bench->thermal);
    bb_disc_mesh_destroy(&bench->mesh);
}

TEST(planes_are_read_exactly)
{
    autocall(drop) stand bench;
    make(&bench);
    static const double places[][2] = {{0.0, 0.0},  {1.0, 2.0},     {-7.31, 11.77},
                                       {29.2, 3.3}, {-20.0, -21.5}, {0.5, -29.0}};
    for (size_t p = 0; p < sizeof places / sizeof *places; ++p) {
        const bb_probe_config config = {"p", places[p][0], places[p][1], BB_PROBE_WAFER};
        autofree bb_probe *probe = NULL;
        check_ok(bb_probes_create(&config, 1, bench.mesh, RADIUS, PITCH, &probe));
        check_relative(bb_probe_rise(probe, bench.field),
                       plane(1e-3 * places[p][0], 1e-3 * places[p][1]), 1e-13);
    }
}

// Each node of the clamp has the value (i, j) times its pitch: the weights reproduce a probe's
// position.
TEST(clamp_probes_stand_where_they_are_put)
{
    autocall(drop) stand bench;
    make(&bench);
    const bb_probe_config configs[] = {{"middle", 0.0, 0.0, BB_PROBE_CLAMP},
                                       {"node", 2e3 * PITCH, -3e3 * PITCH, BB_PROBE_CLAMP},
                                       {"between", 2.5e3 * PITCH, -3.25e3 * PITCH, BB_PROBE_CLAMP}};
    autofree bb_probe *probes = NULL;
    check_ok(bb_probes_create(configs, 3, bench.mesh, RADIUS, PITCH, &probes));
    static const double heaviest[] = {1.0, 1.0, 0.375};
    for (int p = 0; p < 3; ++p) {
        double sum = 0.0;
        double maximum = 0.0;
        for (int k = 0; k < 4; ++k) {
            assert_true(probes[p].unknown[k] >= bench.thermal->node_count &&
                        probes[p].unknown[k] < bench.thermal->size);
            sum += probes[p].weight[k];
            maximum = fmax(maximum, probes[p].weight[k]);
        }
        check_relative(sum, 1.0, 1e-14);
        check_relative(maximum, heaviest[p], 1e-9);
    }
}

TEST(the_rim_is_moved_on_to_the_mesh)
{
    autocall(drop) stand bench;
    make(&bench);
    for (int k = 0; k < 64; ++k) {
        const double turn = 2.0 * M_PI * k / 64.0;
        const bb_probe_config config = {"rim", 30.0 * (1.0 - 1e-12) * cos(turn),
                                        30.0 * (1.0 - 1e-12) * sin(turn), k % 2};
        autofree bb_probe *probe = NULL;
        check_ok(bb_probes_create(&config, 1, bench.mesh, RADIUS, PITCH, &probe));
        if (k % 2 == 0) {
            check_close(bb_probe_rise(probe, bench.field),
                        plane(1e-3 * config.x_mm, 1e-3 * config.y_mm), 0.1, 1.0);
        }
    }
}

TEST(points_off_the_disc_and_bad_names_are_refused)
{
    autocall(drop) stand bench;
    make(&bench);
    bb_probe *probe = NULL;
    const bb_probe_config out = {"out", 30.1, 0.0, BB_PROBE_WAFER};
    check_fails(bb_probes_create(&out, 1, bench.mesh, RADIUS, PITCH, &probe), BB_INVALID,
                "probe 'out' at (30.1, 0) mm: expected within 30 mm of the centre");
    const bb_probe_config twice[] = {{"a", 0.0, 0.0, BB_PROBE_WAFER},
                                     {"a", 1.0, 0.0, BB_PROBE_CLAMP}};
    check_fails(bb_probes_create(twice, 2, bench.mesh, RADIUS, PITCH, &probe), BB_INVALID,
                "probe 'a': probe 0 has the same name");
    static const char *const names[] = {
        "", "1e5", "a b", "a,b", "a/b", "\xc3\xa9", "a0123456789012345678901234567890123456789"};
    for (size_t n = 0; n < sizeof names / sizeof *names; ++n) {
        const bb_probe_config bad = {names[n], 0.0, 0.0, BB_PROBE_WAFER};
        check_fails(bb_probes_create(&bad, 1, bench.mesh, RADIUS, PITCH, &probe), BB_INVALID,
                    "expected 1 to 40 letters, digits and _, a letter first");
    }
    assert_null(probe);
}
