// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/heat/wafer_march.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>

bb_status bb_wafer_march_open(const bb_wafer_problem *problem, bb_wafer_march *out)
{
    bb_status status = BB_OK;
    const bb_thermal *thermal = problem->thermal;
    *out = (bb_wafer_march){.problem = problem};
    if (problem->stepping == (int)BB_STEPPING_CRANK_NICOLSON) {
        BB_TRY(bb_stepper_create_implicit(&thermal->conductance, thermal->capacity, thermal->step,
                                          &out->stepper));
    } else {
        BB_TRY(bb_stepper_create(&thermal->step_matrix, thermal->per_joule, &out->stepper));
    }
    if (problem->hood.exchange > 0.0) {
        BB_TRY(BB_ALLOCATE(problem->hood.most, &out->hood_node));
        BB_TRY(BB_ALLOCATE(problem->hood.most, &out->hood_exchange));
    }
done:
    if (status != BB_OK) {
        bb_wafer_march_release(out);
    }
    return status;
}

void bb_wafer_march_release(bb_wafer_march *march)
{
    bb_stepper_destroy(&march->stepper);
    bb_exposure_destroy(&march->wafer_exposure);
    bb_exposure_destroy(&march->ring_exposure);
    BB_RELEASE(&march->where);
    BB_RELEASE(&march->energy);
    BB_RELEASE(&march->hood_node);
    BB_RELEASE(&march->hood_exchange);
}

bb_status bb_wafer_march_expose(bb_wafer_march *march, bb_index field)
{
    bb_status status = BB_OK;
    const bb_wafer_problem *problem = march->problem;
    const bb_thermal *thermal = problem->thermal;
    bb_exposure_destroy(&march->wafer_exposure);
    bb_exposure_destroy(&march->ring_exposure);
    march->field = field;
    BB_TRY(bb_exposure_create(problem->mesh, problem->scan, field, problem->absorption,
                              &march->wafer_exposure));
    march->clipped = march->wafer_exposure->clipped;
    march->covered = march->wafer_exposure->count;
    if (problem->ring != NULL) {
        BB_TRY(bb_exposure_create(problem->ring->mesh, problem->scan, field, problem->absorption,
                                  &march->ring_exposure));
        march->clipped = fmax(march->clipped - march->ring_exposure->total, 0.0);
        march->covered += march->ring_exposure->count;
    }
    // What the top absorbs drives T and tau alike; tau's come last.
    const bb_index heated = march->covered;
    march->covered += thermal->tau_count > 0 ? march->wafer_exposure->count : 0;
    BB_TRY(bb_memory_resize(march->covered, sizeof *march->where, (void **)&march->where));
    BB_TRY(bb_memory_resize(march->covered, sizeof *march->energy, (void **)&march->energy));
    const bb_index own = march->wafer_exposure->count;
    const int32_t ring = (int32_t)(thermal->node_count + thermal->clamp_count);
    const int32_t tau = (int32_t)bb_thermal_tau_first(thermal);
    for (bb_index i = heated; i < march->covered; ++i) {
        march->where[i] = tau + march->wafer_exposure->node[i - heated];
    }
    for (bb_index i = 0; i < heated; ++i) {
        march->where[i] =
            i < own ? march->wafer_exposure->node[i] : ring + march->ring_exposure->node[i - own];
    }
done:
    return status;
}

// Energies of a light part; nothing in the dark. Returns what is put in, J.
static double deposit(bb_wafer_march *march, bb_index part, bb_stepper_input *input)
{
    const bb_index parts = march->problem->substeps;
    if (part >= march->problem->scan->light_steps * parts) {
        return 0.0;
    }
    input->count = march->covered;
    input->where = march->where;
    input->u = march->energy;
    double sum = bb_exposure_energy(march->wafer_exposure, part, parts, march->energy);
    if (march->ring_exposure != NULL) {
        sum += bb_exposure_energy(march->ring_exposure, part, parts,
                                  march->energy + march->wafer_exposure->count);
    }
    if (march->problem->thermal->tau_count > 0) {
        const bb_index own = march->wafer_exposure->count;
        memcpy(march->energy + march->covered - own, march->energy,
               (size_t)own * sizeof *march->energy);
    }
    return sum;
}

static void cover(bb_wafer_march *march, bb_index part, bb_stepper_input *input)
{
    const bb_hood *hood = &march->problem->hood;
    const double step = march->problem->thermal->step;
    double centre[2];
    bb_hood_centre(hood, march->field, ((double)part + 0.5) * step, centre);
    input->exchange_count =
        bb_hood_cover(hood, centre, step, march->hood_node, march->hood_exchange);
    input->exchange_where = march->hood_node;
    input->exchange = march->hood_exchange;
    input->outside = hood->rise;
    input->partner = bb_thermal_tau_first(march->problem->thermal);
}

bb_status bb_wafer_march_step(bb_wafer_march *march, bb_index part)
{
    bb_status status = BB_OK;
    bb_stepper_input input = {0};
    double deposited = deposit(march, part, &input);
    if (march->hood_node != NULL) {
        cover(march, part, &input);
    }
    BB_TRY(bb_stepper_advance(march->stepper, &input));
    const double *exchanged = bb_stepper_exchanged(march->stepper);
    bb_ledger_add(&march->ledger, march->problem->thermal, exchanged, deposited);
    bb_ledger_add_hood(&march->ledger, march->problem->thermal, exchanged, input.exchange_count,
                       input.exchange_where, input.exchange, input.outside);
done:
    return status;
}

bb_status bb_wafer_march_rest(bb_wafer_march *march)
{
    bb_status status = BB_OK;
    BB_TRY(bb_stepper_advance(march->stepper, &(bb_stepper_input){0}));
    bb_ledger_add(&march->ledger, march->problem->thermal, bb_stepper_exchanged(march->stepper),
                  0.0);
done:
    return status;
}
