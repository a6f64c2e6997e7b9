// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_heating.h"

#include "core/log.h"
#include "core/memory.h"
#include "core/stage.h"
#include "solvers/stepper.h"

// The state of the loop over exposures.
typedef struct heating_run {
    const bb_wafer_problem *problem;
    bb_wafer_heating *out;
    bb_stepper *stepper;
    bb_ledger ledger;
    double *energy; // [covered nodes of a field], grown as needed
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
    BB_TRY(bb_stepper_create(&problem->thermal->step_matrix, problem->thermal->per_joule,
                             &run->stepper));
done:
    return status;
}

static bb_status substep(heating_run *run, bb_index count, const int32_t *nodes, double deposited)
{
    bb_ledger_add(&run->ledger, run->problem->thermal, bb_stepper_state(run->stepper), deposited);
    return bb_stepper_step(run->stepper, count, nodes, run->energy);
}

// u is linear in S, so the mean of both ends of a step gives the mean displacement in it.
static bb_status keep_input(heating_run *run, bb_index light_step)
{
    bb_status status = BB_OK;
    bb_index cells = run->out->cell_count;
    double *input =
        run->out->inputs + (run->next_scored * run->out->light_steps + light_step) * cells;
    BB_TRY(bb_wafer_problem_restrict(run->problem, bb_stepper_state(run->stepper), run->after));
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

static bb_status expose_light(heating_run *run, const bb_exposure *exposure, bool scored)
{
    bb_status status = BB_OK;
    const bb_index parts = run->problem->substeps;
    if (scored) {
        BB_TRY(
            bb_wafer_problem_restrict(run->problem, bb_stepper_state(run->stepper), run->before));
    }
    for (bb_index light = 0; light < run->out->light_steps; ++light) {
        for (bb_index part = light * parts; part < (light + 1) * parts; ++part) {
            double deposited = bb_exposure_energy(exposure, part, parts, run->energy);
            BB_TRY(substep(run, exposure->count, exposure->node, deposited));
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
    const bb_wafer_problem *problem = run->problem;
    bb_exposure *exposure = NULL;
    bool scored = problem->scored[run->next_scored] == field;
    BB_TRY(bb_exposure_create(problem->mesh, problem->scan, field, problem->absorption, &exposure));
    run->out->clipped_joules[field] = exposure->clipped;
    BB_TRY(bb_memory_resize(exposure->count, sizeof *run->energy, (void **)&run->energy));
    BB_TRY(expose_light(run, exposure, scored));
    for (bb_index part = 0; part < problem->scan->dark_steps * problem->substeps; ++part) {
        BB_TRY(substep(run, 0, NULL, 0.0));
    }
    run->out->ledgers[field] = run->ledger;
    run->out->imbalance[field] = bb_ledger_close(&run->out->ledgers[field], problem->thermal,
                                                 bb_stepper_state(run->stepper));
    run->next_scored += scored;
done:
    bb_exposure_destroy(&exposure);
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
    bb_stepper_destroy(&run.stepper);
    BB_RELEASE(&run.energy);
    BB_RELEASE(&run.before);
    BB_RELEASE(&run.after);
    if (status != BB_OK) {
        bb_wafer_heating_release(out);
    }
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
