// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep_progress.h"

#include "core/memory.h"
#include "sim/sweep/record_file.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_ROUNDS = 1000000 }; // retries requested by a user

void bb_sweep_progress_release(bb_sweep_progress *progress)
{
    BB_RELEASE(&progress->points);
    BB_RELEASE(&progress->names);
}

static bb_status file_number(bb_sweep_progress *progress, const char *name, int *out)
{
    bb_status status = BB_OK;
    const int last = progress->name_count - 1;
    if (last >= 0 && strcmp(progress->names[last], name) == 0) {
        *out = last;
        goto done;
    }
    BB_TRY(bb_memory_resize(progress->name_count + 1, sizeof *progress->names,
                            (void **)&progress->names));
    (void)snprintf(progress->names[progress->name_count], BB_RECORD_FILE_BYTES, "%s", name);
    *out = progress->name_count++;
done:
    return status;
}

static int class_of(const json_t *line)
{
    const char *name = json_string_value(json_object_get(line, "class"));
    for (int c = 0; name != NULL && c < BB_POINT_CLASSES; ++c) {
        if (strcmp(name, bb_point_class_names[c]) == 0) {
            return c;
        }
    }
    return BB_POINT_OPEN;
}

static const char *text_of(const json_t *line, const char *name)
{
    const char *text = json_string_value(json_object_get(line, name));
    return text == NULL ? "" : text;
}

// Compares two results of a point: the first is used if they are equal.
static bb_status compare(const bb_sweep_progress *progress, const bb_point_progress *first,
                         const bb_record_line *second, bb_index point)
{
    bb_status status = BB_OK;
    const bool same = strcmp(first->id, text_of(second->json, "id")) == 0;
    BB_REQUIRE(same && strcmp(first->digest, text_of(second->json, "digest")) == 0, BB_IO,
               "point %td has two different results: %s %s in %s, line %td, and %s in %s, line %td",
               point, same ? "digest" : "id", same ? first->digest : first->id,
               progress->names[first->place.file], first->place.line,
               text_of(second->json, same ? "digest" : "id"), second->file, second->number);
done:
    return status;
}

static bb_status add_line(void *context, const bb_record_line *record)
{
    bb_status status = BB_OK;
    bb_sweep_progress *progress = context;
    const json_t *line = record->json;
    const bb_index point = (bb_index)json_integer_value(json_object_get(line, "point"));
    const bb_index retry = (bb_index)json_integer_value(json_object_get(line, "retry"));
    const bb_index round = (bb_index)json_integer_value(json_object_get(line, "round"));
    const int class = class_of(line);
    BB_REQUIRE(point >= 0 && point < progress->point_count, BB_IO,
               "%s, line %td: point %td, but the plan has %td points", record->file, record->number,
               point, progress->point_count);
    BB_REQUIRE(retry >= 0 && retry <= MOST_ROUNDS && round >= 0 && round <= MOST_ROUNDS, BB_IO,
               "%s, line %td: retry %td, round %td, expected 0 to %d", record->file, record->number,
               retry, round, MOST_ROUNDS);
    bb_point_progress *state = &progress->points[point];
    if (state->class == BB_POINT_DONE) {
        if (class == BB_POINT_DONE) {
            BB_TRY(compare(progress, state, record, point));
        }
        goto done;
    }
    const bb_index requested = retry > 0 ? retry : round;
    if (requested > state->round) {
        state->round = requested;
        state->attempts = 0;
        state->class = BB_POINT_OPEN;
    }
    if (class == BB_POINT_OPEN || (class != BB_POINT_DONE && round < state->round)) {
        goto done;
    }
    state->class = class;
    ++state->attempts;
    state->seconds = json_number_value(json_object_get(line, "seconds"));
    state->place.line = record->number;
    BB_TRY(file_number(progress, record->file, &state->place.file));
    if (class == BB_POINT_DONE) {
        (void)snprintf(state->id, sizeof state->id, "%s", text_of(line, "id"));
        (void)snprintf(state->digest, sizeof state->digest, "%s", text_of(line, "digest"));
    } else {
        (void)snprintf(progress->message, sizeof progress->message, "point %td: %s, %s", point,
                       bb_point_class_names[class], text_of(line, "message"));
    }
done:
    return status;
}

bb_status bb_sweep_progress_read(const bb_sweep_plan *plan, bb_sweep_progress *out)
{
    bb_status status = BB_OK;
    *out = (bb_sweep_progress){.point_count = plan->sweep->point_count};
    BB_TRY(BB_ZEROED(out->point_count, &out->points));
    for (bb_index p = 0; p < out->point_count; ++p) {
        out->points[p].class = BB_POINT_OPEN;
    }
    BB_TRY(bb_record_file_visit(plan->folder, plan->id, add_line, out, &out->torn));
    for (bb_index p = 0; p < out->point_count; ++p) {
        const bb_point_progress *state = &out->points[p];
        if (bb_sweep_is_excluded(plan->sweep, p)) {
            continue;
        }
        if (state->class == BB_POINT_OPEN) {
            ++out->open;
        } else {
            ++out->counts[state->class];
            out->seconds += state->class == BB_POINT_DONE ? state->seconds : 0.0;
        }
    }
done:
    if (status != BB_OK) {
        bb_sweep_progress_release(out);
    }
    return status;
}

bb_status bb_sweep_progress_list(const bb_sweep_progress *progress, bb_text *out)
{
    bb_status status = BB_OK;
    bb_index failed = 0;
    const char *between = "";
    for (int c = BB_POINT_DONE + 1; c < BB_POINT_CLASSES; ++c) {
        failed += progress->counts[c];
    }
    const bb_index done = progress->counts[BB_POINT_DONE];
    BB_TRY(bb_text_add(out, "%td of %td done", done, done + failed + progress->open));
    if (failed > 0) {
        BB_TRY(bb_text_add(out, ", %td failed (", failed));
        for (int c = BB_POINT_DONE + 1; c < BB_POINT_CLASSES; ++c) {
            if (progress->counts[c] > 0) {
                BB_TRY(bb_text_add(out, "%s%s %td", between, bb_point_class_names[c],
                                   progress->counts[c]));
                between = ", ";
            }
        }
        BB_TRY(bb_text_add(out, ")"));
    }
    if (progress->open > 0) {
        BB_TRY(bb_text_add(out, ", %td to do", progress->open));
    }
done:
    return status;
}
