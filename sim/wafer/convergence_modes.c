// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/convergence_modes.h"

#include "core/memory.h"
#include "physics/wafer/heat/thermal.h"
#include "solvers/step/stepper.h"

#include <math.h>

enum { LEVELS = 4, CELLS = 24, STEPS = 32 };

static const double MODE = 1.8411837813406593; // j'_11

double bb_convergence_modes_coarsest(const bb_mesh_config *mesh, const bb_clamp_config *clamp,
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

// One decay: a mesh, a shape on it, and how steps are taken.
typedef struct decay {
    const bb_wafer_material_config *wafer;
    const bb_clamp_config *clamp;
    bb_disc_mesh *mesh; // owned
    double *shape;      // [nodes], owned
    int stepping;
    double step; // s
    bb_index steps;
} decay;

static double diffusivity(const bb_wafer_material_config *wafer)
{
    return wafer->conductivity_w_per_m_k /
           (wafer->density_kg_per_m3 * wafer->specific_heat_j_per_kg_k);
}

// h_c / C.
static double exchange_rate(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp)
{
    return clamp->exchange_w_per_m2_k /
           (wafer->density_kg_per_m3 * wafer->specific_heat_j_per_kg_k * 1e-6 *
            wafer->thickness_um);
}

static void release(decay *model)
{
    bb_disc_mesh_destroy(&model->mesh);
    BB_RELEASE(&model->shape);
}

// Amplitude of the shape in a state, times a constant.
static double project(const bb_thermal *thermal, const double *state, const double *shape)
{
    double sum = 0.0;
    for (bb_index i = 0; i < thermal->node_count; ++i) {
        sum += thermal->capacity[i] * state[i] * shape[i];
    }
    return sum;
}

// Amplitude after `steps` steps over that before them. A first step puts the shape in as heat.
static bb_status run(const decay *model, double *out)
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

static bb_status add(const char *study, const decay *model, int k, double before, double error,
                     bb_convergence_table *table)
{
    const bb_convergence_row row = {.study = study,
                                    .spacing_mm = 1e3 * model->mesh->spacing,
                                    .step_ms = 1e3 * model->step,
                                    .error = error,
                                    .order = k == 0 ? NAN : log2(before / error)};
    return bb_convergence_table_add(table, &row);
}

// The rate of a decay seen on ever finer meshes; steps short enough that time does not count.
static bb_status converge_space(const decay *like, bool on_disc, double coarsest, double rate,
                                bb_convergence_table *table)
{
    bb_status status = BB_OK;
    double before = NAN;
    decay model = *like;
    model.stepping = BB_STEPPING_CRANK_NICOLSON;
    model.steps = STEPS;
    model.step = 0.01 / rate;
    const double radius = 0.5e-3 * like->wafer->diameter_mm;
    for (int k = 0; k < LEVELS; ++k) {
        double spacing = coarsest / (double)(1 << k);
        BB_TRY(on_disc ? shape_mode(radius, spacing, &model)
                       : shape_cosine((bb_index)CELLS << k, spacing, &model));
        double amplitude = 0.0;
        BB_TRY(run(&model, &amplitude));
        // The step's own error is taken out: each step multiplies by (1 - z/2) / (1 + z/2).
        double factor = pow(amplitude, 1.0 / STEPS);
        double seen = 2.0 * (1.0 - factor) / (1.0 + factor) / model.step;
        double error = fabs(seen / rate - 1.0);
        BB_TRY(add(on_disc ? "mode in space, closed form" : "cosine in space, closed form", &model,
                   k, before, error, table));
        before = error;
        release(&model);
    }
done:
    release(&model);
    return status;
}

// Decay of the cosine against exp(-rate t), rate that of the mesh: 8 - 2 (cos + cos) - 4 cos cos of
// the element's stencil, k d / 3, over C h^2.
static bb_status converge_time(const decay *like, int stepping, double spacing, const char *study,
                               bb_convergence_table *table)
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
    double total = STEPS * fmin(0.5 * longest, 0.02 / rate);
    for (int k = 0; k < LEVELS; ++k) {
        double amplitude = 0.0;
        model.steps = (bb_index)STEPS << k;
        model.step = total / (double)model.steps;
        BB_TRY(run(&model, &amplitude));
        double error = fabs(amplitude / exp(-rate * total) - 1.0);
        BB_TRY(add(study, &model, k, before, error, table));
        before = error;
    }
done:
    release(&model);
    return status;
}

bb_status bb_convergence_modes(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp,
                               const bb_mesh_config *mesh, bb_convergence_table *table)
{
    bb_status status = BB_OK;
    const decay like = {.wafer = wafer, .clamp = clamp};
    const double coarsest = 4e-3 * mesh->spacing_mm;
    const double kappa = diffusivity(wafer);
    const double away = exchange_rate(wafer, clamp);
    const double q = 2.0 * M_PI / (CELLS * coarsest);
    const double j = MODE / (0.5e-3 * wafer->diameter_mm);
    BB_TRY(converge_space(&like, false, coarsest, 2.0 * kappa * q * q + away, table));
    BB_TRY(converge_space(&like, true, coarsest, kappa * j * j + away, table));
    BB_TRY(converge_time(&like, BB_STEPPING_EXPLICIT, 1e-3 * mesh->spacing_mm,
                         "cosine in time, explicit", table));
    BB_TRY(converge_time(&like, BB_STEPPING_CRANK_NICOLSON, 1e-3 * mesh->spacing_mm,
                         "cosine in time, crank-nicolson", table));
done:
    return status;
}
