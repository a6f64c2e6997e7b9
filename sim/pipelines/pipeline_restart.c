// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/pipeline_restart.h"

#include "core/file.h"
#include "core/interrupt.h"
#include "core/log.h"
#include "core/memory.h"
#include "sim/output/subject.h"
#include "sim/pipelines/factor_device.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { MOST_NAMES = 200 };

// Sets the signal message before the resumed checkpoint is read.
static void note_start(const bb_run_options *options)
{
    char text[BB_INTERRUPT_LOSS_BYTES] = "nothing has been saved yet";
    if (options->resume != NULL) {
        (void)snprintf(text, sizeof text,
                       "resume from its checkpoint: bitbudget run ... --resume '%s'",
                       bb_interrupt_path(options->resume));
    }
    bb_interrupt_keeps(text);
}

bb_status bb_pipeline_restart_open(const bb_schema *schema, const void *study,
                                   const bb_run_options *options, bb_restart *out)
{
    static const char *const others[] = {"title", NULL};
    bb_status status = BB_OK;
    bb_text subject = {0};
    *out = (bb_restart){0};
    if (options->checkpoint == NULL && options->resume == NULL) {
        goto done;
    }
    BB_TRY(bb_subject_write(schema, study, others, &subject));
    BB_TRY(bb_restart_open(options, 0.0, &subject, out));
    note_start(options);
done:
    bb_text_release(&subject);
    return status;
}

bb_status bb_pipeline_restart_restore_tile(bb_restart *restart, const bb_list *pipelines,
                                           int device, bool is_auto,
                                           bb_factor_solver_config *solver)
{
    bb_status status = BB_OK;
    bb_factor_solver_config tried = *solver;
    bb_index tile = 0;
    if (restart->resumed == NULL) {
        goto done;
    }
    BB_TRY(bb_store_read(restart->resumed, &tile, sizeof tile));
    BB_REQUIRE(tile > 0, BB_IO, "checkpoint with tiles of %td rows, expected at least 1", tile);
    tried.tile = tile;
    bb_factor_device_resolve_tile(pipelines, device, tile, &tried);
    BB_REQUIRE(tried.tile == tile, BB_INVALID,
               "the checkpoint has solver.tile %td, but a device of this host needs %td: resume "
               "with device=cpu, or on a host with the same devices",
               tile, tried.tile);
    solver->tile = tile;
    if (is_auto) {
        solver->spectrum.size = tile;
    }
done:
    return status;
}

static bb_evaluation *evaluation_of(const bb_pipeline_state *state, bb_index pipeline)
{
    return (bb_evaluation *)(void *)((char *)state->first + (size_t)pipeline * state->stride);
}

// Sets the signal message about pipelines saved in `path`, with as many names as fit.
static void note_kept(const bb_pipeline_state *state, const char *path)
{
    const bool one = state->finished == 1;
    static const char again[] = "bitbudget run ... --resume";
    char names[MOST_NAMES + 8] = "";
    char text[BB_INTERRUPT_LOSS_BYTES];
    path = bb_interrupt_path(path);
    for (bb_index i = 0; i < state->finished; ++i) {
        const char *name = evaluation_of(state, state->order[i])->pipeline;
        const size_t used = strlen(names);
        if (used + strlen(name) + 2 > MOST_NAMES) {
            (void)snprintf(names + used, sizeof names - used, ", ...");
            break;
        }
        (void)snprintf(names + used, sizeof names - used, "%s%s", i == 0 ? "" : ", ", name);
    }
    if (state->finished == 0) {
        (void)snprintf(text, sizeof text, "the learned profile is saved: %s '%s'", again, path);
    } else {
        (void)snprintf(text, sizeof text, "pipeline%s %s (%td of %td) %s saved: %s '%s'",
                       one ? "" : "s", names, state->finished, state->count, one ? "is" : "are",
                       again, path);
    }
    bb_interrupt_keeps(text);
}

// Piece of an evaluation without its name, the first member, which belongs to the study.
static bb_store_piece piece_of(const bb_evaluation *common)
{
    return (bb_store_piece){&common->outcome, sizeof *common - offsetof(bb_evaluation, outcome)};
}

static bb_status write_state(bb_restart *restart, const bb_pipeline_state *state)
{
    bb_status status = BB_OK;
    const bb_index most = 2 + BB_SEARCH_PIECES + (state->count + 1) * (BB_PIPELINE_PIECES + 1);
    bb_store_piece *pieces = NULL;
    bb_index used = 0;
    BB_TRY(BB_ALLOCATE(most, &pieces));
    if (state->tile != NULL) {
        pieces[used++] = (bb_store_piece){state->tile, sizeof *state->tile};
    }
    if (state->list_head != NULL) {
        used += state->list_head(state->context, pieces + used);
    }
    pieces[used++] = (bb_store_piece){&state->finished, sizeof state->finished};
    if (state->trials != NULL) {
        bb_search_trials_list(state->trials, pieces + used);
        used += BB_SEARCH_PIECES;
    }
    for (bb_index i = 0; i < state->finished; ++i) {
        const bb_index p = state->order[i];
        pieces[used++] = piece_of(evaluation_of(state, p));
        used += state->list(state->context, p, pieces + used);
    }
    BB_TRY(bb_restart_write(restart, pieces, used));
    note_kept(state, restart->checkpoint);
    bb_log_detail("checkpoint with %td of %td pipelines", state->finished, state->count);
done:
    BB_RELEASE(&pieces);
    return status;
}

bb_status bb_pipeline_restart_save(bb_restart *restart, const bb_pipeline_state *state)
{
    return bb_restart_is_due(restart, state->finished == state->count) ? write_state(restart, state)
                                                                       : BB_OK;
}

static bool is_sound(const bb_draws *draws)
{
    return bb_outcome_is_sound(&draws->failure) && draws->tried >= 0 &&
           draws->tried <= BB_DRAWS_MOST && draws->failed >= 0 && draws->failed <= draws->tried &&
           draws->failure_draw >= 0 &&
           draws->failure_draw < (draws->failed > 0 ? draws->tried : BB_DRAWS_MOST);
}

static bb_status read_pipeline(bb_store *file, const bb_pipeline_state *state, bb_index p)
{
    bb_status status = BB_OK;
    bb_evaluation *common = evaluation_of(state, p);
    const bb_device_kind device = common->device;
    bb_store_piece pieces[BB_PIPELINE_PIECES] = {piece_of(common)};
    BB_TRY(bb_store_read_list(file, pieces, 1));
    const bool sound = bb_outcome_is_sound(&common->outcome) && is_sound(&common->draws);
    if (sound) {
        BB_TRY(bb_store_read_list(file, pieces, state->list(state->context, p, pieces)));
    }
    BB_REQUIRE(sound && (state->adopt == NULL || state->adopt(state->context, p)), BB_IO,
               "checkpoint is damaged: impossible outcome of pipeline %s", common->pipeline);
    BB_REQUIRE(common->device == device, BB_INVALID,
               "pipeline %s of the checkpoint was computed on another device, here it would be %s",
               common->pipeline, bb_device_names[device]);
done:
    return status;
}

bb_status bb_pipeline_restart_load(bb_restart *restart, const char *path, bb_pipeline_state *state)
{
    bb_status status = BB_OK;
    bb_index finished = 0;
    state->finished = 0;
    if (restart->resumed == NULL) {
        goto done;
    }
    BB_TRY(bb_store_read(restart->resumed, &finished, sizeof finished));
    BB_REQUIRE(finished >= 0 && finished <= state->count, BB_IO,
               "checkpoint with %td pipelines, expected 0 to %td", finished, state->count);
    if (state->trials != NULL) {
        BB_TRY(bb_search_trials_restore(state->trials, state->count, restart->resumed));
    }
    for (bb_index i = 0; i < finished; ++i) {
        BB_TRY(read_pipeline(restart->resumed, state, state->order[i]));
    }
    bb_store_close(&restart->resumed);
    state->finished = finished;
    note_kept(state, path);
    // A new checkpoint file is complete from the start, even if nothing remains to be done.
    if (restart->checkpoint != NULL && !bb_file_same(restart->checkpoint, path)) {
        BB_TRY(write_state(restart, state));
    }
    bb_log_info("resuming after %td of %td pipelines", finished, state->count);
done:
    return status;
}
