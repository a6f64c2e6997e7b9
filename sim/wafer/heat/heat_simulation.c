// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "sim/wafer/heat/wafer_heating.h"

#include <math.h>
#include <string.h>

bb_status bb_heat_simulation_open(const bb_wafer_problem *problem, const bb_narrow_formats *narrow,
                                  bb_heat_simulation *out)
{
    bb_status status = BB_OK;
    const bb_thermal *thermal = problem->thermal;
    *out = (bb_heat_simulation){.problem = problem};
    if (problem->stepping == (int)BB_STEPPING_CRANK_NICOLSON) {
        BB_TRY(bb_stepper_create_implicit(&thermal->conductance, thermal->capacity, thermal->step,
                                          &out->stepper));
    } else if (narrow != NULL) {
        BB_TRY(bb_stepper_create_narrow(&thermal->step_matrix, thermal->per_joule, narrow,
                                        &out->stepper));
    } else {
        BB_TRY(bb_stepper_create(&thermal->step_matrix, thermal->per_joule, &out->stepper));
    }
    if (problem->hood.exchange > 0.0) {
        BB_TRY(BB_ALLOCATE(problem->hood.cover_limit, &out->hood_node));
        BB_TRY(BB_ALLOCATE(problem->hood.cover_limit, &out->hood_exchange));
    }
done:
    if (status != BB_OK) {
        bb_heat_simulation_release(out);
    }
    return status;
}

void bb_heat_simulation_release(bb_heat_simulation *simulation)
{
    bb_stepper_destroy(&simulation->stepper);
    bb_exposure_destroy(&simulation->wafer_exposure);
    bb_exposure_destroy(&simulation->ring_exposure);
    BB_RELEASE(&simulation->where);
    BB_RELEASE(&simulation->energy);
    BB_RELEASE(&simulation->hood_node);
    BB_RELEASE(&simulation->hood_exchange);
}

bb_status bb_heat_simulation_expose(bb_heat_simulation *simulation, bb_index field)
{
    bb_status status = BB_OK;
    const bb_wafer_problem *problem = simulation->problem;
    const bb_thermal *thermal = problem->thermal;
    bb_exposure_destroy(&simulation->wafer_exposure);
    bb_exposure_destroy(&simulation->ring_exposure);
    simulation->field = field;
    BB_TRY(bb_exposure_create(problem->mesh, problem->scan, field, problem->absorption,
                              &simulation->wafer_exposure));
    simulation->clipped = simulation->wafer_exposure->clipped;
    simulation->covered = simulation->wafer_exposure->count;
    if (problem->ring != NULL) {
        BB_TRY(bb_exposure_create(problem->ring->mesh, problem->scan, field, problem->absorption,
                                  &simulation->ring_exposure));
        simulation->clipped = fmax(simulation->clipped - simulation->ring_exposure->total, 0.0);
        simulation->covered += simulation->ring_exposure->count;
    }
    // Absorption at the top surface heats T and tau with the same energies; entries of tau follow
    // those of T.
    const bb_index heated = simulation->covered;
    simulation->covered += thermal->tau_count > 0 ? simulation->wafer_exposure->count : 0;
    BB_TRY(bb_memory_resize(simulation->covered, sizeof *simulation->where,
                            (void **)&simulation->where));
    BB_TRY(bb_memory_resize(simulation->covered, sizeof *simulation->energy,
                            (void **)&simulation->energy));
    const bb_index own = simulation->wafer_exposure->count;
    const int32_t ring = (int32_t)(thermal->node_count + thermal->clamp_count);
    const int32_t tau = (int32_t)bb_thermal_tau_first(thermal);
    for (bb_index i = heated; i < simulation->covered; ++i) {
        simulation->where[i] = tau + simulation->wafer_exposure->node[i - heated];
    }
    for (bb_index i = 0; i < heated; ++i) {
        simulation->where[i] = i < own ? simulation->wafer_exposure->node[i]
                                       : ring + simulation->ring_exposure->node[i - own];
    }
done:
    return status;
}

// Sets the energies of a light part, or none in a dark one. Returns the deposited energy, J.
static double deposit(bb_heat_simulation *simulation, bb_index part, bb_stepper_input *input)
{
    const bb_index parts = simulation->problem->substeps;
    if (part >= simulation->problem->scan->light_steps * parts) {
        return 0.0;
    }
    input->count = simulation->covered;
    input->where = simulation->where;
    input->u = simulation->energy;
    double sum = bb_exposure_energy(simulation->wafer_exposure, part, parts, simulation->energy);
    if (simulation->ring_exposure != NULL) {
        sum += bb_exposure_energy(simulation->ring_exposure, part, parts,
                                  simulation->energy + simulation->wafer_exposure->count);
    }
    if (simulation->problem->thermal->tau_count > 0) {
        const bb_index own = simulation->wafer_exposure->count;
        memcpy(simulation->energy + simulation->covered - own, simulation->energy,
               (size_t)own * sizeof *simulation->energy);
    }
    return sum;
}

static void cover(bb_heat_simulation *simulation, bb_index part, bb_stepper_input *input)
{
    const bb_hood *hood = &simulation->problem->hood;
    const double step = simulation->problem->thermal->step;
    double centre[2];
    bb_hood_centre(hood, simulation->field, ((double)part + 0.5) * step, centre);
    input->exchange_count =
        bb_hood_cover(hood, centre, step, simulation->hood_node, simulation->hood_exchange);
    input->exchange_where = simulation->hood_node;
    input->exchange = simulation->hood_exchange;
    input->outside = hood->rise;
    input->partner = bb_thermal_tau_first(simulation->problem->thermal);
}

bb_status bb_heat_simulation_step(bb_heat_simulation *simulation, bb_index part)
{
    bb_status status = BB_OK;
    bb_stepper_input input = {0};
    double deposited = deposit(simulation, part, &input);
    if (simulation->hood_node != NULL) {
        cover(simulation, part, &input);
    }
    BB_TRY(bb_stepper_advance(simulation->stepper, &input));
    const double *exchanged = bb_stepper_exchanged(simulation->stepper);
    bb_ledger_add(&simulation->ledger, simulation->problem->thermal, exchanged, deposited);
    bb_ledger_add_hood(&simulation->ledger, simulation->problem->thermal, exchanged,
                       input.exchange_count, input.exchange_where, input.exchange, input.outside);
done:
    return status;
}

bb_status bb_heat_simulation_step_dark(bb_heat_simulation *simulation)
{
    bb_status status = BB_OK;
    BB_TRY(bb_stepper_advance(simulation->stepper, &(bb_stepper_input){0}));
    bb_ledger_add(&simulation->ledger, simulation->problem->thermal,
                  bb_stepper_exchanged(simulation->stepper), 0.0);
done:
    return status;
}
