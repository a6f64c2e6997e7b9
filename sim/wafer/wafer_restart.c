// SPDX-License-Identifier: Apache-2.0
//
// Exact restart of the heating of a wafer study: everything that its next step reads and all that
// it has kept goes into a checkpoint at the end of a step, and comes back to the same bits.
#include "core/log.h"
#include "core/memory.h"
#include "sim/output/subject.h"
#include "sim/wafer/heat/wafer_heating.h"

#include <string.h>

enum { HEAD = 3, REST = 7 };

static const double usual_seconds = 60.0;

bb_status bb_wafer_heating_subject(const bb_wafer_study *study, bb_text *out)
{
    static const char *const others[] = {"title",     "seed",      "device", "response",
                                         "metrology", "realtime",  "dump",   "machine",
                                         "kernels",   "pipelines", NULL};
    bb_status status = BB_OK;
    BB_TRY(bb_subject_write(&bb_wafer_study_schema, study, others, out));
    BB_TRY(bb_text_add(out, "response:\n  grid: {columns: %td, rows: %td}\n",
                       study->response.grid.columns, study->response.grid.rows));
    // Inputs have a second block where rows take one.
    if (study->mesh.through_thickness == (int)BB_THROUGH_TWO_MODE) {
        BB_TRY(bb_text_add(out, "  moment: %d\n",
                           study->response.generator == (int)BB_GENERATOR_PLATE ||
                               study->response.generator == (int)BB_GENERATOR_FILE));
    }
    // Of metrology the time on the clamp before the first exposure heats and cools.
    BB_TRY(bb_text_add(out, "metrology:\n  alignment_s: %.17g\n", study->metrology.alignment_s));
done:
    return status;
}

bb_status bb_wafer_heating_restart(const bb_wafer_study *study, const bb_run_options *options,
                                   bb_restart *out)
{
    bb_status status = BB_OK;
    bb_text subject = {0};
    *out = (bb_restart){0};
    if (options->checkpoint == NULL && options->resume == NULL) {
        goto done;
    }
    BB_TRY(bb_wafer_heating_subject(study, &subject));
    BB_TRY(bb_restart_open(options, usual_seconds, &subject, out));
done:
    bb_text_release(&subject);
    return status;
}

// Light steps whose inputs are kept by then.
static bb_index kept_steps(const bb_heating_place *place, const bb_wafer_heating *heating,
                           const bb_wafer_problem *problem)
{
    const bb_index wafer = place->wafer - (heating->wafer_count - heating->scored_wafers);
    if (wafer < 0) {
        return 0;
    }
    bb_index kept = (wafer * heating->scored_count + place->next_scored) * heating->light_steps;
    if (place->next_scored < problem->scored_count &&
        problem->scored[place->next_scored] == place->field) {
        kept += place->step < heating->light_steps ? place->step : heating->light_steps;
    }
    return kept;
}

// What decides the sizes of the rest.
static void list_head(const bb_heating_place *place, const bb_heat_simulation *simulation,
                      const bb_wafer_heating *heating, bb_store_piece out[HEAD])
{
    out[0] = (bb_store_piece){place, sizeof *place};
    out[1] = (bb_store_piece){&simulation->ledger, sizeof simulation->ledger};
    out[2] = (bb_store_piece){&heating->probes.taken, sizeof heating->probes.taken};
}

// What is kept by then beside the state.
static void list_rest(const bb_heating_place *place, const bb_wafer_problem *problem,
                      const bb_wafer_heating *heating, bb_store_piece out[REST])
{
    const bb_index each = (bb_index)sizeof(double);
    const bb_index ended = place->wafer * heating->field_count + place->field;
    const bb_index wafer = place->wafer - (heating->wafer_count - heating->scored_wafers);
    const bb_index aligned = wafer < 0 ? 0 : wafer + (place->rested == problem->rest_steps);
    const bb_index cells = heating->cell_count * each;
    const bb_store_piece all[REST] = {
        {heating->ledgers, ended * (bb_index)sizeof *heating->ledgers},
        {heating->imbalance, ended * each},
        {heating->clipped_joules, ended * each},
        {heating->wafers, heating->wafer_count * (bb_index)sizeof *heating->wafers},
        {heating->probes.rows, heating->probes.taken * heating->probes.width * each},
        {heating->inputs, kept_steps(place, heating, problem) * cells},
        {heating->references, aligned * cells}};
    memcpy(out, all, sizeof all);
}

bb_status bb_wafer_heating_save(bb_restart *restart, bool now, const bb_heating_place *place,
                                const bb_heat_simulation *simulation,
                                const bb_wafer_heating *heating)
{
    bb_status status = BB_OK;
    const bb_index state_bytes = simulation->problem->thermal->size * (bb_index)sizeof(double);
    bb_store_piece pieces[HEAD + 1 + REST];
    if (!bb_restart_is_due(restart, now)) {
        goto done;
    }
    list_head(place, simulation, heating, pieces);
    pieces[HEAD] = (bb_store_piece){bb_stepper_state(simulation->stepper), state_bytes};
    list_rest(place, simulation->problem, heating, pieces + HEAD + 1);
    BB_TRY(bb_restart_write(restart, pieces, HEAD + 1 + REST));
    bb_log_detail("checkpoint at wafer %td, exposure %td, step %td", place->wafer, place->field,
                  place->step);
done:
    return status;
}

static bb_status check_place(const bb_heating_place *place, const bb_wafer_heating *heating,
                             const bb_wafer_problem *problem)
{
    bb_status status = BB_OK;
    BB_REQUIRE(place->wafer >= 0 && place->wafer < heating->wafer_count && place->field >= 0 &&
                   place->field <= heating->field_count && place->step >= 0 &&
                   place->wafer * heating->field_count + place->field <= heating->exposed_count &&
                   place->next_scored >= 0 && place->next_scored <= problem->scored_count &&
                   place->rested >= 0 && place->rested <= problem->rest_steps &&
                   heating->probes.taken >= 0 && heating->probes.taken <= heating->probes.capacity,
               BB_IO, "checkpoint at wafer %td, exposure %td, step %td: beyond this study",
               place->wafer, place->field, place->step);
done:
    return status;
}

bb_status bb_wafer_heating_load(bb_restart *restart, bb_heating_place *place,
                                bb_heat_simulation *simulation, bb_wafer_heating *heating)
{
    bb_status status = BB_OK;
    bb_store_piece pieces[REST]; // of heating's own arrays
    double *state = NULL;
    const bb_index size = simulation->problem->thermal->size;
    list_head(place, simulation, heating, pieces);
    BB_TRY(bb_store_take_list(restart->resumed, pieces, HEAD));
    BB_TRY(check_place(place, heating, simulation->problem));
    BB_TRY(BB_ALLOCATE(size, &state));
    BB_TRY(bb_store_take(restart->resumed, state, size * (bb_index)sizeof *state));
    bb_stepper_set(simulation->stepper, 0, size, state);
    list_rest(place, simulation->problem, heating, pieces);
    BB_TRY(bb_store_take_list(restart->resumed, pieces, REST));
    bb_store_close(&restart->resumed);
    bb_log_info("going on at wafer %td, exposure %td, step %td", place->wafer, place->field,
                place->step);
done:
    BB_RELEASE(&state);
    return status;
}
