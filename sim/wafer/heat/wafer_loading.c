// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/heat/wafer_loading.h"

#include <math.h>

bb_status bb_wafer_loading_open(const bb_wafer_problem *problem, bb_wafer_loading *out)
{
    bb_status status = BB_OK;
    *out = (bb_wafer_loading){.bare = problem->bare};
    if (problem->bare != NULL) {
        BB_TRY(bb_stepper_create_implicit(&problem->bare->conductance,
                                          problem->thermal->capacity + problem->bare->first,
                                          problem->bare->step, &out->stepper));
    }
done:
    return status;
}

void bb_wafer_loading_release(bb_wafer_loading *loading)
{
    bb_stepper_destroy(&loading->stepper);
}

bb_loaded_wafer bb_wafer_loading_state(const bb_heat_simulation *simulation)
{
    const bb_thermal *thermal = simulation->problem->thermal;
    const double *state = bb_stepper_state(simulation->stepper);
    double capacity = 0.0;
    for (bb_index i = 0; i < thermal->clamp_count; ++i) {
        capacity += thermal->capacity[thermal->node_count + i];
    }
    const double joules = bb_thermal_clamp_energy(thermal, state);
    return (bb_loaded_wafer){joules, joules / capacity, bb_thermal_ring_energy(thermal, state),
                             NAN};
}

// The same temperature throughout.
static void set_wafer(bb_heat_simulation *simulation, double rise)
{
    const bb_thermal *thermal = simulation->problem->thermal;
    const double none = 0.0;
    for (bb_index i = 0; i < thermal->node_count; ++i) {
        bb_stepper_set(simulation->stepper, i, 1, &rise);
    }
    for (bb_index i = 0; i < thermal->tau_count; ++i) {
        bb_stepper_set(simulation->stepper, bb_thermal_tau_first(thermal) + i, 1, &none);
    }
}

double bb_wafer_loading_unload(bb_heat_simulation *simulation)
{
    const double leaves = bb_thermal_wafer_energy(simulation->problem->thermal,
                                                  bb_stepper_state(simulation->stepper));
    simulation->ledger.unloaded += leaves;
    set_wafer(simulation, 0.0);
    return leaves;
}

bb_status bb_wafer_loading_step(bb_wafer_loading *loading, bb_heat_simulation *simulation)
{
    bb_status status = BB_OK;
    const bb_bare_clamp *bare = loading->bare;
    bb_stepper_set(loading->stepper, 0, bare->count,
                   bb_stepper_state(simulation->stepper) + bare->first);
    BB_TRY(bb_stepper_advance(loading->stepper, &(bb_stepper_input){0}));
    bb_bare_clamp_book(bare, bb_stepper_exchanged(loading->stepper), &simulation->ledger);
    bb_stepper_set(simulation->stepper, bare->first, bare->count,
                   bb_stepper_state(loading->stepper));
done:
    return status;
}

void bb_wafer_loading_load(bb_heat_simulation *simulation)
{
    const double rise = simulation->problem->arrival_rise;
    if (rise != 0.0) {
        set_wafer(simulation, rise);
        simulation->ledger.arrived += bb_thermal_wafer_energy(
            simulation->problem->thermal, bb_stepper_state(simulation->stepper));
    }
}

static const bb_output rows[] = {
    {"wafer", "wafer", "1", "index of the wafer", .indices = true},
    {"clamp_at_load_j", "wafer", "J", "energy stored in the clamp when the wafer was loaded",
     BB_MEMBER(bb_loaded_wafer, clamp_joules)},
    {"clamp_rise_at_load_k", "wafer", "K", "mean rise of the clamp when the wafer was loaded",
     BB_MEMBER(bb_loaded_wafer, clamp_rise)},
    {"ring_at_load_j", "wafer", "J", "energy stored in the ring when the wafer was loaded",
     BB_MEMBER(bb_loaded_wafer, ring_joules)},
    {"unloaded_j", "wafer", "J", "energy that left with the wafer", .note = "NaN of the last",
     BB_MEMBER(bb_loaded_wafer, unloaded_joules)},
};
const bb_output_table bb_wafer_loading_outputs = {"/wafers, wafer with `wafers.count` over 1", NULL,
                                                  "wafers", "wafer", BB_OUTPUT_ROWS(rows)};

bb_status bb_wafer_loading_publish(const bb_loaded_wafer *wafers, bb_index count,
                                   bb_results *results)
{
    return count == 1 ? BB_OK
                      : bb_output_table_publish_records(&bb_wafer_loading_outputs, wafers,
                                                        sizeof *wafers, count, NULL, results);
}
