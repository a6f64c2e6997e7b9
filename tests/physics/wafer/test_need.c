// SPDX-License-Identifier: Apache-2.0
//
// Need estimates of wafer's modules against actual use, on small cases, with one thread and with
// three. CHOLMOD allocates and counts the factor itself: its own peak is compared with the need,
// too.
#include "physics/wafer/heat/clamp_grid.h"
#include "physics/wafer/heat/heat_sizes.h"
#include "physics/wafer/wafer_problem.h"
#include "tests/need.h"
#include "tests/physics/wafer/wafer_defaults.h"

static const double spacing = 3e-3;
static const bb_grid_config grid_config = {50, 48};
static const bb_mesh_config mesh_config = {
    .spacing_mm = 3.0, .step_ms = 1.0, .substeps = 1, .stepping = BB_STEPPING_CRANK_NICOLSON};

typedef struct scene {
    bb_disc_mesh *mesh;
    bb_clamp_config clamp;
    double nodes, threads;
} scene;

static void enter(scene *s, bb_index threads)
{
    check_ok(bb_threads_set(threads));
    *s = (scene){.clamp = CLAMP, .threads = (double)threads};
    s->clamp.spacing_mm = 6.0;
    need_start();
    check_ok(bb_disc_mesh_create(0.150, spacing, &s->mesh));
    need_stop();
    s->nodes = (double)s->mesh->node_count;
    need_hold("disc_mesh", bb_disc_mesh_need(s->nodes), NEED_LOOSENESS);
}

static void leave(scene *s)
{
    bb_disc_mesh_destroy(&s->mesh);
    bb_threads_stop();
}

static void hold_heat(const scene *s, int through)
{
    autoptr(bb_thermal) thermal = NULL;
    bb_mesh_config config = mesh_config;
    config.through_thickness = through;
    const double ratio = s->clamp.spacing_mm / config.spacing_mm;
    need_start();
    bb_clamp_grid *grid = new_object(bb_clamp_grid, s->mesh, 1e-3 * s->clamp.spacing_mm);
    need_stop();
    need_hold("clamp_grid", bb_clamp_grid_need(s->nodes, ratio), NEED_LOOSENESS);
    need_stop_held();
    need_hold("clamp_grid, held", bb_clamp_grid_resident(s->nodes, ratio), NEED_LOOSENESS);
    bb_clamp_grid_destroy(&grid);
    const bb_thermal_setting setting = {.stepping = config.stepping, .through_thickness = through};
    need_start();
    check_ok(bb_thermal_create_in(s->mesh, &SILICON, &s->clamp, BB_CLAMP_LAYER, 1e-3, &setting,
                                  &thermal));
    need_stop();
    need_hold("thermal", bb_thermal_need(&SILICON, &config, &s->clamp, NULL), NEED_LOOSENESS);
    need_stop_held();
    need_hold("thermal, held", bb_thermal_resident(&SILICON, &config, &s->clamp, NULL),
              NEED_LOOSENESS);
}

static void hold_kernel(const scene *s, const bb_temperature_grid *grid)
{
    need_start();
    autoptr(bb_response) response = new_object(bb_response, &SILICON, &s->clamp, grid);
    need_stop();
    need_hold("response", bb_response_need(&SILICON, &s->clamp, &grid_config, 0.150),
              NEED_LOOSENESS);
}

// CHOLMOD's part is at least the values of the factor.
static void hold_membrane(const scene *s, const bb_temperature_grid *grid, const bb_slit_grid *slit)
{
    bb_fem_response rows;
    need_start();
    autoptr(bb_membrane) membrane = new_object(bb_membrane, s->mesh, &SILICON, &s->clamp);
    need_stop();
    need_peak += 8 * (size_t)bb_membrane_factor_values(membrane);
    need_hold("membrane", bb_membrane_need(s->nodes), NEED_LOOSENESS);
    need_stop_held();
    need_peak += 8 * (size_t)bb_membrane_factor_values(membrane);
    need_hold("membrane, held", bb_membrane_resident(s->nodes), NEED_LOOSENESS);
    const bb_field field = {0};
    check_ok(bb_fem_response_make(s->mesh, membrane, grid, slit, &field, BB_AXIS_X, &rows));
    autofree double *values = doubles(rows.source.rows * rows.source.columns);
    need_start();
    check_ok(bb_matrix_source_load(&rows.source, values));
    need_stop();
    need_hold("membrane_rows",
              bb_membrane_rows_need(s->nodes, (double)rows.source.rows, s->threads),
              NEED_LOOSENESS);
}

static void hold_plate(const scene *s, const bb_temperature_grid *grid, const bb_slit_grid *slit)
{
    const bb_index modes = 2;
    const bb_plate plate = bb_plate_make(&SILICON, &s->clamp);
    bb_plate_response rows;
    need_start();
    autoptr(bb_coupled_plate) coupled = new_object(bb_coupled_plate, s->mesh, &plate, NULL, NULL);
    need_stop();
    need_peak += (size_t)bb_plate_factor_peak_bytes(coupled->factor);
    need_hold("coupled_plate", bb_coupled_plate_need(s->nodes), NEED_LOOSENESS);
    need_stop_held();
    need_peak += 8 * (size_t)bb_plate_factor_supernodes(coupled->factor)->value_count;
    need_hold("coupled_plate, held", bb_coupled_plate_resident(s->nodes), NEED_LOOSENESS);
    const bb_field field = {0};
    bb_plate_response_make(coupled, grid, slit, &field, BB_AXIS_Z, modes, &rows);
    autofree double *values = doubles(rows.source.rows * rows.source.columns);
    need_start();
    check_ok(bb_matrix_source_load(&rows.source, values));
    need_stop();
    need_hold("plate_response",
              bb_plate_response_need(s->nodes, (double)modes, (double)rows.source.rows, s->threads),
              NEED_LOOSENESS);
}

static void hold_response(const scene *s)
{
    const bb_response_config config = {.slit_points = {5, 9}, .field_rows = BB_INTEGER_UNSET};
    const bb_metrology_config metrology = {.columns = 13, .rows = 11};
    bb_slit_grid slit;
    autoptr(bb_scan) scan = fast_scan();
    check_ok(bb_slit_grid_make(&config, scan, &slit));
    need_start();
    autoptr(bb_temperature_grid) grid = new_object(bb_temperature_grid, s->mesh, &grid_config);
    need_stop();
    need_hold("temperature_grid", bb_temperature_grid_need(&grid_config, s->nodes, spacing, 0.150),
              NEED_LOOSENESS);
    need_stop_held();
    need_hold("temperature_grid, held",
              bb_temperature_grid_resident(&grid_config, s->nodes, spacing, 0.150), NEED_LOOSENESS);
    need_start();
    bb_dwell *dwell = new_object(bb_dwell, &slit, &scan->fields[45], &metrology);
    check_ok(bb_dwell_list(dwell));
    need_stop();
    need_hold("dwell", bb_dwell_need(&metrology, &FAST_SCAN), NEED_LOOSENESS);
    bb_dwell_destroy(&dwell);
    hold_kernel(s, grid);
    hold_membrane(s, grid, &slit);
    hold_plate(s, grid, &slit);
}

TEST_FULL(needs_cover_what_is_taken)
{
    for (bb_index threads = 1; threads <= 3; threads += 2) {
        autocall(leave) scene s;
        enter(&s, threads);
        hold_heat(&s, BB_THROUGH_MEAN);
        hold_heat(&s, BB_THROUGH_TWO_MODE);
        hold_response(&s);
    }
}
