// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_restart.h"

#include "build_info.h"
#include "core/digest.h"
#include "core/log.h"
#include "core/memory.h"
#include "sim/config/emission.h"
#include "sim/interrupt.h"
#include "sim/output/file.h"
#include "sim/output/provenance.h"
#include "sim/pipelines/factor_device.h"
#include "sim/pipelines/storage/promised_storage.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MOST_NAMES = 200, PIECES = 2 + BB_AO_EVALUATION_ARRAYS };

static bb_status add_file(const char *key, const char *path, bb_text *out)
{
    bb_status status = BB_OK;
    char digest[BB_DIGEST_BYTES];
    if (path != NULL) {
        BB_TRY(bb_digest_file(path, digest));
        BB_TRY(bb_text_add(out, "  %s: %s\n", key, digest));
    }
done:
    return status;
}

static bb_status add_files(const bb_ao_study *study, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    const bb_conjugate_config *mirrors = study->mirrors.items;
    char key[64];
    BB_TRY(bb_text_add(out, "files:\n"));
    BB_TRY(add_file("telescope.pupil", study->telescope.pupil.file, out));
    for (bb_index k = 0; k < study->mirrors.count; ++k) {
        (void)snprintf(key, sizeof key, "mirrors.%td.influence", k);
        BB_TRY(add_file(key, mirrors[k].influence.file, out));
    }
    if (study->learn.source == (int)BB_AO_LEARN_COVARIANCE_FILE) {
        BB_TRY(add_file("learn.covariance", study->learn.covariance.file, out));
    }
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        (void)snprintf(key, sizeof key, "pipelines.%td.policy.table", p);
        BB_TRY(add_file(key, pipelines[p].policy.table, out));
    }
done:
    return status;
}

// What the bits depend on beside version and commit, and how the pieces lie in memory.
static bb_status add_build(bb_text *out)
{
    bb_status status = BB_OK;
    bb_library libraries[BB_LIBRARIES];
    BB_TRY(bb_text_add(out, "build:\n  compiler: %s\n  flags: %s\n", BB_COMPILER, BB_FLAGS));
    bb_provenance_libraries(libraries);
    for (int i = 0; i < BB_LIBRARIES; ++i) {
        BB_TRY(bb_text_add(out, "  %s: %s\n", libraries[i].name, libraries[i].version));
    }
    BB_TRY(bb_text_add(out, "  bytes: [%zu, %zu]\n", sizeof(bb_evaluation),
                       sizeof(bb_factor_pipeline)));
done:
    return status;
}

static void release_schema(bb_schema *schema)
{
    bb_key *keys = (bb_key *)(uintptr_t)schema->keys; // made by copy_schema
    for (bb_index k = 0; k < schema->key_count; ++k) {
        if (keys[k].schema != NULL) {
            release_schema((bb_schema *)(uintptr_t)keys[k].schema);
        }
    }
    BB_RELEASE(&keys);
    BB_RELEASE(&schema);
}

// What of a study is compared as text: not its title, and no path at any depth, since a file is
// known by its digest wherever it lies.
static bb_status copy_schema(const bb_schema *schema, bb_schema **out)
{
    bb_status status = BB_OK;
    bb_schema *copy = NULL;
    bb_key *keys = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &copy));
    copy->name = schema->name;
    copy->bytes = schema->bytes;
    BB_TRY(BB_ALLOCATE(schema->key_count, &keys));
    copy->keys = keys;
    for (bb_index k = 0; k < schema->key_count; ++k) {
        const bb_key *key = &schema->keys[k];
        bb_schema *inner = NULL;
        if (key->kind == BB_KEY_PATH ||
            (schema == &bb_ao_study_schema && strcmp(key->name, "title") == 0)) {
            continue;
        }
        if (key->schema != NULL) {
            BB_TRY(copy_schema(key->schema, &inner));
        }
        keys[copy->key_count] = *key;
        keys[copy->key_count++].schema = inner;
    }
    *out = copy;
    copy = NULL;
done:
    if (copy != NULL) {
        release_schema(copy);
    }
    return status;
}

bb_status bb_ao_restart_subject(const bb_ao_study *study, bb_text *out)
{
    bb_status status = BB_OK;
    bb_schema *compared = NULL;
    BB_TRY(copy_schema(&bb_ao_study_schema, &compared));
    BB_TRY(bb_emission_write(compared, study, false, out));
    BB_TRY(add_files(study, out));
    BB_TRY(add_build(out));
done:
    if (compared != NULL) {
        release_schema(compared);
    }
    return status;
}

// What a signal says until it is known what a checkpoint that is gone on from holds.
static void note_start(const bb_run_options *options)
{
    char text[BB_INTERRUPT_LOSS_BYTES] = "nothing is kept yet";
    if (options->resume != NULL) {
        (void)snprintf(text, sizeof text, "its checkpoint stands: bitbudget run ... --resume '%s'",
                       bb_interrupt_path(options->resume));
    }
    bb_interrupt_keeps(text);
}

bb_status bb_ao_restart_open(const bb_ao_study *study, const bb_run_options *options,
                             bb_restart *out)
{
    bb_status status = BB_OK;
    bb_text subject = {0};
    *out = (bb_restart){0};
    if (options->checkpoint == NULL && options->resume == NULL) {
        goto done;
    }
    BB_TRY(bb_ao_restart_subject(study, &subject));
    BB_TRY(bb_restart_open(options, 0.0, &subject, out));
    note_start(options);
done:
    bb_text_release(&subject);
    return status;
}

// What a signal says is kept: the pipelines in `path`, as many names as leave room for the rest.
static void note_kept(const bb_ao_state *state, const char *path)
{
    const bb_factor_pipeline *pipelines = state->study->pipelines.items;
    const bool one = state->finished == 1;
    static const char again[] = "bitbudget run ... --resume";
    char names[MOST_NAMES + 8] = "";
    char text[BB_INTERRUPT_LOSS_BYTES];
    path = bb_interrupt_path(path);
    for (bb_index i = 0; i < state->finished; ++i) {
        const char *name = pipelines[state->order[i]].name;
        const size_t used = strlen(names);
        if (used + strlen(name) + 2 > MOST_NAMES) {
            (void)snprintf(names + used, sizeof names - used, ", ...");
            break;
        }
        (void)snprintf(names + used, sizeof names - used, "%s%s", i == 0 ? "" : ", ", name);
    }
    if (state->finished == 0) {
        (void)snprintf(text, sizeof text, "the learned profile is kept: %s '%s'", again, path);
    } else {
        (void)snprintf(text, sizeof text, "pipeline%s %s (%td of %td) %s kept: %s '%s'",
                       one ? "" : "s", names, state->finished, state->study->pipelines.count,
                       one ? "is" : "are", again, path);
    }
    bb_interrupt_keeps(text);
}

bb_status bb_ao_restart_take_tile(bb_restart *restart, const bb_ao_study *asked,
                                  bb_ao_study *resolved)
{
    bb_status status = BB_OK;
    bb_factor_solver_config solver = resolved->solver.common;
    bb_index tile = 0;
    if (restart->resumed == NULL) {
        goto done;
    }
    BB_TRY(bb_checkpoint_take(restart->resumed, &tile, sizeof tile));
    BB_REQUIRE(tile > 0, BB_IO, "checkpoint with tiles of %td rows, expected at least 1", tile);
    solver.tile = tile;
    bb_factor_device_resolve_tile(&resolved->pipelines, resolved->common.device, tile, &solver);
    BB_REQUIRE(solver.tile == tile, BB_INVALID,
               "the checkpoint has solver.tile %td, a device of this host needs %td: resume with "
               "device=cpu, or on a host with the same devices",
               tile, solver.tile);
    resolved->solver.common.tile = tile;
    if (asked->solver.common.tile == BB_INTEGER_UNSET) {
        resolved->solver.common.spectrum.size = tile;
    }
done:
    return status;
}

static bb_status write_state(bb_restart *restart, const bb_ao_state *state)
{
    bb_status status = BB_OK;
    const bb_index count = state->finished;
    bb_checkpoint_piece *pieces = NULL;
    bb_evaluation *commons = NULL;     // [count] without their pointers, which no file needs
    bb_factor_pipeline *levels = NULL; // [count] likewise
    BB_TRY(BB_ALLOCATE(BB_AO_LEARNING_PIECES + 2 + BB_PROMISE_PIECES + count * PIECES, &pieces));
    BB_TRY(BB_ALLOCATE(count, &commons));
    BB_TRY(BB_ALLOCATE(count, &levels));
    pieces[0] = (bb_checkpoint_piece){&state->study->solver.common.tile, sizeof(bb_index)};
    bb_index used = 1 + bb_ao_learning_list(state->learning, pieces + 1);
    pieces[used++] = (bb_checkpoint_piece){&state->finished, sizeof state->finished};
    bb_promise_trials_list(state->promises, pieces + used);
    used += BB_PROMISE_PIECES;
    for (bb_index i = 0; i < count; ++i) {
        const bb_ao_evaluation *evaluation = &state->evaluations[state->order[i]];
        commons[i] = evaluation->common;
        commons[i].pipeline = NULL;
        levels[i] = evaluation->level;
        levels[i].name = levels[i].policy.table = NULL;
        levels[i].policy.variants.items = NULL;
        pieces[used++] = (bb_checkpoint_piece){&commons[i], sizeof commons[i]};
        pieces[used++] = (bb_checkpoint_piece){&levels[i], sizeof levels[i]};
        bb_ao_evaluation_list(state->study, evaluation, pieces + used);
        used += BB_AO_EVALUATION_ARRAYS;
    }
    BB_TRY(bb_restart_write(restart, pieces, used));
    note_kept(state, restart->checkpoint);
    bb_log_detail("checkpoint with %td of %td pipelines", count, state->study->pipelines.count);
done:
    BB_RELEASE(&pieces);
    BB_RELEASE(&commons);
    BB_RELEASE(&levels);
    return status;
}

bb_status bb_ao_restart_save(bb_restart *restart, const bb_ao_state *state)
{
    bb_status status = BB_OK;
    if (bb_restart_is_due(restart, state->finished == state->study->pipelines.count)) {
        BB_TRY(write_state(restart, state));
    }
done:
    return status;
}

// What a candidate changes of a pipeline.
typedef struct candidate {
    int arithmetic, kind, inside, diagonal, sweeps;
    double tolerance;
    unsigned char escalate; // the byte: another one than 0 or 1 is no bool
} candidate;

static candidate candidate_of(const bb_factor_pipeline *level)
{
    const bb_policy_config *policy = &level->policy;
    candidate out = {level->arithmetic,
                     policy->kind,
                     policy->inside,
                     policy->diagonal,
                     level->sweeps,
                     policy->tolerance,
                     0};
    memcpy(&out.escalate, &level->escalate, 1);
    return out;
}

static bool is_within(int value, int last)
{
    return value >= 0 && value <= last;
}

// Whether the search of a promise can have found it.
static bool is_found(const candidate *step)
{
    const bb_policy_config policy = {.kind = step->kind};
    return is_within(step->kind, BB_POLICY_COUNT - 1) && bb_policy_describe(&policy)->is_found &&
           is_within(step->arithmetic, BB_VARIANT_COUNT - 1) &&
           is_within(step->inside, BB_VARIANT_COUNT - 1) &&
           is_within(step->diagonal, BB_POLICY_FOLLOW) &&
           is_within(step->sweeps, BB_POLICY_SWEEPS_LIGHT) && step->escalate == 0 &&
           (isnan(step->tolerance) || (step->tolerance >= 0.0 && isfinite(step->tolerance)));
}

static bool is_same(const candidate *a, const candidate *b)
{
    return a->arithmetic == b->arithmetic && a->kind == b->kind && a->inside == b->inside &&
           a->diagonal == b->diagonal && a->sweeps == b->sweeps && a->escalate == b->escalate &&
           (a->tolerance == b->tolerance || (isnan(a->tolerance) && isnan(b->tolerance)));
}

// The study's pipeline, or what its promise came to, which alone is taken over from the file: of an
// arithmetic what differs, of a storage its step.
static bool adopt_level(const bb_factor_pipeline *pipeline, const bb_factor_pipeline *level,
                        const bb_evaluation *common, bb_factor_pipeline *out)
{
    const candidate trial = candidate_of(pipeline);
    const candidate step = candidate_of(level);
    const bool searches = bb_policy_describe(&pipeline->policy)->is_search;
    *out = *pipeline;
    if (bb_promised_storage_is_given(pipeline) && common->outcome.kind == BB_OUTCOME_OK &&
        !bb_promised_storage_at(pipeline, common->factor.stored_step, &out->storage)) {
        return false;
    }
    if (is_same(&trial, &step)) {
        return !searches || common->outcome.kind != BB_OUTCOME_OK;
    }
    out->arithmetic = step.arithmetic;
    out->policy.kind = step.kind;
    out->policy.inside = step.inside;
    out->policy.diagonal = step.diagonal;
    out->policy.tolerance = step.tolerance;
    out->sweeps = step.sweeps;
    out->escalate = false;
    return searches && is_found(&step);
}

static bool is_sound(const bb_draws *draws)
{
    return bb_outcome_is_sound(&draws->failure) && draws->tried >= 0 &&
           draws->tried <= BB_DRAWS_MOST && draws->failed >= 0 && draws->failed <= draws->tried &&
           draws->failure_draw >= 0 &&
           draws->failure_draw < (draws->failed > 0 ? draws->tried : BB_DRAWS_MOST);
}

// Takes over what was read of an evaluation, but for the pointers, which are the study's.
static bb_status adopt(const bb_factor_pipeline *pipeline, const bb_evaluation *common,
                       const bb_factor_pipeline *level, bb_ao_evaluation *evaluation)
{
    bb_status status = BB_OK;
    const bb_device_kind device = evaluation->common.device;
    BB_REQUIRE(bb_outcome_is_sound(&common->outcome) && is_sound(&common->draws) &&
                   adopt_level(pipeline, level, common, &evaluation->level),
               BB_IO, "checkpoint with an outcome of pipeline %s that no run writes",
               pipeline->name);
    BB_REQUIRE(common->device == device, BB_INVALID,
               "pipeline %s of the checkpoint was computed on another device, here it would be %s",
               pipeline->name, bb_device_names[device]);
    evaluation->common = *common;
    evaluation->common.pipeline = pipeline->name;
done:
    return status;
}

static bb_status take_evaluation(bb_checkpoint *checkpoint, const bb_ao_study *study, bb_index p,
                                 bb_ao_evaluation *evaluation)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    bb_checkpoint_piece arrays[BB_AO_EVALUATION_ARRAYS];
    bb_factor_pipeline level;
    bb_evaluation common;
    BB_TRY(bb_checkpoint_take(checkpoint, &common, sizeof common));
    BB_TRY(bb_checkpoint_take(checkpoint, &level, sizeof level));
    BB_TRY(adopt(&pipelines[p], &common, &level, evaluation));
    bb_ao_evaluation_list(study, evaluation, arrays);
    for (int a = 0; a < BB_AO_EVALUATION_ARRAYS; ++a) {
        // The list serves readers and writers alike: these are the evaluation's own arrays.
        BB_TRY(bb_checkpoint_take(checkpoint, (void *)(uintptr_t)arrays[a].data, arrays[a].bytes));
    }
done:
    return status;
}

bb_status bb_ao_restart_load(bb_restart *restart, const char *path, bb_ao_state *state)
{
    bb_status status = BB_OK;
    const bb_index count = state->study->pipelines.count;
    bb_index finished = 0;
    state->finished = 0;
    if (restart->resumed == NULL) {
        goto done;
    }
    BB_TRY(bb_checkpoint_take(restart->resumed, &finished, sizeof finished));
    BB_REQUIRE(finished >= 0 && finished <= count, BB_IO,
               "checkpoint with %td pipelines, expected 0 to %td", finished, count);
    BB_TRY(bb_promise_trials_take(state->promises, count, restart->resumed));
    for (bb_index i = 0; i < finished; ++i) {
        const bb_index p = state->order[i];
        BB_TRY(take_evaluation(restart->resumed, state->study, p, &state->evaluations[p]));
    }
    bb_checkpoint_close(&restart->resumed);
    state->finished = finished;
    note_kept(state, path);
    // Another file than the one gone on from holds all of it too, also where nothing is left to do.
    if (restart->checkpoint != NULL && !bb_file_same(restart->checkpoint, path)) {
        BB_TRY(write_state(restart, state));
    }
    bb_log_info("going on after %td of %td pipelines", finished, count);
done:
    return status;
}
