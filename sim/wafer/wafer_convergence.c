// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_convergence.h"

#include "core/log.h"
#include "core/memory.h"
#include "sim/wafer/convergence_modes.h"
#include "sim/wafer/convergence_table.h"
#include "sim/wafer/heat/heat_simulation.h"
#include "sim/wafer/wafer_study.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MESHES = 4, STEPS = 5, LEVELS = STEPS };

// Temperatures of one level at the ends of light and dark.
typedef struct level {
    bb_mesh_config mesh;
    bb_wafer_problem *problem;
    double *light; // [nodes of the level's mesh]
    double *dark;
} level;

static bb_status keep(const bb_heat_simulation *simulation, double **out)
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
    BB_TRY(bb_heat_simulation_open(step->problem, &simulation));
    BB_TRY(bb_heat_simulation_expose(&simulation, pick_field(study, step->problem->scan)));
    const bb_scan *scan = step->problem->scan;
    const bb_index light = scan->light_steps * step->mesh.substeps;
    const bb_index all = (scan->light_steps + scan->dark_steps) * step->mesh.substeps;
    for (bb_index part = 0; part < all; ++part) {
        BB_TRY(bb_heat_simulation_step(&simulation, part));
        if (part + 1 == light) {
            BB_TRY(keep(&simulation, &step->light));
        }
    }
    BB_TRY(keep(&simulation, &step->dark));
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

// Bilinear value of a level's nodes at (x, y); false off its mesh.
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

// Norm of the difference of two levels over that of the finest, over the finest's nodes.
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
                                 bool dark, bb_convergence_table *table)
{
    bb_status status = BB_OK;
    double error[LEVELS - 1];
    for (bb_index k = 0; k + 1 < count; ++k) {
        error[k] = difference(&levels[count - 1], &levels[k], &levels[k + 1], dark);
        const bb_convergence_row row = {.study = name,
                                        .spacing_mm = levels[k].mesh.spacing_mm,
                                        .step_ms = levels[k].mesh.step_ms /
                                                   (double)levels[k].mesh.substeps,
                                        .error = error[k],
                                        .order = k == 0 ? NAN : log2(error[k - 1] / error[k])};
        BB_TRY(bb_convergence_table_add(table, &row));
    }
done:
    return status;
}

static bb_status run_levels(const bb_wafer_study *study, bb_index count, level levels[LEVELS],
                            const char *name, bb_convergence_table *table)
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

// Crank-Nicolson at one step, so that the errors of time are the same on all meshes.
static bb_status converge_space(const bb_wafer_study *study, bb_convergence_table *table)
{
    level levels[LEVELS] = {0};
    double spacing = bb_convergence_modes_coarsest(&study->mesh, &study->clamp, &study->ring);
    for (int k = 0; k < MESHES; ++k) {
        levels[k].mesh = study->mesh;
        levels[k].mesh.stepping = BB_STEPPING_CRANK_NICOLSON;
        levels[k].mesh.spacing_mm = spacing / (double)(1 << k);
    }
    return run_levels(study, MESHES, levels, "in space", table);
}

static bb_status converge_time(const bb_wafer_study *study, int stepping, const char *name,
                               bb_convergence_table *table)
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

bb_status bb_wafer_convergence_run(const void *study, bb_results *results, bb_text *table)
{
    bb_status status = BB_OK;
    bb_convergence_table rows = {0};
    const bb_wafer_study *wafer = study;
    BB_TRY(bb_convergence_modes(&wafer->wafer, &wafer->clamp, &wafer->mesh, &rows));
    BB_TRY(converge_space(wafer, &rows));
    BB_TRY(converge_time(wafer, BB_STEPPING_EXPLICIT, "in time, explicit", &rows));
    BB_TRY(converge_time(wafer, BB_STEPPING_CRANK_NICOLSON, "in time, crank-nicolson", &rows));
    BB_TRY(bb_convergence_table_print(&rows, table));
    BB_TRY(bb_convergence_table_publish(&rows, results));
done:
    bb_convergence_table_release(&rows);
    return status;
}
