// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/wafer_problem.h"

#include "core/memory.h"
#include "core/thread.h"
#include "physics/wafer/heat/burl_map.h"
#include "physics/wafer/heat/clamp_grid.h"
#include "physics/wafer/heat/heat_sizes.h"

#include <math.h>
#include <string.h>

static bb_status check_name(const bb_probe_config *configs, bb_index index)
{
    bb_status status = BB_OK;
    const char *name = configs[index].name;
    BB_REQUIRE(bb_probe_config_name_valid(name), BB_INVALID,
               "probe '%s': expected 1 to %d letters, digits and _, a letter first", name,
               BB_PROBE_NAME);
    for (bb_index i = 0; i < index; ++i) {
        BB_REQUIRE(strcmp(configs[i].name, name) != 0, BB_INVALID,
                   "probe '%s': probe %td has the same name", name, i);
    }
done:
    return status;
}

static void place_in_wafer(const bb_disc_mesh *mesh, double x, double y, bb_probe *probe)
{
    const bb_index cell = bb_disc_mesh_nearest(mesh, &x, &y);
    const int32_t *corner = mesh->cell_nodes + 4 * cell;
    const double across =
        fmin(fmax((x - bb_disc_mesh_x(mesh, corner[0])) / mesh->spacing, 0.0), 1.0);
    const double up = fmin(fmax((y - bb_disc_mesh_y(mesh, corner[0])) / mesh->spacing, 0.0), 1.0);
    const double weight[4] = {(1.0 - across) * (1.0 - up), across * (1.0 - up), across * up,
                              (1.0 - across) * up};
    for (int k = 0; k < 4; ++k) {
        probe->unknown[k] = corner[k];
        probe->weight[k] = weight[k];
    }
}

// Clamp cells cover the wafer's, so that a point in a wafer cell is in one of them.
static bb_status place_in_clamp(const bb_disc_mesh *mesh, const bb_clamp_grid *grid, double x,
                                double y, bb_probe *probe)
{
    bb_status status = BB_OK;
    (void)bb_disc_mesh_nearest(mesh, &x, &y);
    BB_REQUIRE(bb_clamp_grid_weights(grid, x, y, probe->unknown, probe->weight), BB_INTERNAL,
               "probe '%s' is outside all clamp cells", probe->config->name);
    for (int k = 0; k < 4; ++k) {
        probe->unknown[k] += mesh->node_count;
    }
done:
    return status;
}

bb_status bb_probes_create(const bb_probe_config *configs, bb_index count, const bb_disc_mesh *mesh,
                           double radius, double clamp_spacing, bb_probe **out)
{
    bb_status status = BB_OK;
    bb_clamp_grid *grid = NULL;
    bb_probe *probes = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(count, &probes));
    for (bb_index i = 0; i < count; ++i) {
        const double x = 1e-3 * configs[i].x_mm;
        const double y = 1e-3 * configs[i].y_mm;
        BB_TRY(check_name(configs, i));
        BB_REQUIRE(hypot(x, y) <= radius, BB_INVALID,
                   "probe '%s' at (%g, %g) mm: expected within %g mm of the centre",
                   configs[i].name, configs[i].x_mm, configs[i].y_mm, 1e3 * radius);
        probes[i].config = &configs[i];
        if (configs[i].layer == (int)BB_PROBE_WAFER) {
            place_in_wafer(mesh, x, y, &probes[i]);
            continue;
        }
        if (grid == NULL) {
            BB_TRY(bb_clamp_grid_create(mesh, clamp_spacing, &grid));
        }
        BB_TRY(place_in_clamp(mesh, grid, x, y, &probes[i]));
    }
    *out = probes;
    probes = NULL;
done:
    bb_clamp_grid_destroy(&grid);
    BB_RELEASE(&probes);
    return status;
}

double bb_probe_rise(const bb_probe *probe, const double *state)
{
    double rise = 0.0;
    for (int k = 0; k < 4; ++k) {
        rise += probe->weight[k] * state[probe->unknown[k]];
    }
    return rise;
}

static bb_status list_scored(const bb_scan_config *config, bb_wafer_problem *problem)
{
    bb_status status = BB_OK;
    bool all = config->fields.count == BB_LIST_ALL;
    const bb_index *wanted = config->fields.items;
    bb_index count = all ? problem->scan->field_count : config->fields.count;
    BB_TRY(BB_ALLOCATE(count, &problem->scored));
    for (bb_index i = 0; i < count; ++i) {
        problem->scored[i] = all ? i : wanted[i];
        BB_REQUIRE(i == 0 || problem->scored[i] > problem->scored[i - 1], BB_INVALID,
                   "scan.fields: %td after %td, expected ascending order", problem->scored[i],
                   problem->scored[i - 1]);
    }
    problem->scored_count = count;
done:
    return status;
}

static double step_of(const bb_wafer_config *config)
{
    return 1e-3 * config->mesh->step_ms;
}

// Creates fields, slit points and sizes of the matrices.
static bb_status lay_out(const bb_wafer_config *config, bb_wafer_problem *problem)
{
    bb_status status = BB_OK;
    const bb_response_config *response = config->response;
    // Other generators have no bending for a thermal moment to act on.
    const bool has_moment = response->generator == (int)BB_GENERATOR_PLATE ||
                            response->generator == (int)BB_GENERATOR_FILE;
    const bool two_mode = config->mesh->through_thickness == (int)BB_THROUGH_TWO_MODE;
    BB_TRY(bb_scan_create(config->scan, step_of(config), &problem->scan));
    BB_TRY(list_scored(config->scan, problem));
    BB_TRY(bb_slit_grid_make(response, problem->scan, &problem->slit));
    BB_TRY(bb_slit_grid_fit_window(response, config->metrology, &problem->slit));
    problem->input_blocks = two_mode && has_moment ? 2 : 1;
    problem->input_count = problem->input_blocks * response->grid.columns * response->grid.rows;
done:
    return status;
}

// Creates mesh, clamp grid, ring and hood for a thermal model; `problem` has its scan.
static bb_status build_places(const bb_wafer_config *config, bb_wafer_problem *problem,
                              bb_thermal_setting *out)
{
    bb_status status = BB_OK;
    double radius = 0.5e-3 * config->wafer->diameter_mm;
    BB_TRY(bb_disc_mesh_create(radius, 1e-3 * config->mesh->spacing_mm, &problem->mesh));
    problem->substeps = config->mesh->substeps;
    problem->stepping = config->mesh->stepping;
    if (bb_hood_wanted(config->hood)) {
        problem->hood = bb_hood_make(problem->mesh, problem->scan, config->hood);
    }
    if (bb_edge_ring_wanted(config->ring)) {
        BB_TRY(bb_edge_ring_create(problem->mesh, config->wafer, config->ring, &problem->ring));
    }
    *out = (bb_thermal_setting){problem->ring, problem->hood.exchange, problem->stepping,
                                config->mesh->through_thickness};
done:
    return status;
}

static bb_status build_heat(const bb_wafer_config *config, bb_wafer_problem *problem)
{
    bb_status status = BB_OK;
    const double step = step_of(config);
    bb_thermal_setting setting;
    BB_TRY(build_places(config, problem, &setting));
    BB_TRY(bb_thermal_create_in(problem->mesh, config->wafer, config->clamp, BB_CLAMP_LAYER,
                                step / (double)problem->substeps, &setting, &problem->thermal));
    problem->absorption = config->wafer->absorption;
    problem->wafer_count = config->lot == NULL ? 1 : config->lot->count;
    problem->scored_wafers =
        config->lot != NULL && config->lot->scored == (int)BB_LOT_ALL ? problem->wafer_count : 1;
    problem->arrival_rise = config->lot == NULL ? 0.0 : config->lot->arrival_rise_k;
    problem->stress_free =
        config->lot != NULL && config->lot->stress_free == (int)BB_STRESS_FREE_ARRIVAL
            ? problem->arrival_rise
            : 0.0;
    if (config->metrology != NULL) {
        problem->reference = config->metrology->reference;
        problem->rest_steps = (bb_index)llround(config->metrology->alignment_s / step);
    }
    if (problem->wafer_count > 1) {
        BB_TRY(bb_bare_clamp_create(problem->thermal, config->lot->exchange_s, &problem->bare));
    }
done:
    return status;
}

// Computes the factors on the springs of each cell. If all are zero, the stiffness is singular.
static bb_status fill_springs(const bb_burl_config *burls, const bb_disc_mesh *mesh,
                              double *springs)
{
    bb_status status = BB_OK;
    bool held = false;
    BB_TRY(bb_burl_map_fill(burls, mesh, springs));
    for (bb_index cell = 0; cell < mesh->cell_count && !held; ++cell) {
        held = springs[cell] > 0.0;
    }
    BB_REQUIRE(held, BB_INVALID,
               "clamp.burls: all burls under the wafer are missing, expected one or more");
done:
    return status;
}

static bb_status build_plate(const bb_wafer_config *config, bb_wafer_problem *problem)
{
    bb_status status = BB_OK;
    double *springs = NULL;
    bb_plate plate = bb_plate_make(config->wafer, config->clamp);
    bb_burl_config burls = config->clamp->burls;
    burls.scatter = burls.scatter > 0.0 ? burls.scatter : config->response->burl_stiffness_scatter;
    if (bb_burl_map_wanted(&burls)) {
        BB_TRY(BB_ALLOCATE(problem->mesh->cell_count, &springs));
        BB_TRY(fill_springs(&burls, problem->mesh, springs));
    }
    BB_TRY(bb_coupled_plate_create(problem->mesh, &plate, springs, config->response->cache_folder,
                                   &problem->plate));
done:
    BB_RELEASE(&springs);
    return status;
}

static bool has_height(const bb_response_config *config)
{
    const int *axes = config->axes.items;
    bool found = false;
    for (bb_index i = 0; i < config->axes.count; ++i) {
        found = found || axes[i] == (int)BB_AXIS_Z;
    }
    return found;
}

// Returns whether rows come from the closed-form kernel.
static bool has_kernel(const bb_response_config *config)
{
    return config->generator == (int)BB_GENERATOR_KERNEL ||
           (config->generator == (int)BB_GENERATOR_FEM && has_height(config));
}

// Creates the factor of the finite elements and the tables of the closed-form kernel.
static bb_status build_response(const bb_wafer_config *config, bb_wafer_problem *problem)
{
    bb_status status = BB_OK;
    bool plate = config->response->generator == (int)BB_GENERATOR_PLATE;
    BB_REQUIRE(plate || !bb_burl_map_wanted(&config->clamp->burls), BB_UNSUPPORTED,
               "clamp.burls: only response.generator: plate supports burls");
    if (plate) {
        BB_TRY(build_plate(config, problem));
    } else if (config->response->generator == (int)BB_GENERATOR_FEM) {
        BB_TRY(bb_membrane_create(problem->mesh, config->wafer, config->clamp, &problem->membrane));
    }
    if (has_kernel(config->response)) {
        BB_TRY(bb_response_create(config->wafer, config->clamp, problem->grid, &problem->response));
    }
done:
    return status;
}

static bb_status list_dwell(void *context, bb_index index)
{
    const bb_wafer_problem *problem = context;
    return bb_dwell_list(problem->dwells[index]);
}

static bb_status build_metrology(const bb_wafer_config *config, bb_wafer_problem *problem)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ZEROED(problem->scored_count, &problem->dwells));
    for (bb_index i = 0; i < problem->scored_count; ++i) {
        BB_TRY(bb_dwell_create(&problem->slit, bb_wafer_problem_field(problem, i),
                               config->metrology, &problem->dwells[i]));
        problem->point_count += problem->dwells[i]->count;
    }
    BB_TRY(bb_thread_for(problem->scored_count, list_dwell, problem));
done:
    return status;
}

bb_status bb_wafer_problem_start(const bb_wafer_config *config, bb_wafer_problem **out)
{
    bb_status status = BB_OK;
    bb_wafer_problem *problem = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &problem));
    BB_TRY(lay_out(config, problem));
    BB_TRY(build_heat(config, problem));
    if (config->probes != NULL) {
        problem->probe_count = config->probes->count;
        BB_TRY(bb_probes_create(config->probes->items, problem->probe_count, problem->mesh,
                                0.5e-3 * config->wafer->diameter_mm,
                                1e-3 * config->clamp->spacing_mm, &problem->probes));
    }
    BB_TRY(bb_temperature_grid_create(problem->mesh, &config->response->grid, &problem->grid));
    BB_TRY(build_metrology(config, problem));
    *out = problem;
    problem = NULL;
done:
    bb_wafer_problem_destroy(&problem);
    return status;
}

bb_status bb_wafer_problem_finish(const bb_wafer_config *config, bb_wafer_problem *problem)
{
    return build_response(config, problem);
}

bb_status bb_wafer_problem_create(const bb_wafer_config *config, bb_wafer_problem **out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_wafer_problem_start(config, out));
    status = bb_wafer_problem_finish(config, *out);
    if (status != BB_OK) {
        bb_wafer_problem_destroy(out);
    }
done:
    return status;
}

bb_status bb_wafer_problem_create_heat(const bb_wafer_config *config, bb_wafer_problem **out)
{
    bb_status status = BB_OK;
    bb_wafer_problem *problem = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &problem));
    BB_TRY(bb_scan_create(config->scan, step_of(config), &problem->scan));
    BB_TRY(build_heat(config, problem));
    *out = problem;
    problem = NULL;
done:
    bb_wafer_problem_destroy(&problem);
    return status;
}

bb_status bb_wafer_problem_create_layout(const bb_wafer_config *config, bb_wafer_problem **out)
{
    bb_status status = BB_OK;
    bb_wafer_problem *problem = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &problem));
    BB_TRY(lay_out(config, problem));
    *out = problem;
    problem = NULL;
done:
    bb_wafer_problem_destroy(&problem);
    return status;
}

bb_status bb_wafer_problem_check_step(const bb_wafer_config *config)
{
    bb_status status = BB_OK;
    bb_wafer_problem *problem = NULL;
    const double step = step_of(config) / (double)config->mesh->substeps;
    const bool hood = bb_hood_wanted(config->hood);
    bb_thermal_setting setting = {
        .hood_exchange = hood ? config->hood->exchange_w_per_m2_k : 0.0,
        .stepping = config->mesh->stepping,
        .through_thickness = config->mesh->through_thickness,
    };
    // A fine mesh is expensive to create and rarely needed for this check.
    if (config->mesh->stepping != (int)BB_STEPPING_EXPLICIT ||
        (!bb_edge_ring_wanted(config->ring) &&
         step <= bb_thermal_sure_step(config->wafer, config->clamp, &setting,
                                      1e-3 * config->mesh->spacing_mm))) {
        return BB_OK;
    }
    BB_TRY(BB_ZEROED(1, &problem));
    BB_TRY(bb_scan_create(config->scan, step_of(config), &problem->scan));
    BB_TRY(build_places(config, problem, &setting));
    BB_TRY(bb_thermal_check_step(problem->mesh, config->wafer, config->clamp, BB_CLAMP_LAYER, step,
                                 &setting));
done:
    bb_wafer_problem_destroy(&problem);
    return status;
}

bb_status bb_wafer_problem_check_burls(const bb_wafer_config *config)
{
    bb_status status = BB_OK;
    const bb_burl_config *burls = &config->clamp->burls;
    bb_disc_mesh *mesh = NULL;
    double *springs = NULL;
    // The burl at the centre is under every wafer, unless it is missing.
    if (config->response->generator != (int)BB_GENERATOR_PLATE || !bb_burl_map_wanted(burls) ||
        (burls->missing_fraction == 0.0 && burls->missing.count == 0)) {
        return BB_OK;
    }
    BB_TRY(bb_disc_mesh_create(0.5e-3 * config->wafer->diameter_mm, 1e-3 * config->mesh->spacing_mm,
                               &mesh));
    BB_TRY(BB_ALLOCATE(mesh->cell_count, &springs));
    BB_TRY(fill_springs(burls, mesh, springs));
done:
    BB_RELEASE(&springs);
    bb_disc_mesh_destroy(&mesh);
    return status;
}

bb_status bb_wafer_problem_check_fields(const bb_wafer_config *config)
{
    bb_status status = BB_OK;
    const bb_grid_config *cells = &config->response->grid;
    bb_wafer_problem *problem = NULL;
    if (!has_kernel(config->response)) {
        goto done;
    }
    BB_TRY(bb_wafer_problem_create_layout(config, &problem));
    BB_TRY(bb_disc_mesh_create(0.5e-3 * config->wafer->diameter_mm, 1e-3 * config->mesh->spacing_mm,
                               &problem->mesh));
    const bb_disc_mesh *mesh = problem->mesh;
    const bb_temperature_grid grid = {
        .columns = cells->columns,
        .rows = cells->rows,
        .cell_width = mesh->spacing * (double)mesh->columns / (double)cells->columns,
        .cell_height = mesh->spacing * (double)mesh->rows / (double)cells->rows};
    for (bb_index i = 0; i < problem->scored_count; ++i) {
        BB_TRY(bb_response_check_field(&grid, &problem->slit, bb_wafer_problem_field(problem, i)));
    }
done:
    bb_wafer_problem_destroy(&problem);
    return status;
}

// Adds a step of the creation: its need while it runs, with everything that already exists, and its
// remaining memory.
static void add_step(bb_need step, bb_need stays, bb_need *making, bb_need *held)
{
    *making = bb_need_in_turn(*making, bb_need_together(*held, step));
    *held = bb_need_together(*held, bb_need_resident(stays));
}

static void add_response(const bb_wafer_config *config, double nodes, bb_need *making,
                         bb_need *held)
{
    const bb_response_config *response = config->response;
    const double radius = 0.5e-3 * config->wafer->diameter_mm;
    const double spacing = 1e-3 * config->mesh->spacing_mm;
    const bool membrane = response->generator == (int)BB_GENERATOR_FEM;
    const bool kernel =
        response->generator == (int)BB_GENERATOR_KERNEL || (membrane && has_height(response));
    add_step(bb_temperature_grid_need(&response->grid, nodes, spacing, radius),
             bb_temperature_grid_resident(&response->grid, nodes, spacing, radius), making, held);
    if (response->generator == (int)BB_GENERATOR_PLATE) {
        add_step(bb_coupled_plate_need(nodes), bb_coupled_plate_resident(nodes), making, held);
    } else if (membrane) {
        add_step(bb_membrane_need(nodes), bb_membrane_resident(nodes), making, held);
    }
    if (kernel) {
        const bb_need tables =
            bb_response_need(config->wafer, config->clamp, &response->grid, radius);
        add_step(tables, tables, making, held);
    }
}

void bb_wafer_problem_need(const bb_wafer_config *config, double scored, bb_need *making,
                           bb_need *held)
{
    const bb_heat_sizes sizes =
        bb_heat_sizes_of(config->wafer, config->mesh, config->clamp, config->ring);
    const bb_need meshes = bb_need_together(
        bb_disc_mesh_need(sizes.nodes),
        sizes.ring > 0.0 ? bb_disc_mesh_need(sizes.nodes + sizes.ring) : (bb_need){0});
    const bb_need dwells = bb_need_copies(bb_dwell_need(config->metrology, config->scan), scored);
    *making = *held = (bb_need){0};
    add_step(meshes, meshes, making, held);
    add_step(bb_thermal_need(config->wafer, config->mesh, config->clamp, config->ring),
             bb_thermal_resident(config->wafer, config->mesh, config->clamp, config->ring), making,
             held);
    add_response(config, sizes.nodes, making, held);
    add_step(dwells, dwells, making, held);
}

bb_need bb_wafer_problem_rows_need(const bb_wafer_config *config, int axis, double rows,
                                   double columns, double threads)
{
    const bb_heat_sizes sizes =
        bb_heat_sizes_of(config->wafer, config->mesh, config->clamp, config->ring);
    const bool two = config->mesh->through_thickness == (int)BB_THROUGH_TWO_MODE;
    switch (config->response->generator) {
    case BB_GENERATOR_PLATE:
        return bb_plate_response_need(sizes.nodes, two ? 2.0 : 1.0, rows, threads);
    case BB_GENERATOR_FEM:
        return axis == (int)BB_AXIS_Z ? bb_field_response_need(rows, columns, threads)
                                      : bb_membrane_rows_need(sizes.nodes, rows, threads);
    case BB_GENERATOR_KERNEL:
        return bb_field_response_need(rows, columns, threads);
    default:
        return (bb_need){0};
    }
}

void bb_wafer_problem_destroy(bb_wafer_problem **problem)
{
    bb_wafer_problem *wafer_problem = *problem;
    if (wafer_problem == NULL) {
        return;
    }
    for (bb_index i = 0; wafer_problem->dwells != NULL && i < wafer_problem->scored_count; ++i) {
        bb_dwell_destroy(&wafer_problem->dwells[i]);
    }
    BB_RELEASE(&wafer_problem->dwells);
    BB_RELEASE(&wafer_problem->scored);
    bb_response_destroy(&wafer_problem->response);
    bb_membrane_destroy(&wafer_problem->membrane);
    bb_coupled_plate_destroy(&wafer_problem->plate);
    bb_temperature_grid_destroy(&wafer_problem->grid);
    bb_scan_destroy(&wafer_problem->scan);
    BB_RELEASE(&wafer_problem->probes);
    bb_bare_clamp_destroy(&wafer_problem->bare);
    bb_thermal_destroy(&wafer_problem->thermal);
    bb_edge_ring_destroy(&wafer_problem->ring);
    bb_disc_mesh_destroy(&wafer_problem->mesh);
    BB_RELEASE(problem);
}

bb_status bb_wafer_problem_narrow(const bb_wafer_problem *problem, bb_operand_rounding round,
                                  bb_wafer_problem **out)
{
    bb_status status = BB_OK;
    bb_wafer_problem *narrow = NULL;
    *out = NULL;
    BB_TRY(BB_ALLOCATE(1, &narrow));
    *narrow = *problem;
    narrow->membrane = NULL;
    narrow->plate = NULL;
    narrow->response = NULL;
    if (problem->membrane != NULL) {
        BB_TRY(bb_membrane_narrow(problem->membrane, round, &narrow->membrane));
    }
    if (problem->plate != NULL) {
        BB_TRY(bb_coupled_plate_narrow(problem->plate, round, &narrow->plate));
    }
    if (problem->response != NULL) {
        BB_TRY(BB_ALLOCATE(1, &narrow->response));
        *narrow->response = *problem->response;
        narrow->response->single = true;
    }
    *out = narrow;
    narrow = NULL;
done:
    bb_wafer_problem_narrow_destroy(&narrow);
    return status;
}

void bb_wafer_problem_narrow_destroy(bb_wafer_problem **narrow)
{
    if (*narrow != NULL) {
        bb_membrane_narrow_destroy(&(*narrow)->membrane);
        bb_coupled_plate_narrow_destroy(&(*narrow)->plate);
        BB_RELEASE(&(*narrow)->response);
        BB_RELEASE(narrow);
    }
}

bb_need bb_wafer_problem_narrow_need(const bb_wafer_config *config)
{
    const double nodes =
        bb_heat_sizes_of(config->wafer, config->mesh, config->clamp, config->ring).nodes;
    bb_need factor = {0};
    if (config->response->generator == (int)BB_GENERATOR_PLATE) {
        factor = bb_coupled_plate_resident(nodes);
    } else if (config->response->generator == (int)BB_GENERATOR_FEM) {
        factor = bb_membrane_resident(nodes);
    }
    return (bb_need){.host_bytes = 0.5 * factor.host_bytes};
}

const bb_field *bb_wafer_problem_field(const bb_wafer_problem *problem, bb_index index)
{
    return &problem->scan->fields[problem->scored[index]];
}

bb_status bb_wafer_problem_rows(const bb_wafer_problem *problem, bb_index index, int axis,
                                bb_wafer_rows *out)
{
    bb_status status = BB_OK;
    const bb_field *field = bb_wafer_problem_field(problem, index);
    out->batch = BB_MEMBRANE_BATCH;
    BB_REQUIRE(problem->membrane != NULL || problem->response != NULL || problem->plate != NULL,
               BB_UNSUPPORTED, "rows of generator file come from the file");
    BB_REQUIRE(problem->plate != NULL || problem->response != NULL || axis != (int)BB_AXIS_Z,
               BB_UNSUPPORTED, "axis z is not among the study's response.axes");
    if (problem->plate != NULL) {
        out->batch = BB_PLATE_BATCH;
        bb_plate_response_make(problem->plate, problem->grid, &problem->slit, field, axis,
                               problem->input_blocks, &out->plate);
        out->source = &out->plate.source;
    } else if (problem->membrane != NULL && axis != (int)BB_AXIS_Z) {
        BB_TRY(bb_fem_response_make(problem->mesh, problem->membrane, problem->grid, &problem->slit,
                                    field, axis, &out->fem));
        out->source = &out->fem.source;
    } else {
        BB_TRY(
            bb_field_response_make(problem->response, &problem->slit, field, axis, &out->kernel));
        out->source = &out->kernel.source;
    }
done:
    return status;
}

bb_status bb_wafer_problem_restrict(const bb_wafer_problem *problem, const double *state,
                                    double *cells)
{
    bb_status status = BB_OK;
    BB_TRY(bb_csr_multiply(&problem->grid->restriction, state, cells));
    if (problem->input_blocks > 1) {
        BB_TRY(bb_csr_multiply(&problem->grid->restriction,
                               state + bb_thermal_tau_first(problem->thermal),
                               cells + problem->grid->cell_count));
    }
done:
    return status;
}
