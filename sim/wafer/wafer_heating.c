// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_heating.h"

#include "core/log.h"
#include "core/memory.h"
#include "core/stage.h"
#include "sim/wafer/wafer_march.h"

// The state of the loop over exposures.
typedef struct heating_run {
    const bb_wafer_problem *problem;
    bb_wafer_heating *out;
    bb_wafer_march march;
    double *before; // [cell_count] S at the start of a step
    double *after;  // [cell_count] S at its end
    bb_index next_scored;
} heating_run;

static bb_status allocate(const bb_wafer_problem *problem, heating_run *run)
{
    bb_status status = BB_OK;
    bb_wafer_heating *out = run->out;
    out->exposed_count = problem->scored[problem->scored_count - 1] + 1;
    out->light_steps = problem->scan->light_steps;
    out->cell_count = problem->grid->cell_count;
    BB_TRY(BB_ALLOCATE(problem->scored_count * out->light_steps * out->cell_count, &out->inputs));
    BB_TRY(BB_ZEROED(out->exposed_count, &out->ledgers));
    BB_TRY(BB_ZEROED(out->exposed_count, &out->imbalance));
    BB_TRY(BB_ZEROED(out->exposed_count, &out->clipped_joules));
    BB_TRY(BB_ALLOCATE(out->cell_count, &run->before));
    BB_TRY(BB_ALLOCATE(out->cell_count, &run->after));
    BB_TRY(bb_wafer_march_open(problem, &run->march));
done:
    return status;
}

// u is linear in S, so the mean of both ends of a step gives the mean displacement in it.
static bb_status keep_input(heating_run *run, bb_index light_step)
{
    bb_status status = BB_OK;
    bb_index cells = run->out->cell_count;
    double *input =
        run->out->inputs + (run->next_scored * run->out->light_steps + light_step) * cells;
    BB_TRY(
        bb_wafer_problem_restrict(run->problem, bb_stepper_state(run->march.stepper), run->after));
    for (bb_index j = 0; j < cells; ++j) {
        input[j] = 0.5 * (run->before[j] + run->after[j]);
    }
    bb_index bad = bb_stage_inspect("temperatures", input, cells);
    BB_REQUIRE(
        bad < 0, BB_INVALID,
        "temperature of cell %td in light step %td of field %td: %g, expected a finite value", bad,
        light_step, run->problem->scored[run->next_scored], input[bad]);
    double *done_with = run->before;
    run->before = run->after;
    run->after = done_with;
done:
    return status;
}

static bb_status expose_light(heating_run *run, bool scored)
{
    bb_status status = BB_OK;
    const bb_index parts = run->problem->substeps;
    const double *state = bb_stepper_state(run->march.stepper);
    if (scored) {
        BB_TRY(bb_wafer_problem_restrict(run->problem, state, run->before));
    }
    for (bb_index light = 0; light < run->out->light_steps; ++light) {
        for (bb_index part = light * parts; part < (light + 1) * parts; ++part) {
            BB_TRY(bb_wafer_march_step(&run->march, part));
        }
        if (scored) {
            BB_TRY(keep_input(run, light));
        }
    }
done:
    return status;
}

static bb_status expose(heating_run *run, bb_index field)
{
    bb_status status = BB_OK;
    const bb_scan *scan = run->problem->scan;
    const bb_index parts = run->problem->substeps;
    bool scored = run->problem->scored[run->next_scored] == field;
    BB_TRY(bb_wafer_march_expose(&run->march, field));
    run->out->clipped_joules[field] = run->march.clipped;
    BB_TRY(expose_light(run, scored));
    for (bb_index part = scan->light_steps * parts;
         part < (scan->light_steps + scan->dark_steps) * parts; ++part) {
        BB_TRY(bb_wafer_march_step(&run->march, part));
    }
    run->out->ledgers[field] = run->march.ledger;
    run->out->imbalance[field] = bb_ledger_close(&run->out->ledgers[field], run->problem->thermal,
                                                 bb_stepper_state(run->march.stepper));
    run->next_scored += scored;
done:
    return status;
}

bb_status bb_wafer_heating_run(const bb_wafer_problem *problem, bb_wafer_heating *out)
{
    bb_status status = BB_OK;
    heating_run run = {.problem = problem, .out = out};
    *out = (bb_wafer_heating){0};
    BB_TRY(allocate(problem, &run));
    for (bb_index field = 0; field < out->exposed_count; ++field) {
        bb_progress("heating", field, out->exposed_count);
        BB_TRY(expose(&run, field));
    }
    bb_progress("heating", out->exposed_count, out->exposed_count);
done:
    bb_wafer_march_release(&run.march);
    BB_RELEASE(&run.before);
    BB_RELEASE(&run.after);
    if (status != BB_OK) {
        bb_wafer_heating_release(out);
    }
    return status;
}

bb_status bb_wafer_heating_publish(const bb_wafer_heating *heating, bb_results *results)
{
    static const struct {
        const char *path, *unit, *long_name;
    } entries[] = {
        {"energy/deposited_j",    "J", "energy put into wafer and ring"                        },
        {"energy/lost_j",         "J", "energy lost to water and hood"                         },
        {"energy/lost_water_j",   "J", "energy lost to the cooling water under wafer and clamp"},
        {"energy/lost_hood_j",    "J", "energy lost to the cooling hood"                       },
        {"energy/lost_ring_j",    "J", "energy lost from the ring to the cooling water"        },
        {"energy/stored_wafer_j", "J", "energy stored in the wafer"                            },
        {"energy/stored_clamp_j", "J", "energy stored in the clamp"                            },
        {"energy/stored_ring_j",  "J", "energy stored in the ring"                             },
        {"energy/imbalance",      "1", "(deposited - lost - stored) / deposited"               },
        {"energy/clipped_j",      "J", "dose that fell beside wafer and ring in this exposure" },
    };
    enum { ENTRIES = sizeof entries / sizeof *entries };
    bb_status status = BB_OK;
    bb_index count = heating->exposed_count;
    double *values = NULL; // [ENTRIES + 1][count]
    BB_TRY(BB_ALLOCATE((ENTRIES + 1) * count, &values));
    for (bb_index f = 0; f < count; ++f) {
        const bb_ledger *ledger = &heating->ledgers[f];
        const double row[ENTRIES + 1] = {ledger->deposited,
                                         ledger->lost + ledger->lost_hood + ledger->lost_ring,
                                         ledger->lost,
                                         ledger->lost_hood,
                                         ledger->lost_ring,
                                         ledger->stored_wafer,
                                         ledger->stored_clamp,
                                         ledger->stored_ring,
                                         heating->imbalance[f],
                                         heating->clipped_joules[f],
                                         (double)f};
        for (int e = 0; e <= ENTRIES; ++e) {
            values[e * count + f] = row[e];
        }
    }
    BB_TRY(bb_results_axis(results, "energy/exposure", "1", "exposure index", count,
                           values + ENTRIES * count));
    for (int e = 0; e < ENTRIES; ++e) {
        BB_TRY(bb_results_values(results, entries[e].path, entries[e].unit, entries[e].long_name,
                                 "exposure", values + e * count));
    }
done:
    BB_RELEASE(&values);
    return status;
}

void bb_wafer_heating_release(bb_wafer_heating *heating)
{
    BB_RELEASE(&heating->inputs);
    BB_RELEASE(&heating->ledgers);
    BB_RELEASE(&heating->imbalance);
    BB_RELEASE(&heating->clipped_joules);
}

const double *bb_wafer_heating_input(const bb_wafer_heating *heating, bb_index index,
                                     bb_index light_step)
{
    return heating->inputs + (index * heating->light_steps + light_step) * heating->cell_count;
}
