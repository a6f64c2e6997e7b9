// SPDX-License-Identifier: Apache-2.0
//
// The whole chain as a driver runs it, in fp64: mesh, heat, scan, exposure, restriction, response,
// dwell, overlay; and every allocation of it failing in turn.
#include "core/memory.h"
#include "physics/wafer/heat/exposure.h"
#include "physics/wafer/heat/thermal.h"
#include "physics/wafer/overlay/dwell.h"
#include "physics/wafer/overlay/overlay.h"
#include "physics/wafer/response/response.h"
#include "tests/physics/wafer/wafer_defaults.h"

static const bb_metrology_config POINTS = {.columns = 13, .rows = 19};

typedef struct chain {
    bb_disc_mesh *mesh;
    bb_thermal *thermal;
    bb_scan *scan;
    bb_temperature_grid *grid;
    bb_response *response;
    bb_slit_grid slit;
    double *t;    // state at the start of a step
    double *next; // and at its end
    double *s;    // [2][cells] temperatures on S at both ends of the step
    double *rows; // [field points][cells] of one axis
} chain;

static void destroy(chain *links)
{
    BB_RELEASE(&links->t);
    BB_RELEASE(&links->next);
    BB_RELEASE(&links->s);
    BB_RELEASE(&links->rows);
    bb_response_destroy(&links->response);
    bb_temperature_grid_destroy(&links->grid);
    bb_scan_destroy(&links->scan);
    bb_thermal_destroy(&links->thermal);
    bb_disc_mesh_destroy(&links->mesh);
}

static bb_status create(double spacing, bb_grid_config cells, bb_grid_config points, chain *links)
{
    bb_status status = BB_OK;
    bb_response_config config = {
        .grid = cells, .slit_points = points, .field_rows = BB_INTEGER_UNSET};
    *links = (chain){0};
    BB_TRY(bb_disc_mesh_create(0.150, spacing, &links->mesh));
    BB_TRY(bb_thermal_create(links->mesh, &SILICON, &CLAMP, BB_CLAMP_LAYER, 1e-3, &links->thermal));
    BB_TRY(bb_scan_create(&FAST_SCAN, 1e-3, &links->scan));
    BB_TRY(bb_temperature_grid_create(links->mesh, &cells, &links->grid));
    BB_TRY(bb_response_create(&SILICON, &CLAMP, links->grid, &links->response));
    BB_TRY(bb_slit_grid_make(&config, links->scan, &links->slit));
    BB_TRY(BB_ZEROED(links->thermal->size, &links->t));
    BB_TRY(BB_ZEROED(links->thermal->size, &links->next));
    BB_TRY(BB_ZEROED(2 * links->grid->cell_count, &links->s));
    BB_TRY(BB_ALLOCATE(links->slit.field_points * links->grid->cell_count, &links->rows));
done:
    if (status != BB_OK) {
        destroy(links);
    }
    return status;
}

// Displacements of the window for the mean of the temperatures at both ends of a step.
static void multiply_window(const chain *links, bb_index offset, double *window)
{
    bb_index cells = links->grid->cell_count;
    const double *rows = links->rows + offset * links->slit.columns * cells;
    for (bb_index p = 0; p < links->slit.window_points; ++p) {
        double sum = 0.0;
        for (bb_index j = 0; j < cells; ++j) {
            sum += rows[p * cells + j] * 0.5 * (links->s[j] + links->s[cells + j]);
        }
        window[p] = sum;
    }
}

// One field: 34 light and 36 dark steps; feeds the dwell unless NULL.
static bb_status run_field(chain *links, bb_index index, bb_dwell *dwell)
{
    bb_status status = BB_OK;
    autoptr(bb_exposure) exposure = NULL;
    autofree double *energy = NULL;
    autofree double *window = NULL;
    bb_index cells = links->grid->cell_count;
    BB_TRY(bb_exposure_create(links->mesh, links->scan, index, SILICON.absorption, &exposure));
    BB_TRY(BB_ALLOCATE(exposure->count, &energy));
    BB_TRY(BB_ALLOCATE(links->slit.window_points, &window));
    for (bb_index step = 0; step < links->scan->light_steps + links->scan->dark_steps; ++step) {
        bool light = step < links->scan->light_steps;
        BB_TRY(bb_csr_multiply(&links->thermal->step_matrix, links->t, links->next));
        if (light) {
            (void)bb_exposure_deposit(exposure, step, links->thermal->per_joule, energy,
                                      links->next);
        }
        if (light && dwell != NULL) {
            BB_TRY(bb_csr_multiply(&links->grid->restriction, links->t, links->s));
            BB_TRY(bb_csr_multiply(&links->grid->restriction, links->next, links->s + cells));
            multiply_window(links, bb_slit_grid_offset(&links->slit, &exposure->field, step),
                            window);
            bb_dwell_add(dwell, step, window);
        }
        double *swap = links->t;
        links->t = links->next;
        links->next = swap;
    }
done:
    return status;
}

// Scores field 45 after 39 .. 44 have heated the wafer; mean and dwell per axis.
static void score(chain *links, bb_dwell *dwell[2])
{
    const bb_field *field = &links->scan->fields[45];
    for (int axis = 0; axis < 2; ++axis) {
        bb_field_response response;
        check_ok(bb_field_response_make(links->response, &links->slit, field, axis, &response));
        check_ok(bb_matrix_source_fill(
            &response.source, 0, 0,
            bb_view_matrix(links->rows, links->slit.field_points, links->grid->cell_count)));
        check_ok(bb_dwell_create(&links->slit, field, &POINTS, &dwell[axis]));
        check_ok(bb_dwell_list(dwell[axis]));
        memset(links->t, 0, (size_t)links->thermal->size * sizeof *links->t);
        for (bb_index i = 39; i < 46; ++i) {
            check_ok(run_field(links, i, i == 45 ? dwell[axis] : NULL));
        }
    }
}

// docs/manual/physics-wafer.md 1.5: raw |mean| + 3 sigma of 10 to 13 nm per axis over a wafer,
// about 2 nm after six parameters per field. One field late in a row is within a factor of that.
TEST_FULL(a_field_has_the_expected_overlay)
{
    autocall(destroy) chain links;
    bb_dwell *dwell[2] = {NULL};
    check_ok(create(0.001, (bb_grid_config){128, 125}, (bb_grid_config){11, 9}, &links));
    score(&links, dwell);
    bb_overlay_statistics raw;
    bb_overlay_statistics corrected;
    bb_overlay_fit fit;
    double residual[2][13 * 19];
    bb_overlay_points points = {.count = dwell[0]->count,
                                .x = dwell[0]->x,
                                .y = dwell[0]->y,
                                .dx = dwell[0]->mean,
                                .dy = dwell[1]->mean};
    check_ok(bb_overlay_statistics_of(points.count, points.dx, points.dy, &raw));
    check_ok(bb_overlay_fit_model(BB_OVERLAY_WAFER_6, &points, &fit, residual[0], residual[1]));
    check_ok(bb_overlay_statistics_of(points.count, residual[0], residual[1], &corrected));
    print_message("raw m3s %.2f, %.2f nm; corrected %.2f, %.2f nm; mean %.2f, %.2f nm\n", raw.x.m3s,
                  raw.y.m3s, corrected.x.m3s, corrected.y.m3s, raw.x.mean, raw.y.mean);
    assert_true(raw.x.m3s > 2.0 && raw.x.m3s < 25.0 && raw.y.m3s > 2.0 && raw.y.m3s < 25.0);
    assert_true(corrected.x.m3s < 0.6 * raw.x.m3s && corrected.x.m3s < 5.0);
    for (int axis = 0; axis < 2; ++axis) {
        for (bb_index i = 0; i < dwell[axis]->count; ++i) {
            check_close(dwell[axis]->weight[i], 1.0, 1e-12, 1.0);
        }
        bb_dwell_destroy(&dwell[axis]);
    }
}

TEST(every_allocation_may_fail)
{
    bb_grid_config cells = {20, 20};
    bb_grid_config points = {5, 9};
    failing_allocation walk = {0};
    bb_status status = BB_OK;
    while (fail_next(&walk, status)) {
        chain links;
        status = create(0.003, cells, points, &links);
        if (status == BB_OK) {
            status = run_field(&links, 44, NULL);
            destroy(&links);
        }
    }
    assert_true(walk.k > 30);
}
