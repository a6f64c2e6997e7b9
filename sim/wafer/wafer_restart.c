// SPDX-License-Identifier: Apache-2.0
//
// Exact restart of a wafer study. During heating, a checkpoint at the end of a step stores the full
// state and all results so far. During the products, a checkpoint stores the results of finished
// fields and axes; the heat, whose inputs are gigabytes, is recomputed on restart. Both restarts
// give identical bits.
#include "core/log.h"
#include "core/memory.h"
#include "core/team.h"
#include "sim/output/subject.h"
#include "sim/pipelines/energy.h"
#include "sim/wafer/wafer_work.h"

#include <string.h>

enum { HEAD = 3, REST = 7, NO_WAFER = -1 };

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
    // With a thermal moment the inputs have a second block.
    if (study->mesh.through_thickness == (int)BB_THROUGH_TWO_MODE) {
        BB_TRY(bb_text_add(out, "  moment: %d\n",
                           study->response.generator == (int)BB_GENERATOR_PLATE ||
                               study->response.generator == (int)BB_GENERATOR_FILE));
    }
    // In metrology only the time on the clamp before the first exposure affects the heat.
    BB_TRY(bb_text_add(out, "metrology:\n  alignment_s: %.17g\n", study->metrology.alignment_s));
done:
    return status;
}

static bool searches(const bb_wafer_study *study)
{
    const bb_product_pipeline *pipelines = study->pipelines.items;
    bool found = false;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        found = found || bb_product_pipeline_searches(&pipelines[p]);
    }
    return found;
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
    out->first_stage = bb_team_joined()->size > 1 || searches(study);
done:
    bb_text_release(&subject);
    return status;
}

// Number of light steps whose inputs are stored so far.
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

// Lists the pieces that determine the sizes of the others.
static void list_head(const bb_heating_place *place, const bb_heat_simulation *simulation,
                      const bb_wafer_heating *heating, bb_store_piece out[HEAD])
{
    out[0] = (bb_store_piece){place, sizeof *place};
    out[1] = (bb_store_piece){&simulation->ledger, sizeof simulation->ledger};
    out[2] = (bb_store_piece){&heating->probes.taken, sizeof heating->probes.taken};
}

// Lists the pieces saved in addition to the state.
static void list_arrays(const bb_heating_place *place, const bb_wafer_problem *problem,
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
    if (!bb_restart_is_due(restart, now) || restart->resumed != NULL) { // not over products
        goto done;
    }
    list_head(place, simulation, heating, pieces);
    pieces[HEAD] = (bb_store_piece){bb_stepper_state(simulation->stepper), state_bytes};
    list_arrays(place, simulation->problem, heating, pieces + HEAD + 1);
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
                                bb_heat_simulation *simulation, bb_wafer_heating *heating,
                                bool *heated)
{
    bb_status status = BB_OK;
    bb_store_piece pieces[REST]; // point to the arrays of `heating`
    double *state = NULL;
    const bb_index size = simulation->problem->thermal->size;
    list_head(place, simulation, heating, pieces);
    BB_TRY(bb_store_read_list(restart->resumed, pieces, HEAD));
    *heated = place->wafer != NO_WAFER;
    if (!*heated) {
        *place = (bb_heating_place){0};
        if (restart->first_stage) {
            bb_log_warning("the checkpoint has products only; searches and runs with several "
                           "processes restart from the heat");
            bb_store_close(&restart->resumed);
        }
        goto done;
    }
    BB_TRY(check_place(place, heating, simulation->problem));
    BB_TRY(BB_ALLOCATE(size, &state));
    BB_TRY(bb_store_read(restart->resumed, state, size * (bb_index)sizeof *state));
    bb_stepper_set(simulation->stepper, 0, size, state);
    list_arrays(place, simulation->problem, heating, pieces);
    BB_TRY(bb_store_read_list(restart->resumed, pieces, REST));
    bb_store_close(&restart->resumed);
    bb_log_info("continuing at wafer %td, exposure %td, step %td", place->wafer, place->field,
                place->step);
done:
    BB_RELEASE(&state);
    return status;
}

// Lists the head of a checkpoint of products, which has no heat.
static void list_no_heat(bb_store_piece out[HEAD])
{
    static const bb_heating_place none = {.wafer = NO_WAFER};
    static const bb_ledger ledger = {0};
    static const bb_index taken = 0;
    out[0] = (bb_store_piece){&none, sizeof none};
    out[1] = (bb_store_piece){&ledger, sizeof ledger};
    out[2] = (bb_store_piece){&taken, sizeof taken};
}

// Keys that determine the results of products besides the heat: the study, and the devices.
static bb_status products_subject(const bb_wafer_products *products, bb_text *out)
{
    static const char *const others[] = {"title", "device", "realtime", "dump", "machine", NULL};
    bb_status status = BB_OK;
    bb_wafer_study study = *products->study;
    study.response.gpus = 1; // results are bit-identical for any number of GPUs
    BB_TRY(bb_subject_write(&bb_wafer_study_schema, &study, others, out));
    BB_TRY(bb_text_add(out, "energy: %d\n", bb_energy_is_enabled()));
    for (bb_index i = 0; i < products->count; ++i) {
        BB_TRY(
            bb_text_add(out, "device: %s\n", bb_device_names[products->items[i]->common.device]));
    }
done:
    return status;
}

// Lists all arrays of an evaluation and returns their number.
static bb_index list_evaluation(const bb_wafer_products *products, bb_wafer_evaluation *evaluation,
                                bb_store_piece *out)
{
    const bb_list *axes = &products->study->response.axes;
    bb_evaluation *common = &evaluation->common;
    bb_index count = 0;
    out[count++] =
        (bb_store_piece){&common->outcome, sizeof *common - offsetof(bb_evaluation, outcome)};
    out[count++] = (bb_store_piece){&evaluation->live_values, sizeof evaluation->live_values};
    out[count++] = (bb_store_piece){evaluation->coding, sizeof evaluation->coding};
    out[count++] = (bb_store_piece){evaluation->certificate, sizeof evaluation->certificate};
    for (bb_index w = 0; w < evaluation->wafer_count; ++w) {
        bb_wafer_displacements *wafer = &evaluation->wafers[w];
        out[count++] = (bb_store_piece){&wafer->squared_error, sizeof wafer->squared_error};
        out[count++] = (bb_store_piece){&wafer->squared_norm, sizeof wafer->squared_norm};
        for (bb_index a = 0; a < axes->count; ++a) {
            out[count++] =
                (bb_store_piece){wafer->mean[((const int *)axes->items)[a]],
                                 BB_WAFER_PLACED * products->points * (bb_index)sizeof(double)};
        }
    }
    return count;
}

static bb_status list_products(bb_wafer_products *products, bb_store_piece **out, bb_index *count)
{
    bb_status status = BB_OK;
    const bb_index each = 4 + products->items[0]->wafer_count * (2 + BB_WAFER_AXES);
    BB_TRY(BB_ALLOCATE(HEAD + 2 + products->count * each, out));
    list_no_heat(*out);
    *count = HEAD + 2; // the caller writes subject and place
    for (bb_index i = 0; i < products->count; ++i) {
        *count += list_evaluation(products, products->items[i], *out + *count);
    }
done:
    return status;
}

bb_status bb_wafer_products_save(bb_restart *restart, bool now, bb_wafer_products *products)
{
    bb_status status = BB_OK;
    bb_text subject = {0};
    bb_store_piece *pieces = NULL;
    bb_index count = 0;
    if (!bb_restart_is_due(restart, now)) {
        goto done;
    }
    BB_TRY(products_subject(products, &subject));
    BB_TRY(list_products(products, &pieces, &count));
    const char *text = bb_text_string(&subject);
    pieces[HEAD] = (bb_store_piece){text, (bb_index)strlen(text)};
    pieces[HEAD + 1] = (bb_store_piece){&products->done, sizeof products->done};
    BB_TRY(bb_restart_write(restart, pieces, count));
    bb_log_detail("checkpoint after %td fields and axes", products->done);
done:
    BB_RELEASE(&pieces);
    bb_text_release(&subject);
    return status;
}

bb_status bb_wafer_products_load(bb_restart *restart, bb_wafer_products *products)
{
    bb_status status = BB_OK;
    bb_text subject = {0};
    bb_store_piece *pieces = NULL;
    void *there = NULL;
    bb_index bytes = 0;
    bb_index count = 0;
    bb_index done = 0;
    if (restart == NULL || restart->resumed == NULL) {
        goto done;
    }
    BB_TRY(products_subject(products, &subject));
    BB_TRY(bb_store_read_new(restart->resumed, &there, &bytes));
    if (strcmp(there, bb_text_string(&subject)) != 0) {
        bb_log_warning("the checkpoint has products of other pipelines, rows or devices: all "
                       "fields are recomputed");
        goto done;
    }
    BB_TRY(bb_store_read(restart->resumed, &done, sizeof done));
    BB_REQUIRE(done >= 0 && done <= products->all, BB_IO,
               "checkpoint after %td fields and axes: beyond the %td of this study", done,
               products->all);
    BB_TRY(list_products(products, &pieces, &count));
    BB_TRY(bb_store_read_list(restart->resumed, pieces + HEAD + 2, count - HEAD - 2));
    products->done = done;
    bb_log_info("resuming after %td of %td fields and axes", done, products->all);
done:
    if (restart != NULL) {
        bb_store_close(&restart->resumed);
    }
    BB_RELEASE(&there);
    BB_RELEASE(&pieces);
    bb_text_release(&subject);
    return status;
}
