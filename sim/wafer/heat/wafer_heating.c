// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/heat/wafer_heating.h"

#include "core/log.h"
#include "core/memory.h"
#include "core/stage.h"
#include "core/thread.h"
#include "sim/wafer/wafer_work.h"

#include <math.h>

// Change of wafers: a wafer leaves with its heat, clamp and ring cool without one, and the next
// wafer arrives. The simulation holds the state between steps.
typedef struct wafer_loading {
    const bb_bare_clamp *bare; // borrowed; NULL for a single wafer
    bb_stepper *stepper;
} wafer_loading;

static bb_status open_loading(const bb_wafer_problem *problem, wafer_loading *out)
{
    bb_status status = BB_OK;
    *out = (wafer_loading){.bare = problem->bare};
    if (problem->bare != NULL) {
        BB_TRY(bb_stepper_create_implicit(&problem->bare->conductance,
                                          problem->thermal->capacity + problem->bare->first,
                                          problem->bare->step, &out->stepper));
    }
done:
    return status;
}

static bb_loaded_wafer state_at_load(const bb_heat_simulation *simulation)
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

// Sets a uniform temperature rise of the wafer.
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

// Removes the wafer and sets its rises to 0. Returns the heat that leaves with it, J, and adds it
// to the ledger.
static double unload(bb_heat_simulation *simulation)
{
    const double leaves = bb_thermal_wafer_energy(simulation->problem->thermal,
                                                  bb_stepper_state(simulation->stepper));
    simulation->ledger.unloaded += leaves;
    set_wafer(simulation, 0.0);
    return leaves;
}

static bb_status step_bare(wafer_loading *loading, bb_heat_simulation *simulation)
{
    bb_status status = BB_OK;
    const bb_bare_clamp *bare = loading->bare;
    bb_stepper_set(loading->stepper, 0, bare->count,
                   bb_stepper_state(simulation->stepper) + bare->first);
    BB_TRY(bb_stepper_advance(loading->stepper, &(bb_stepper_input){0}));
    bb_bare_clamp_account(bare, bb_stepper_exchanged(loading->stepper), &simulation->ledger);
    bb_stepper_set(simulation->stepper, bare->first, bare->count,
                   bb_stepper_state(loading->stepper));
done:
    return status;
}

// Loads a wafer with the problem's temperature rise on arrival and adds its heat to the ledger.
static void load_wafer(bb_heat_simulation *simulation)
{
    const double rise = simulation->problem->arrival_rise;
    if (rise != 0.0) {
        set_wafer(simulation, rise);
        simulation->ledger.arrived += bb_thermal_wafer_energy(
            simulation->problem->thermal, bb_stepper_state(simulation->stepper));
    }
}

// State of the loop over time steps.
typedef struct heating_run {
    const bb_wafer_problem *problem;
    bb_wafer_heating *out;
    bb_restart *restart; // NULL without checkpoints
    bb_heating_place place;
    bool exposed; // true if the simulation is set to the exposure in `place`
    bb_heat_simulation simulation;
    wafer_loading loading;
    double *before; // [cell_count] cell temperatures S at the start of a step
    double *after;  // [cell_count] S at the end of the step
    bb_heating_formats formats;
    bb_narrow_matrix *restriction; // matrix of narrow interpolation
} heating_run;

static bb_index steps_of_field(const heating_run *run)
{
    return run->problem->scan->light_steps + run->problem->scan->dark_steps;
}

static bb_status allocate(const bb_wafer_problem *problem, heating_run *run)
{
    bb_status status = BB_OK;
    bb_wafer_heating *out = run->out;
    const bb_index last = problem->scored[problem->scored_count - 1] + 1;
    const bb_index before = problem->wafer_count - 1;
    out->wafer_count = problem->wafer_count;
    out->scored_wafers = problem->scored_wafers;
    out->scored_count = problem->scored_count;
    out->field_count = problem->scan->field_count;
    out->exposed_count = before * out->field_count + last;
    out->light_steps = problem->scan->light_steps;
    out->cell_count = problem->input_count;
    BB_TRY(BB_ALLOCATE(out->scored_wafers * out->scored_count * out->light_steps * out->cell_count,
                       &out->inputs));
    BB_TRY(BB_ZEROED(out->scored_wafers * out->cell_count, &out->references));
    BB_TRY(BB_ZEROED(out->exposed_count, &out->ledgers));
    BB_TRY(BB_ZEROED(out->exposed_count, &out->imbalance));
    BB_TRY(BB_ZEROED(out->exposed_count, &out->clipped_joules));
    BB_TRY(BB_ZEROED(out->wafer_count, &out->wafers));
    BB_TRY(bb_wafer_probes_create(problem,
                                  out->exposed_count * steps_of_field(run) +
                                      out->wafer_count * problem->rest_steps +
                                      (before > 0 ? before * problem->bare->steps : 0),
                                  &out->probes));
    BB_TRY(BB_ALLOCATE(out->cell_count, &run->before));
    BB_TRY(BB_ALLOCATE(out->cell_count, &run->after));
    BB_TRY(bb_heat_simulation_open(problem, run->formats.heat, &run->simulation));
    BB_TRY(open_loading(problem, &run->loading));
    if (run->formats.interpolation != NULL) {
        BB_TRY(bb_narrow_matrix_create(&problem->grid->restriction, run->formats.interpolation,
                                       &run->restriction));
    }
done:
    return status;
}

// Restricts the state to cell temperatures in `cells` [cell_count].
static bb_status restrict_state(heating_run *run, double *cells)
{
    bb_status status = BB_OK;
    const double *state = bb_stepper_state(run->simulation.stepper);
    const bb_index block = run->problem->grid->cell_count;
    if (run->restriction == NULL) {
        return bb_wafer_problem_restrict(run->problem, state, cells);
    }
    BB_TRY(bb_narrow_matrix_multiply(run->restriction, state, cells));
    if (run->problem->input_blocks > 1) {
        BB_TRY(bb_narrow_matrix_multiply(
            run->restriction, state + bb_thermal_tau_first(run->problem->thermal), cells + block));
    }
    BB_TRY(
        bb_narrow_formats_store_all(run->formats.interpolation, run->problem->input_count, cells));
done:
    return status;
}

// Mean of the temperatures at both ends of a step. Displacement u is linear in S, so this gives the
// mean displacement.
typedef struct averaging {
    const double *before, *after;
    double *mean;
} averaging;

static bb_status average(void *context, bb_index begin, bb_index end)
{
    const averaging *task = context;
    for (bb_index j = begin; j < end; ++j) {
        task->mean[j] = 0.5 * (task->before[j] + task->after[j]);
    }
    return BB_OK;
}

static bb_status store_input(heating_run *run, bb_index light_step)
{
    enum { GRAIN = 8192 };
    bb_status status = BB_OK;
    const bb_wafer_heating *out = run->out;
    const bb_index cells = out->cell_count;
    const bb_index wafer = run->place.wafer - (out->wafer_count - out->scored_wafers);
    double *input =
        out->inputs +
        ((wafer * out->scored_count + run->place.next_scored) * out->light_steps + light_step) *
            cells;
    BB_TRY(restrict_state(run, run->after));
    averaging means = {run->before, run->after, input};
    BB_TRY(bb_thread_ranges(cells, GRAIN, average, &means)); // page faults in parallel
    const bool narrow =
        run->formats.heat != NULL || run->formats.interpolation != NULL; // fails in the product
    bb_index bad = bb_stage_find_nonfinite("temperatures", input, cells);
    BB_REQUIRE(
        bad < 0 || narrow, BB_INVALID,
        "temperature of cell %td in light step %td of field %td: %g, expected a finite value", bad,
        light_step, run->problem->scored[run->place.next_scored], input[bad]);
    double *done_with = run->before;
    run->before = run->after;
    run->after = done_with;
done:
    return status;
}

static bool is_resting(const heating_run *run)
{
    return run->place.rested < run->problem->rest_steps;
}

// Time at the end of the current step, s, computed from integers so that rounding errors do not
// accumulate.
static double time_of(const heating_run *run)
{
    const bb_heating_place *place = &run->place;
    const bb_bare_clamp *bare = run->problem->bare;
    const double scan = run->problem->scan->step * (double)steps_of_field(run);
    const double rest = run->problem->scan->step * (double)run->problem->rest_steps;
    double time = (double)place->field * scan;
    if (bare != NULL) {
        time += (double)place->wafer *
                (rest + (double)run->out->field_count * scan + (double)bare->steps * bare->step);
    }
    if (is_resting(run)) {
        return time + (double)(place->rested + 1) * run->problem->scan->step;
    }
    time += rest;
    const bool away = place->field == run->out->field_count;
    const double step = away && bare != NULL ? bare->step : run->problem->scan->step;
    return time + (double)(place->step + 1) * step;
}

static bool is_scored(const heating_run *run)
{
    const bb_heating_place *place = &run->place;
    return place->wafer >= run->out->wafer_count - run->out->scored_wafers &&
           place->next_scored < run->out->scored_count &&
           run->problem->scored[place->next_scored] == place->field;
}

static bb_status begin_exposure(heating_run *run)
{
    bb_status status = BB_OK;
    const bb_heating_place *place = &run->place;
    const bb_index exposure = place->wafer * run->out->field_count + place->field;
    bb_log_progress("heating", exposure, run->out->exposed_count);
    BB_TRY(bb_heat_simulation_expose(&run->simulation, place->field));
    run->out->clipped_joules[exposure] = run->simulation.clipped;
    if (is_scored(run)) {
        BB_TRY(restrict_state(run, run->before));
    }
    run->exposed = true;
done:
    return status;
}

static void end_exposure(heating_run *run)
{
    bb_heating_place *place = &run->place;
    const bb_index exposure = place->wafer * run->out->field_count + place->field;
    run->out->ledgers[exposure] = run->simulation.ledger;
    run->out->imbalance[exposure] =
        bb_ledger_close(&run->out->ledgers[exposure], run->problem->thermal,
                        bb_stepper_state(run->simulation.stepper));
    place->next_scored += is_scored(run);
    place->field += 1;
    place->step = 0;
    run->exposed = false;
}

// Runs one step of the scan.
static bb_status expose(heating_run *run)
{
    bb_status status = BB_OK;
    bb_heating_place *place = &run->place;
    const bb_index parts = run->problem->substeps;
    if (!run->exposed) {
        BB_TRY(begin_exposure(run));
    }
    for (bb_index part = place->step * parts; part < (place->step + 1) * parts; ++part) {
        BB_TRY(bb_heat_simulation_step(&run->simulation, part));
    }
    if (place->step < run->out->light_steps && is_scored(run)) {
        BB_TRY(store_input(run, place->step));
    }
    bb_wafer_probes_record(&run->out->probes, time_of(run), place->wafer, false,
                           bb_stepper_state(run->simulation.stepper));
    if (++place->step == steps_of_field(run)) {
        end_exposure(run);
    }
done:
    return status;
}

// Aligns a scored wafer after its dark steps: overlay is measured from the state at this time.
static bb_status align(heating_run *run)
{
    const bb_wafer_heating *out = run->out;
    const bb_index wafer = run->place.wafer - (out->wafer_count - out->scored_wafers);
    if (wafer < 0 || is_resting(run)) {
        return BB_OK;
    }
    return restrict_state(run, out->references + wafer * out->cell_count);
}

static bb_status load(heating_run *run)
{
    run->out->wafers[run->place.wafer] = state_at_load(&run->simulation);
    load_wafer(&run->simulation);
    return align(run);
}

// Runs one dark step before the first exposure.
static bb_status run_dark_step(heating_run *run)
{
    bb_status status = BB_OK;
    bb_heating_place *place = &run->place;
    for (bb_index part = 0; part < run->problem->substeps; ++part) {
        BB_TRY(bb_heat_simulation_step_dark(&run->simulation));
    }
    bb_wafer_probes_record(&run->out->probes, time_of(run), place->wafer, false,
                           bb_stepper_state(run->simulation.stepper));
    ++place->rested;
    BB_TRY(align(run));
done:
    return status;
}

// Runs one step of the bare clamp between two wafers.
static bb_status run_bare_step(heating_run *run)
{
    bb_status status = BB_OK;
    bb_heating_place *place = &run->place;
    if (place->step == 0) {
        run->out->wafers[place->wafer].unloaded_joules = unload(&run->simulation);
    }
    BB_TRY(step_bare(&run->loading, &run->simulation));
    bb_wafer_probes_record(&run->out->probes, time_of(run), place->wafer, true,
                           bb_stepper_state(run->simulation.stepper));
    if (++place->step == run->problem->bare->steps) {
        *place = (bb_heating_place){.wafer = place->wafer + 1};
        BB_TRY(load(run));
    }
done:
    return status;
}

static bool is_done(const heating_run *run)
{
    return run->place.wafer * run->out->field_count + run->place.field == run->out->exposed_count &&
           run->place.wafer == run->out->wafer_count - 1;
}

static bb_status simulation(heating_run *run)
{
    bb_status status = BB_OK;
    bool heated = false;
    if (run->restart != NULL && run->restart->resumed != NULL) {
        BB_TRY(
            bb_wafer_heating_load(run->restart, &run->place, &run->simulation, run->out, &heated));
    }
    if (!heated) {
        BB_TRY(load(run));
    }
    while (!is_done(run)) {
        BB_TRY(is_resting(run)                             ? run_dark_step(run)
               : run->place.field == run->out->field_count ? run_bare_step(run)
                                                           : expose(run));
        BB_TRY(bb_wafer_heating_save(run->restart, is_done(run), &run->place, &run->simulation,
                                     run->out));
    }
    bb_log_progress("heating", run->out->exposed_count, run->out->exposed_count);
done:
    return status;
}

bb_status bb_wafer_heating_run(const bb_wafer_problem *problem, const bb_heating_formats *formats,
                               bb_restart *restart, bb_wafer_heating *out)
{
    bb_status status = BB_OK;
    heating_run run = {.problem = problem, .formats = *formats, .out = out, .restart = restart};
    *out = (bb_wafer_heating){0};
    BB_TRY(allocate(problem, &run));
    BB_TRY(simulation(&run));
done:
    bb_heat_simulation_release(&run.simulation);
    bb_stepper_destroy(&run.loading.stepper);
    bb_narrow_matrix_destroy(&run.restriction);
    BB_RELEASE(&run.before);
    BB_RELEASE(&run.after);
    if (status != BB_OK) {
        bb_wafer_heating_release(out);
    }
    return status;
}

bb_status bb_wafer_heating_resume(const bb_wafer_problem *problem, bb_restart *restart,
                                  bb_wafer_heating *out)
{
    return bb_wafer_heating_run(problem, &(bb_heating_formats){NULL, NULL}, restart, out);
}

void bb_wafer_heating_subtract_reference(const bb_wafer_problem *problem, bb_wafer_heating *heating)
{
    const bb_index cells = heating->cell_count;
    const bb_index each = heating->scored_count * heating->light_steps;
    for (bb_index w = 0; w < heating->scored_wafers; ++w) {
        double *reference = heating->references + w * cells;
        // All cells have the same stress-free temperature; tau, the second block, has none.
        for (bb_index j = 0; j < cells && problem->reference == (int)BB_REFERENCE_NONE; ++j) {
            const bool live = j < problem->grid->cell_count && problem->grid->area[j] > 0.0;
            reference[j] = live ? problem->stress_free : 0.0;
        }
        for (bb_index i = 0; i < each * cells; ++i) {
            heating->inputs[w * each * cells + i] -= reference[i % cells];
        }
    }
    heating->is_relative = true;
}

// Energy balance at the end of an exposure.
typedef struct row {
    bb_ledger ledger;
    double wafer, lost, imbalance, clipped;
} row;

static const bb_output rows[] = {
    {"exposure", "exposure", "1", "exposure index, over all wafers",
     .note = "up to the last scored field of the last", .indices = true},
    {"wafer", "exposure", "1", "index of the wafer", BB_MEMBER(row, wafer), .coordinate = true},
    {"deposited_j", "exposure", "J", "energy deposited in wafer and ring",
     BB_MEMBER(row, ledger.deposited)},
    {"lost_j", "exposure", "J", "energy lost to water and hood, and from the ring",
     .note = "sum of the next three", BB_MEMBER(row, lost)},
    {"lost_water_j", "exposure", "J", "energy lost to the cooling water under wafer and clamp",
     BB_MEMBER(row, ledger.lost)},
    {"lost_hood_j", "exposure", "J", "energy lost to the cooling hood",
     .note = "negative if it warms the wafer", BB_MEMBER(row, ledger.lost_hood)},
    {"lost_ring_j", "exposure", "J", "energy lost from the ring to the cooling water",
     BB_MEMBER(row, ledger.lost_ring)},
    {"stored_wafer_j", "exposure", "J", "energy stored in the wafer",
     BB_MEMBER(row, ledger.stored_wafer)},
    {"stored_clamp_j", "exposure", "J", "energy stored in the clamp",
     BB_MEMBER(row, ledger.stored_clamp)},
    {"stored_ring_j", "exposure", "J", "energy stored in the ring",
     BB_MEMBER(row, ledger.stored_ring)},
    {"arrived_j", "exposure", "J",
     "energy brought by wafers that did not arrive at water temperature",
     BB_MEMBER(row, ledger.arrived)},
    {"unloaded_j", "exposure", "J", "energy that left with earlier wafers",
     BB_MEMBER(row, ledger.unloaded)},
    {"imbalance", "exposure", "1",
     "(deposited + arrived - lost - unloaded - stored) / (deposited + abs(arrived))",
     BB_MEMBER(row, imbalance)},
    {"clipped_j", "exposure", "J", "dose outside wafer and ring in this exposure",
     BB_MEMBER(row, clipped)},
};
static const bb_output_table outputs = {"/energy, wafer", NULL, "energy", "exposure",
                                        BB_OUTPUT_ROWS(rows)};

static const bb_output loading_rows[] = {
    {"wafer", "wafer", "1", "index of the wafer", .indices = true},
    {"clamp_at_load_j", "wafer", "J", "energy stored in the clamp when the wafer was loaded",
     BB_MEMBER(bb_loaded_wafer, clamp_joules)},
    {"clamp_rise_at_load_k", "wafer", "K", "mean rise of the clamp when the wafer was loaded",
     BB_MEMBER(bb_loaded_wafer, clamp_rise)},
    {"ring_at_load_j", "wafer", "J", "energy stored in the ring when the wafer was loaded",
     BB_MEMBER(bb_loaded_wafer, ring_joules)},
    {"unloaded_j", "wafer", "J", "energy that left with the wafer", .note = "NaN for the last",
     BB_MEMBER(bb_loaded_wafer, unloaded_joules)},
};
static const bb_output_table loading_outputs = {"/wafers, wafer with `wafers.count` over 1", NULL,
                                                "wafers", "wafer", BB_OUTPUT_ROWS(loading_rows)};

bb_status bb_wafer_heating_publish(const bb_wafer_heating *heating, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_index count = heating->exposed_count;
    row *exposures = NULL; // [count]
    BB_TRY(BB_ALLOCATE(count, &exposures));
    for (bb_index f = 0; f < count; ++f) {
        const bb_ledger *ledger = &heating->ledgers[f];
        const bb_index wafer = f / heating->field_count;
        exposures[f] = (row){.ledger = *ledger,
                             .wafer = (double)wafer,
                             .lost = ledger->lost + ledger->lost_hood + ledger->lost_ring,
                             .imbalance = heating->imbalance[f],
                             .clipped = heating->clipped_joules[f]};
    }
    BB_TRY(bb_output_table_publish_records(&outputs, exposures, sizeof *exposures, count, NULL,
                                           results));
    if (heating->wafer_count > 1) {
        BB_TRY(bb_output_table_publish_records(&loading_outputs, heating->wafers,
                                               sizeof *heating->wafers, heating->wafer_count, NULL,
                                               results));
    }
done:
    BB_RELEASE(&exposures);
    return status;
}

static bb_status publish(void *work, bb_results *results)
{
    return bb_wafer_heating_publish(&((bb_wafer_work *)work)->heating, results);
}

// Time of all heat steps. Inputs are a mean of two states in each light step.
static bb_status need(const void *all, const void *extent, bb_need *out)
{
    const bb_wafer_extent *span = extent;
    const bool implicit =
        ((const bb_wafer_study *)all)->mesh.stepping == (int)BB_STEPPING_CRANK_NICOLSON;
    const bb_need steps = bb_need_repeated(
        bb_stepper_step_need(span->unknowns, implicit, span->threads), span->steps);
    *out = bb_need_together(bb_stepper_need(span->unknowns, implicit), steps);
    return BB_OK;
}

static bb_status plan_lines(const void *study, const void *extent, bb_plan *plan)
{
    (void)study;
    plan->output_bytes += 8.0 * 14.0 * ((const bb_wafer_extent *)extent)->exposed;
    return BB_OK;
}

const bb_part bb_wafer_heating_part = {
    .name = "energy",
    .need = need,
    .plan_lines = plan_lines,
    .run = publish,
    .outputs = BB_OUTPUTS(&outputs, &loading_outputs),
};

void bb_wafer_heating_release(bb_wafer_heating *heating)
{
    BB_RELEASE(&heating->inputs);
    BB_RELEASE(&heating->references);
    BB_RELEASE(&heating->ledgers);
    BB_RELEASE(&heating->imbalance);
    BB_RELEASE(&heating->clipped_joules);
    BB_RELEASE(&heating->wafers);
    bb_wafer_probes_release(&heating->probes);
    for (bb_index s = 0; s < heating->narrow_count; ++s) {
        BB_RELEASE(&heating->narrow[s].inputs);
    }
    heating->narrow_count = 0;
    BB_RELEASE(&heating->narrow);
}

const double *bb_wafer_heating_input(const bb_wafer_heating *heating, bb_index index,
                                     bb_index light_step)
{
    const bb_index field = (heating->scored_wafers - 1) * heating->scored_count + index;
    return heating->inputs + (field * heating->light_steps + light_step) * heating->cell_count;
}

void bb_wafer_heating_rises(const bb_wafer_heating *heating, bb_index index, bb_index step,
                            double *rises)
{
    const double *input = bb_wafer_heating_input(heating, index, step);
    const double *reference =
        heating->references + (heating->scored_wafers - 1) * heating->cell_count;
    for (bb_index j = 0; j < heating->cell_count; ++j) {
        rises[j] = input[j] + (heating->is_relative ? reference[j] : 0.0);
    }
}
