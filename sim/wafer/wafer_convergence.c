// SPDX-License-Identifier: Apache-2.0
//
// Observed orders of the wafer's heat in space and time, for `bitbudget convergence`.
//
// Comparison with closed forms, for the study's material, spacings and an isothermal clamp:
//   cosine  cos(q x) cos(q y) on a periodic square, q = 2 pi / side, decays at 2 kappa q^2 + h_c/C.
//           Space: rate of the mesh. Time: against the decay of the mesh's own mode, without its
//           spatial error.
//   mode    J_1(j' r / R) cos theta on the study's disc decays at kappa j'^2/R^2 + h_c/C,
//           j' = 1.84118.
// Self-convergence of the study, which has no closed form:
//   field   The first full field of scan.fields (else the first) is exposed on a cold wafer with
//           clamp, hood and ring. Temperatures at the end of its light and dark steps are compared
//           with the next finer level: norm of the difference over that of the finest level, on the
//           finest mesh (bilinear interpolation). Three levels give an order (Richardson).
#include "core/log.h"
#include "core/memory.h"
#include "physics/wafer/heat/thermal.h"
#include "sim/wafer/wafer_experiment.h"
#include "sim/wafer/wafer_work.h"
#include "solvers/step/stepper.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MESHES = 4, STEPS = 5, LEVELS = STEPS };
enum { DECAYS = 4, CELLS = 24, DECAY_STEPS = 32 };
enum { MOST_ROWS = 64, NAME_BYTES = 64 };

// Results of one level.
typedef struct level_row {
    const char *study; // points to `name`, once the row is added
    double spacing_mm;
    double step_ms;
    double error; // relative error
    double order; // observed order from the previous level; NaN for the first
    char name[NAME_BYTES];
} level_row;

// Rows of the convergence table. Zero-initialise.
typedef struct level_table {
    bb_index count;
    level_row rows[MOST_ROWS];
} level_table;

static bb_status add_row(level_table *table, const level_row *row)
{
    bb_status status = BB_OK;
    BB_REQUIRE(table->count < MOST_ROWS, BB_INTERNAL, "more than %d levels", MOST_ROWS);
    level_row *added = &table->rows[table->count++];
    *added = *row;
    (void)snprintf(added->name, sizeof added->name, "%s", row->study);
    added->study = added->name;
done:
    return status;
}

static bb_status print_table(const level_table *table, bb_text *out)
{
    bb_status status = BB_OK;
    const char *last = "";
    BB_TRY(bb_text_add(out, "%-44s %12s %12s %12s %8s\n", "study", "spacing [mm]", "step [ms]",
                       "error", "order"));
    for (bb_index i = 0; i < table->count; ++i) {
        const level_row *row = &table->rows[i];
        bool first = strcmp(row->study, last) != 0;
        BB_TRY(bb_text_add(out, "%-44s %12.5g %12.5g %12.3e ", first ? row->study : "",
                           row->spacing_mm, row->step_ms, row->error));
        BB_TRY(isnan(row->order) ? bb_text_add(out, "%8s\n", "-")
                                 : bb_text_add(out, "%8.3f\n", row->order));
        last = row->study;
    }
done:
    return status;
}

static const bb_output rows[] = {
    {"level", "level", "1", "index of the level", .indices = true},
    {"study", "level", NULL, "refined and compared quantity",
     .note = "levels of a study are consecutive, coarse to fine", BB_MEMBER(level_row, study),
     .coordinate = true},
    {"spacing_mm", "level", "mm", "spacing of the mesh", BB_MEMBER(level_row, spacing_mm),
     .coordinate = true},
    {"step_ms", "level", "ms", "step of heat", BB_MEMBER(level_row, step_ms), .coordinate = true},
    {"error", "level", "1",
     "relative error; for a field, norm of the difference from the next finer level over that of "
     "the finest",
     BB_MEMBER(level_row, error)},
    {"order", "level", "1",
     "log2 of the previous level's error over that of this level; NaN for the first",
     BB_MEMBER(level_row, order)},
};
static const bb_output_table outputs = {"/results, convergence", NULL, "results", "level",
                                        BB_OUTPUT_ROWS(rows)};

const bb_part bb_wafer_convergence_part = {.name = "convergence", .outputs = BB_OUTPUTS(&outputs)};

static const double MODE = 1.8411837813406593; // j'_11, first zero of J_1'

// Coarsest of four spacings, each half the previous, mm: four times the mesh's, or the largest that
// clamp and ring allow.
static double find_coarsest(const bb_mesh_config *mesh, const bb_clamp_config *clamp,
                            const bb_ring_config *ring)
{
    double spacing = 4.0 * mesh->spacing_mm;
    bool rings = bb_edge_ring_wanted(ring);
    while (spacing > mesh->spacing_mm &&
           (spacing > clamp->spacing_mm || (rings && spacing > ring->width_mm))) {
        spacing *= 0.5;
    }
    return spacing;
}

// Model of a decaying mode: mesh, mode shape and time stepping.
typedef struct decay {
    const bb_wafer_material_config *wafer;
    const bb_clamp_config *clamp;
    bb_disc_mesh *mesh; // owned
    double *shape;      // [nodes], owned
    int stepping;
    double step; // time step, s
    bb_index steps;
} decay;

static double diffusivity(const bb_wafer_material_config *wafer)
{
    return wafer->conductivity_w_per_m_k /
           (wafer->density_kg_per_m3 * wafer->specific_heat_j_per_kg_k);
}

// Exchange rate h_c / C.
static double exchange_rate(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp)
{
    return clamp->exchange_w_per_m2_k /
           (wafer->density_kg_per_m3 * wafer->specific_heat_j_per_kg_k * 1e-6 *
            wafer->thickness_um);
}

static void release_decay(decay *model)
{
    bb_disc_mesh_destroy(&model->mesh);
    BB_RELEASE(&model->shape);
}

// Amplitude of the shape in a state, up to a constant factor.
static double project(const bb_thermal *thermal, const double *state, const double *shape)
{
    double sum = 0.0;
    for (bb_index i = 0; i < thermal->node_count; ++i) {
        sum += thermal->capacity[i] * state[i] * shape[i];
    }
    return sum;
}

// Ratio of the amplitudes after and before `steps` steps. An initial step deposits the shape as
// heat.
static bb_status run_decay(const decay *model, double *out)
{
    bb_status status = BB_OK;
    bb_thermal *thermal = NULL;
    bb_stepper *stepper = NULL;
    double *joules = NULL;
    int32_t *where = NULL;
    const bb_thermal_setting setting = {.stepping = model->stepping};
    BB_TRY(bb_thermal_create_in(model->mesh, model->wafer, model->clamp, BB_CLAMP_ISOTHERMAL,
                                model->step, &setting, &thermal));
    if (model->stepping == (int)BB_STEPPING_EXPLICIT) {
        BB_TRY(bb_stepper_create(&thermal->step_matrix, thermal->per_joule, &stepper));
    } else {
        BB_TRY(bb_stepper_create_implicit(&thermal->conductance, thermal->capacity, model->step,
                                          &stepper));
    }
    BB_TRY(BB_ALLOCATE(thermal->size, &joules));
    BB_TRY(BB_ALLOCATE(thermal->size, &where));
    for (bb_index i = 0; i < thermal->size; ++i) {
        where[i] = (int32_t)i;
        joules[i] = thermal->capacity[i] * model->shape[i];
    }
    BB_TRY(bb_stepper_step(stepper, thermal->size, where, joules));
    double before = project(thermal, bb_stepper_state(stepper), model->shape);
    for (bb_index n = 0; n < model->steps; ++n) {
        BB_TRY(bb_stepper_step(stepper, 0, NULL, NULL));
    }
    *out = project(thermal, bb_stepper_state(stepper), model->shape) / before;
done:
    bb_stepper_destroy(&stepper);
    bb_thermal_destroy(&thermal);
    BB_RELEASE(&joules);
    BB_RELEASE(&where);
    return status;
}

static bb_status shape_cosine(bb_index cells, double spacing, decay *model)
{
    bb_status status = BB_OK;
    const double q = 2.0 * M_PI / ((double)cells * spacing);
    BB_TRY(bb_disc_mesh_periodic(cells, cells, spacing, &model->mesh));
    BB_TRY(BB_ALLOCATE(model->mesh->node_count, &model->shape));
    for (bb_index i = 0; i < model->mesh->node_count; ++i) {
        model->shape[i] =
            cos(q * bb_disc_mesh_x(model->mesh, i)) * cos(q * bb_disc_mesh_y(model->mesh, i));
    }
done:
    return status;
}

static bb_status shape_mode(double radius, double spacing, decay *model)
{
    bb_status status = BB_OK;
    BB_TRY(bb_disc_mesh_create(radius, spacing, &model->mesh));
    BB_TRY(BB_ALLOCATE(model->mesh->node_count, &model->shape));
    for (bb_index i = 0; i < model->mesh->node_count; ++i) {
        double x = bb_disc_mesh_x(model->mesh, i);
        double y = bb_disc_mesh_y(model->mesh, i);
        model->shape[i] = jn(1, MODE * hypot(x, y) / radius) * cos(atan2(y, x));
    }
done:
    return status;
}

static bb_status add_decay(const char *study, const decay *model, int k, double before,
                           double error, level_table *table)
{
    const level_row row = {.study = study,
                           .spacing_mm = 1e3 * model->mesh->spacing,
                           .step_ms = 1e3 * model->step,
                           .error = error,
                           .order = k == 0 ? NAN : log2(before / error)};
    return add_row(table, &row);
}

// Decay rate on a sequence of finer meshes, with time steps short enough to have no effect.
static bb_status converge_decay(const decay *like, bool on_disc, double coarsest, double rate,
                                level_table *table)
{
    bb_status status = BB_OK;
    double before = NAN;
    decay model = *like;
    model.stepping = BB_STEPPING_CRANK_NICOLSON;
    model.steps = DECAY_STEPS;
    model.step = 0.01 / rate;
    const double radius = 0.5e-3 * like->wafer->diameter_mm;
    for (int k = 0; k < DECAYS; ++k) {
        double spacing = coarsest / (double)(1 << k);
        BB_TRY(on_disc ? shape_mode(radius, spacing, &model)
                       : shape_cosine((bb_index)CELLS << k, spacing, &model));
        double amplitude = 0.0;
        BB_TRY(run_decay(&model, &amplitude));
        // Removes the error of the time step, which multiplies by (1 - z/2) / (1 + z/2).
        double factor = pow(amplitude, 1.0 / DECAY_STEPS);
        double measured = 2.0 * (1.0 - factor) / (1.0 + factor) / model.step;
        double error = fabs(measured / rate - 1.0);
        BB_TRY(add_decay(on_disc ? "mode in space, closed form" : "cosine in space, closed form",
                         &model, k, before, error, table));
        before = error;
        release_decay(&model);
    }
done:
    release_decay(&model);
    return status;
}

// Decay of the cosine compared with exp(-rate t), where rate belongs to the mesh: 8 - 2 (cos + cos)
// - 4 cos cos of the element's stencil, k d / 3, over C h^2.
static bb_status converge_steps(const decay *like, int stepping, double spacing, const char *study,
                                level_table *table)
{
    bb_status status = BB_OK;
    decay model = *like;
    double before = NAN;
    double c = cos(2.0 * M_PI / CELLS);
    double rate =
        diffusivity(like->wafer) / (spacing * spacing) / 3.0 * (8.0 - 4.0 * c - 4.0 * c * c) +
        exchange_rate(like->wafer, like->clamp);
    model.stepping = stepping;
    BB_TRY(shape_cosine(CELLS, spacing, &model));
    double longest = bb_thermal_wafer_limit(like->wafer, like->clamp, NULL, spacing);
    double total = DECAY_STEPS * fmin(0.5 * longest, 0.02 / rate);
    for (int k = 0; k < DECAYS; ++k) {
        double amplitude = 0.0;
        model.steps = (bb_index)DECAY_STEPS << k;
        model.step = total / (double)model.steps;
        BB_TRY(run_decay(&model, &amplitude));
        double error = fabs(amplitude / exp(-rate * total) - 1.0);
        BB_TRY(add_decay(study, &model, k, before, error, table));
        before = error;
    }
done:
    release_decay(&model);
    return status;
}

// Adds the studies `cosine` and `mode` with their relative errors.
static bb_status converge_modes(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp,
                                const bb_mesh_config *mesh, level_table *table)
{
    bb_status status = BB_OK;
    const decay like = {.wafer = wafer, .clamp = clamp};
    const double coarsest = 4e-3 * mesh->spacing_mm;
    const double kappa = diffusivity(wafer);
    const double away = exchange_rate(wafer, clamp);
    const double q = 2.0 * M_PI / (CELLS * coarsest);
    const double j = MODE / (0.5e-3 * wafer->diameter_mm);
    BB_TRY(converge_decay(&like, false, coarsest, 2.0 * kappa * q * q + away, table));
    BB_TRY(converge_decay(&like, true, coarsest, kappa * j * j + away, table));
    BB_TRY(converge_steps(&like, BB_STEPPING_EXPLICIT, 1e-3 * mesh->spacing_mm,
                          "cosine in time, explicit", table));
    BB_TRY(converge_steps(&like, BB_STEPPING_CRANK_NICOLSON, 1e-3 * mesh->spacing_mm,
                          "cosine in time, crank-nicolson", table));
done:
    return status;
}

// Temperatures of one level at the ends of light and dark steps.
typedef struct level {
    bb_mesh_config mesh;
    bb_wafer_problem *problem;
    double *light; // [nodes of the level's mesh]
    double *dark;
} level;

static bb_status store_level(const bb_heat_simulation *simulation, double **out)
{
    bb_status status = BB_OK;
    bb_index count = simulation->problem->mesh->node_count;
    BB_TRY(BB_ALLOCATE(count, out));
    memcpy(*out, bb_stepper_state(simulation->stepper), (size_t)count * sizeof **out);
done:
    return status;
}

static bb_index pick_field(const bb_wafer_study *study, const bb_scan *scan)
{
    const bb_list *fields = &study->scan.fields;
    const bb_index *items = fields->items;
    bool all = fields->count == BB_LIST_ALL;
    bb_index count = all ? scan->field_count : fields->count;
    for (bb_index i = 0; i < count; ++i) {
        if (scan->fields[all ? i : items[i]].full) {
            return all ? i : items[i];
        }
    }
    return all ? 0 : items[0];
}

static bb_status run_level(const bb_wafer_study *study, level *step)
{
    bb_status status = BB_OK;
    bb_heat_simulation simulation = {0};
    bb_wafer_config physics = bb_wafer_study_physics(study);
    physics.mesh = &step->mesh;
    BB_TRY(bb_wafer_problem_create_heat(&physics, &step->problem));
    BB_TRY(bb_heat_simulation_open(step->problem, NULL, &simulation));
    BB_TRY(bb_heat_simulation_expose(&simulation, pick_field(study, step->problem->scan)));
    const bb_scan *scan = step->problem->scan;
    const bb_index light = scan->light_steps * step->mesh.substeps;
    const bb_index all = (scan->light_steps + scan->dark_steps) * step->mesh.substeps;
    for (bb_index part = 0; part < all; ++part) {
        BB_TRY(bb_heat_simulation_step(&simulation, part));
        if (part + 1 == light) {
            BB_TRY(store_level(&simulation, &step->light));
        }
    }
    BB_TRY(store_level(&simulation, &step->dark));
done:
    bb_heat_simulation_release(&simulation);
    return status;
}

static void release_level(level *step)
{
    BB_RELEASE(&step->light);
    BB_RELEASE(&step->dark);
    bb_wafer_problem_destroy(&step->problem);
}

// Interpolates a level's nodal values bilinearly at (x, y); false outside its mesh.
static bool interpolate(const bb_disc_mesh *mesh, const double *nodes, double x, double y,
                        double *out)
{
    bb_index cell = bb_disc_mesh_cell(mesh, x, y);
    if (cell < 0) {
        return false;
    }
    const int32_t *corner = mesh->cell_nodes + 4 * cell;
    double a = (x - bb_disc_mesh_x(mesh, corner[0])) / mesh->spacing;
    double b = (y - bb_disc_mesh_y(mesh, corner[0])) / mesh->spacing;
    *out = (1.0 - b) * ((1.0 - a) * nodes[corner[0]] + a * nodes[corner[1]]) +
           b * ((1.0 - a) * nodes[corner[3]] + a * nodes[corner[2]]);
    return true;
}

// Norm of the difference of two levels relative to that of the finest, over the finest mesh's
// nodes.
static double difference(const level *finest, const level *coarse, const level *fine, bool dark)
{
    const bb_disc_mesh *mesh = finest->problem->mesh;
    const double *truth = dark ? finest->dark : finest->light;
    double error = 0.0;
    double norm = 0.0;
    for (bb_index node = 0; node < mesh->node_count; ++node) {
        double x = bb_disc_mesh_x(mesh, node);
        double y = bb_disc_mesh_y(mesh, node);
        double a = 0.0;
        double b = 0.0;
        if (interpolate(coarse->problem->mesh, dark ? coarse->dark : coarse->light, x, y, &a) &&
            interpolate(fine->problem->mesh, dark ? fine->dark : fine->light, x, y, &b)) {
            error += (a - b) * (a - b);
            norm += truth[node] * truth[node];
        }
    }
    return sqrt(error / norm);
}

static bb_status add_differences(bb_index count, const level levels[LEVELS], const char *name,
                                 bool dark, level_table *table)
{
    bb_status status = BB_OK;
    double error[LEVELS - 1];
    for (bb_index k = 0; k + 1 < count; ++k) {
        error[k] = difference(&levels[count - 1], &levels[k], &levels[k + 1], dark);
        const level_row row = {.study = name,
                               .spacing_mm = levels[k].mesh.spacing_mm,
                               .step_ms = levels[k].mesh.step_ms / (double)levels[k].mesh.substeps,
                               .error = error[k],
                               .order = k == 0 ? NAN : log2(error[k - 1] / error[k])};
        BB_TRY(add_row(table, &row));
    }
done:
    return status;
}

static bb_status run_levels(const bb_wafer_study *study, bb_index count, level levels[LEVELS],
                            const char *name, level_table *table)
{
    bb_status status = BB_OK;
    char title[64];
    for (bb_index k = 0; k < count; ++k) {
        bb_log_progress(name, k, count);
        BB_TRY(run_level(study, &levels[k]));
    }
    bb_log_progress(name, count, count);
    (void)snprintf(title, sizeof title, "field %s, end of light", name);
    BB_TRY(add_differences(count, levels, title, false, table));
    (void)snprintf(title, sizeof title, "field %s, end of dark", name);
    BB_TRY(add_differences(count, levels, title, true, table));
done:
    for (bb_index k = 0; k < count; ++k) {
        release_level(&levels[k]);
    }
    return status;
}

// Crank-Nicolson with one step size, so that all meshes have the same time-stepping error.
static bb_status converge_space(const bb_wafer_study *study, level_table *table)
{
    level levels[LEVELS] = {0};
    double spacing = find_coarsest(&study->mesh, &study->clamp, &study->ring);
    for (int k = 0; k < MESHES; ++k) {
        levels[k].mesh = study->mesh;
        levels[k].mesh.stepping = BB_STEPPING_CRANK_NICOLSON;
        levels[k].mesh.spacing_mm = spacing / (double)(1 << k);
    }
    return run_levels(study, MESHES, levels, "in space", table);
}

static bb_status converge_time(const bb_wafer_study *study, int stepping, const char *name,
                               level_table *table)
{
    level levels[LEVELS] = {0};
    double limit_ms = 1e3 * bb_thermal_wafer_limit(&study->wafer, &study->clamp, &study->hood,
                                                   1e-3 * study->mesh.spacing_mm);
    bb_index substeps = study->mesh.substeps;
    while (study->mesh.step_ms / (double)substeps > limit_ms) {
        substeps *= 2;
    }
    for (int k = 0; k < STEPS; ++k) {
        levels[k].mesh = study->mesh;
        levels[k].mesh.stepping = stepping;
        levels[k].mesh.substeps = substeps << k;
    }
    return run_levels(study, STEPS, levels, name, table);
}

bb_status bb_wafer_experiment_converge(const void *study, bb_results *results, bb_text *table)
{
    bb_status status = BB_OK;
    level_table levels = {0};
    const bb_wafer_study *wafer = study;
    BB_TRY(converge_modes(&wafer->wafer, &wafer->clamp, &wafer->mesh, &levels));
    BB_TRY(converge_space(wafer, &levels));
    BB_TRY(converge_time(wafer, BB_STEPPING_EXPLICIT, "in time, explicit", &levels));
    BB_TRY(converge_time(wafer, BB_STEPPING_CRANK_NICOLSON, "in time, crank-nicolson", &levels));
    BB_TRY(print_table(&levels, table));
    BB_TRY(bb_output_table_publish_records(&outputs, levels.rows, sizeof *levels.rows, levels.count,
                                           NULL, results));
done:
    return status;
}
