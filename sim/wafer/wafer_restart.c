// SPDX-License-Identifier: Apache-2.0
//
// Exact restart of the heating of a wafer study: everything that its next step reads and all that
// it has kept goes into a checkpoint at the end of a step, and comes back to the same bits.
#include "core/log.h"
#include "core/memory.h"
#include "sim/config/binding.h"
#include "sim/subject.h"
#include "sim/wafer/heat/wafer_heating.h"

#include <stdint.h>
#include <string.h>

enum { MOST_KEYS = 16, MOST_PIECES = 11 };

static const double usual_seconds = 60.0;

bb_status bb_wafer_heating_subject(const bb_wafer_study *study, bb_text *out)
{
    static const char *const names[] = {"wafer", "clamp", "hood",   "ring",
                                        "mesh",  "scan",  "wafers", "probes"};
    static const char *const none[] = {NULL};
    bb_status status = BB_OK;
    bb_key keys[MOST_KEYS];
    bb_schema heat = {"heat", sizeof *study, keys, 0};
    for (size_t n = 0; n < sizeof names / sizeof *names; ++n) {
        keys[heat.key_count++] = *bb_binding_key(&bb_wafer_study_schema, names[n]);
    }
    BB_TRY(bb_text_add(out, "experiment: wafer\n"));
    BB_TRY(bb_subject_write(&heat, study, none, out));
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

// What is kept by then beside place, ledger and state.
static bb_index list_pieces(const bb_heating_place *place, const bb_wafer_problem *problem,
                            const bb_wafer_heating *heating, bb_store_piece *pieces)
{
    const bb_index ended = place->wafer * heating->field_count + place->field;
    const bb_index each = (bb_index)sizeof(double);
    bb_index count = 0;
    pieces[count++] =
        (bb_store_piece){heating->ledgers, ended * (bb_index)sizeof *heating->ledgers};
    pieces[count++] = (bb_store_piece){heating->imbalance, ended * each};
    pieces[count++] = (bb_store_piece){heating->clipped_joules, ended * each};
    pieces[count++] =
        (bb_store_piece){heating->wafers, heating->wafer_count * (bb_index)sizeof *heating->wafers};
    pieces[count++] = (bb_store_piece){heating->probes.rows,
                                       heating->probes.taken * heating->probes.width * each};
    pieces[count++] = (bb_store_piece){heating->inputs, kept_steps(place, heating, problem) *
                                                            heating->cell_count * each};
    const bb_index wafer = place->wafer - (heating->wafer_count - heating->scored_wafers);
    const bb_index aligned = wafer < 0 ? 0 : wafer + (place->rested == problem->rest_steps);
    pieces[count++] = (bb_store_piece){heating->references, aligned * heating->cell_count * each};
    return count;
}

bb_status bb_wafer_heating_save(bb_restart *restart, bool now, const bb_heating_place *place,
                                const bb_heat_simulation *simulation,
                                const bb_wafer_heating *heating)
{
    bb_status status = BB_OK;
    bb_store_piece pieces[MOST_PIECES] = {
        {place, sizeof *place},
        {&simulation->ledger, sizeof simulation->ledger},
        {&heating->probes.taken, sizeof heating->probes.taken},
        {bb_stepper_state(simulation->stepper),
         simulation->problem->thermal->size * (bb_index)sizeof(double)}};
    if (!bb_restart_is_due(restart, now)) {
        goto done;
    }
    const bb_index count = 4 + list_pieces(place, simulation->problem, heating, pieces + 4);
    BB_TRY(bb_restart_write(restart, pieces, count));
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
    bb_store_piece pieces[MOST_PIECES];
    double *state = NULL;
    const bb_index size = simulation->problem->thermal->size;
    BB_TRY(bb_store_take(restart->resumed, place, sizeof *place));
    BB_TRY(bb_store_take(restart->resumed, &simulation->ledger, sizeof simulation->ledger));
    BB_TRY(bb_store_take(restart->resumed, &heating->probes.taken, sizeof heating->probes.taken));
    BB_TRY(check_place(place, heating, simulation->problem));
    BB_TRY(BB_ALLOCATE(size, &state));
    BB_TRY(bb_store_take(restart->resumed, state, size * (bb_index)sizeof *state));
    bb_stepper_set(simulation->stepper, 0, size, state);
    const bb_index count = list_pieces(place, simulation->problem, heating, pieces);
    BB_TRY(bb_store_take_list(restart->resumed, pieces, count)); // into heating's own arrays
    bb_store_close(&restart->resumed);
    bb_log_info("going on at wafer %td, exposure %td, step %td", place->wafer, place->field,
                place->step);
done:
    BB_RELEASE(&state);
    return status;
}
