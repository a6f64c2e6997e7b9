// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/heat/wafer_exchange.h"

#include "core/memory.h"

#include <math.h>

bb_status bb_wafer_exchange_open(const bb_wafer_problem *problem, bb_wafer_exchange *out)
{
    bb_status status = BB_OK;
    *out = (bb_wafer_exchange){.bare = problem->bare};
    if (problem->bare != NULL) {
        BB_TRY(bb_stepper_create_implicit(&problem->bare->conductance,
                                          problem->thermal->capacity + problem->bare->first,
                                          problem->bare->step, &out->stepper));
    }
done:
    return status;
}

void bb_wafer_exchange_release(bb_wafer_exchange *exchange)
{
    bb_stepper_destroy(&exchange->stepper);
}

bb_wafer_visit bb_wafer_exchange_visit(const bb_wafer_march *march)
{
    const bb_thermal *thermal = march->problem->thermal;
    const double *state = bb_stepper_state(march->stepper);
    double capacity = 0.0;
    for (bb_index i = 0; i < thermal->clamp_count; ++i) {
        capacity += thermal->capacity[thermal->node_count + i];
    }
    const double joules = bb_thermal_clamp_energy(thermal, state);
    return (bb_wafer_visit){joules, joules / capacity, bb_thermal_ring_energy(thermal, state), NAN};
}

// The same temperature throughout.
static void set_wafer(bb_wafer_march *march, double rise)
{
    const bb_thermal *thermal = march->problem->thermal;
    const double none = 0.0;
    for (bb_index i = 0; i < thermal->node_count; ++i) {
        bb_stepper_set(march->stepper, i, 1, &rise);
    }
    for (bb_index i = 0; i < thermal->tau_count; ++i) {
        bb_stepper_set(march->stepper, bb_thermal_tau_first(thermal) + i, 1, &none);
    }
}

double bb_wafer_exchange_unload(bb_wafer_march *march)
{
    const double leaves =
        bb_thermal_wafer_energy(march->problem->thermal, bb_stepper_state(march->stepper));
    march->ledger.unloaded += leaves;
    set_wafer(march, 0.0);
    return leaves;
}

bb_status bb_wafer_exchange_step(bb_wafer_exchange *exchange, bb_wafer_march *march)
{
    bb_status status = BB_OK;
    const bb_bare_clamp *bare = exchange->bare;
    bb_stepper_set(exchange->stepper, 0, bare->count,
                   bb_stepper_state(march->stepper) + bare->first);
    BB_TRY(bb_stepper_advance(exchange->stepper, &(bb_stepper_input){0}));
    bb_bare_clamp_book(bare, bb_stepper_exchanged(exchange->stepper), &march->ledger);
    bb_stepper_set(march->stepper, bare->first, bare->count, bb_stepper_state(exchange->stepper));
done:
    return status;
}

void bb_wafer_exchange_load(bb_wafer_march *march)
{
    const double rise = march->problem->arrival_rise;
    if (rise != 0.0) {
        set_wafer(march, rise);
        march->ledger.arrived +=
            bb_thermal_wafer_energy(march->problem->thermal, bb_stepper_state(march->stepper));
    }
}

bb_status bb_wafer_visits_publish(const bb_wafer_visit *visits, bb_index count, bb_results *results)
{
    static const struct {
        const char *path, *unit, *long_name;
    } entries[] = {
        {"wafers/clamp_at_load_j",      "J", "energy stored in the clamp when the wafer was loaded"},
        {"wafers/clamp_rise_at_load_k", "K", "mean rise of the clamp when the wafer was loaded"    },
        {"wafers/ring_at_load_j",       "J", "energy stored in the ring when the wafer was loaded" },
        {"wafers/unloaded_j",           "J", "energy that left with the wafer"                     },
    };
    enum { ENTRIES = sizeof entries / sizeof *entries };
    bb_status status = BB_OK;
    double *values = NULL; // [ENTRIES + 1][count]
    if (count == 1) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE((ENTRIES + 1) * count, &values));
    for (bb_index w = 0; w < count; ++w) {
        values[w] = visits[w].clamp_joules;
        values[count + w] = visits[w].clamp_rise;
        values[2 * count + w] = visits[w].ring_joules;
        values[3 * count + w] = visits[w].unloaded_joules;
        values[4 * count + w] = (double)w;
    }
    BB_TRY(bb_results_axis(results, "wafers/wafer", "1", "index of the wafer", count,
                           values + ENTRIES * count));
    for (int e = 0; e < ENTRIES; ++e) {
        BB_TRY(bb_results_values(results, entries[e].path, entries[e].unit, entries[e].long_name,
                                 "wafer", values + e * count));
    }
done:
    BB_RELEASE(&values);
    return status;
}
