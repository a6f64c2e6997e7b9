// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/live/live_run.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "physics/fringe/cycles.h"
#include "sim/device_choice.h"
#include "sim/fringe/live/live_acquisition.h"
#include "sim/fringe/live/live_pipeline.h"
#include "sim/fringe/live/live_table.h"
#include "sim/fringe/live/live_view.h"
#include "sim/interrupt.h"
#include "sim/kernels/kernel_variants.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 240, STATE_BYTES = 80 };

// Between lines, and from when on a stream stalls; how long one wait for frames is, since an
// interrupt is looked at between them; how long a stall may last unless told.
static const double line_s = 1.0, stall_s = 1.0, wait_s = 0.1, usual_patience_s = 30.0;

static const bb_device_offer offer = {.work = "unwrapping a stream",
                                      .kinds = BB_DEVICE_OFFER(BB_DEVICE_CUDA) |
                                               BB_DEVICE_OFFER(BB_DEVICE_OPENCL)};

// One pipeline of the stream.
typedef struct lane {
    bb_index index; // in the study
    bb_device_kind kind;
    bb_live_pipeline *pipeline; // for frames of the present shape
} lane;

typedef struct live_device {
    bb_device *device;
    bb_kernel_context *context;
} live_device;

typedef struct live_run {
    const bb_fringe_study *study;
    const bb_live_options *options;
    bb_live_acquisition *acquisition;
    bb_live_view *view; // NULL: none
    bb_kernel_variants *variants;
    live_device devices[BB_DEVICE_KIND_COUNT];
    lane *lanes;             // [summary.count]
    bb_live_answer *answers; // [summary.count]
    bb_live_summary summary;
    unsigned char *mask; // [rows][columns] of the present shape
    double *phase;       // likewise: of the lane at hand
    bb_index columns, rows, frames;
    double start_s, last_s;  // pipelines are made, NaN before; last frames or phase
    double line_at_s;        // of the last line
    int64_t ready_ns;        // when the present pipelines were made
    bb_index unready;        // phases that were dropped before the first ones were
    bb_index skipped;        // phases of a shape that no pipelines were made for
    bb_status_record reason; // why the last of them was
    bool stalled, scores_next, skips;
} live_run;

static void finish(live_run *run)
{
    bb_live_acquisition_stop(&run->acquisition);
    bb_live_view_close(&run->view);
    for (bb_index i = 0; i < run->summary.count; ++i) {
        bb_live_pipeline_destroy(&run->lanes[i].pipeline);
        bb_live_meter_release(&run->answers[i].meter);
    }
    for (int kind = 0; kind < BB_DEVICE_KIND_COUNT; ++kind) {
        bb_kernel_context_destroy(&run->devices[kind].context);
        bb_device_close(&run->devices[kind].device);
    }
    bb_kernel_variants_destroy(&run->variants);
    BB_RELEASE(&run->lanes);
    BB_RELEASE(&run->answers);
    BB_RELEASE(&run->mask);
    BB_RELEASE(&run->phase);
}

static bb_status count_frames(const bb_fringe_study *study, bb_index *out)
{
    bb_status status = BB_OK;
    const bb_fringe_detection_config *detection = &study->physics.detection;
    const bool is_steps = detection->algorithm == BB_DETECTION_STEPS && detection->steps == 4;
    BB_REQUIRE(is_steps || detection->algorithm == BB_DETECTION_CARRIER, BB_UNSUPPORTED,
               "a stream is of four frames a phase or of a carrier: expected detection.algorithm "
               "steps with steps 4, or carrier");
    *out = bb_fringe_config_frames(detection);
done:
    return status;
}

static bb_status add_lane(live_run *run, bb_index index)
{
    bb_status status = BB_OK;
    const bb_fringe_pipeline *pipeline =
        &((const bb_fringe_pipeline *)run->study->pipelines.items)[index];
    lane *next = &run->lanes[run->summary.count];
    for (bb_index i = 0; i < run->summary.count; ++i) {
        BB_REQUIRE(run->lanes[i].index != index, BB_INVALID, "--pipeline names %s twice",
                   pipeline->name);
    }
    next->index = index;
    BB_TRY(bb_device_choice_make(&offer, run->study->common.device, pipeline->device, &next->kind));
    live_device *place = &run->devices[next->kind];
    if (place->device == NULL) {
        BB_TRY(bb_device_open(next->kind, 0, &place->device));
        BB_TRY(bb_kernel_context_create(place->device, &place->context));
        BB_TRY(bb_kernel_variants_join(run->variants, place->context));
    }
    run->answers[run->summary.count++] = (bb_live_answer){
        .name = pipeline->name, .device = bb_device_names[next->kind], .rejected_share = NAN};
done:
    return status;
}

static bb_status find_pipeline(const bb_fringe_study *study, const char *name, size_t length,
                               bb_index *out)
{
    bb_status status = BB_OK;
    const bb_fringe_pipeline *pipelines = study->pipelines.items;
    *out = -1;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        if (strlen(pipelines[p].name) == length && strncmp(pipelines[p].name, name, length) == 0) {
            *out = p;
        }
    }
    BB_REQUIRE(*out >= 0, BB_INVALID, "--pipeline %.*s: the study has no such pipeline",
               (int)length, name);
done:
    return status;
}

// Those that are named; else the first that is not the reference, which sees frames as they are.
static bb_status list_lanes(live_run *run)
{
    bb_status status = BB_OK;
    const bb_index reference = bb_fringe_study_reference(run->study);
    const char *name = run->options->pipelines;
    BB_TRY(BB_ZEROED(run->study->pipelines.count, &run->lanes));
    BB_TRY(BB_ZEROED(run->study->pipelines.count, &run->answers));
    if (name == NULL) {
        BB_TRY(add_lane(run, run->study->pipelines.count == 1 ? 0 : reference == 0));
    }
    while (name != NULL) {
        const size_t length = strcspn(name, ",");
        bb_index index = 0;
        BB_TRY(find_pipeline(run->study, name, length, &index));
        BB_TRY(add_lane(run, index));
        name = name[length] == ',' ? name + length + 1 : NULL;
    }
done:
    return status;
}

static bb_status start(live_run *run)
{
    bb_status status = BB_OK;
    const bb_live_source_kind *kind = NULL;
    bb_live_request request = {.study = run->study};
    const char *title = run->study->common.title;
    BB_TRY(bb_live_source_find(run->options->source, &kind, &request.place));
    BB_REQUIRE(run->study->input.file == NULL || kind != &bb_live_synthetic, BB_INVALID,
               "the study has input.file = '%s' and no scene of its own: expected a stream, "
               "--source file:FRAMES.h5 or another",
               run->study->input.file);
    BB_TRY(count_frames(run->study, &request.count));
    bb_device_choice_announce(&offer, run->study->common.device);
    BB_TRY(bb_kernel_variants_create(&run->study->kernels, NULL, &run->variants));
    BB_TRY(list_lanes(run));
    if (run->options->view != NULL) {
        BB_TRY(bb_live_view_open(run->options->view, title == NULL ? "fringe" : title,
                                 bb_fringe_config_rad_per_nm(&run->study->physics), &run->view));
    }
    const double rate = isnan(run->options->rate_hz) ? 0.0 : run->options->rate_hz;
    run->frames = request.count;
    run->summary.source = run->options->source == NULL ? kind->name : run->options->source;
    run->summary.frames = (double)request.count;
    BB_TRY(bb_live_acquisition_start(kind, &request, rate, &run->acquisition));
done:
    return status;
}

static bb_status make_pipelines(live_run *run, const bb_live_frames *frames)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < run->summary.count; ++i) {
        bb_live_pipeline_destroy(&run->lanes[i].pipeline);
    }
    for (bb_index i = 0; i < run->summary.count; ++i) {
        lane *at_hand = &run->lanes[i];
        BB_TRY(bb_live_pipeline_create(run->devices[at_hand->kind].context, run->study,
                                       at_hand->index, frames, run->mask, &at_hand->pipeline));
    }
done:
    if (status != BB_OK) {
        run->columns = run->rows = 0; // no shape has pipelines
    }
    return status;
}

// Pipelines for frames of a new shape; without a mask those of the old one stand.
static bb_status take_shape(live_run *run, const bb_live_frames *frames)
{
    bb_status status = BB_OK;
    const bb_index points = frames->columns * frames->rows;
    unsigned char *mask = NULL;
    double *phase = NULL;
    BB_TRY(BB_ALLOCATE(points, &mask));
    BB_TRY(BB_ALLOCATE(points, &phase));
    BB_TRY(bb_live_pipeline_mask(run->study, frames,
                                 bb_live_acquisition_truth(run->acquisition, frames->draw), mask));
    if (run->columns > 0) {
        bb_log_info("frames are of %td x %td pixels now, of %td x %td before", frames->columns,
                    frames->rows, run->columns, run->rows);
    }
    BB_RELEASE(&run->mask);
    BB_RELEASE(&run->phase);
    run->mask = mask;
    run->phase = phase;
    mask = NULL;
    phase = NULL;
    run->columns = frames->columns;
    run->rows = frames->rows;
    BB_TRY(make_pipelines(run, frames));
    run->summary.sizes += 1.0;
done:
    BB_RELEASE(&mask);
    BB_RELEASE(&phase);
    return status;
}

static bb_status score(live_run *run, bb_index index, const bb_live_frames *frames)
{
    bb_status status = BB_OK;
    const double *truth = bb_live_acquisition_truth(run->acquisition, frames->draw);
    const bb_unwrap_parts *parts = bb_live_pipeline_parts(run->lanes[index].pipeline);
    bb_cycles cycles;
    if (truth != NULL) {
        BB_TRY(bb_cycles_count(run->columns * run->rows, run->phase, truth, parts->labels,
                               parts->count, NULL, &cycles));
        run->answers[index].scored += 1.0;
        run->answers[index].wrong_points += (double)cycles.wrong;
    }
done:
    return status;
}

static void skip(live_run *run)
{
    bb_status_save(&run->reason);
    ++run->skipped;
    if (!run->skips) { // once of those that follow each other
        run->skips = true;
        bb_log_warning("a phase is dropped: %s", run->reason.message);
    }
}

// Pipelines for frames of this shape: the time that they take to be made is nobody's latency, and
// before the first ones nothing is lost. What a camera saw may be of no use, such as darkness, and
// the next frames better: `*is_ready` is false then. The study's own scene stays as it is.
static bb_status make_ready(live_run *run, const bb_live_frames *frames, bool *is_ready)
{
    bb_status status = take_shape(run, frames);
    *is_ready = status == BB_OK;
    if (status == BB_INVALID && frames->draw < 0) {
        skip(run);
        status = BB_OK;
        goto done;
    }
    BB_TRY(status);
    run->ready_ns = bb_clock_ns();
    if (isnan(run->start_s)) {
        run->start_s = run->line_at_s = bb_clock_seconds();
        run->unready = bb_live_acquisition_dropped(run->acquisition);
    }
done:
    return status;
}

static bb_index count_dropped(const live_run *run)
{
    return bb_live_acquisition_dropped(run->acquisition) - run->unready + run->skipped;
}

// What the last second was like, as a line says it and the page.
typedef struct recent {
    bb_live_quantiles latency;
    double rate_hz;
} recent;

static bb_live_facts list_facts(const live_run *run, const recent *now, const char *state)
{
    const bb_live_answer *answer = &run->answers[0];
    return (bb_live_facts){.state = state,
                           .pipeline = answer->name,
                           .frame = answer->meter.count,
                           .rate_hz = now->rate_hz,
                           .p50_ms = 1e3 * now->latency.p50,
                           .p99_ms = 1e3 * now->latency.p99,
                           .max_ms = 1e3 * now->latency.max,
                           .dropped = (double)count_dropped(run),
                           .rejected_share = answer->rejected_share,
                           .wrong = answer->scored > 0.0 ? answer->wrong_points : NAN};
}

static void greet(live_run *run)
{
    const double now = bb_clock_seconds();
    if (run->stalled) {
        bb_log_info("frames again after %.1f s", now - run->last_s);
        run->stalled = false;
    }
    run->skips = false;
}

// `*is_done` is false for a phase that is dropped.
static bb_status process(live_run *run, const bb_live_frames *frames, const recent *now,
                         bool *is_done)
{
    bb_status status = BB_OK;
    *is_done = true;
    if (frames->columns != run->columns || frames->rows != run->rows) {
        BB_TRY(make_ready(run, frames, is_done));
    }
    if (!*is_done) {
        goto done;
    }
    greet(run);
    const int64_t since = frames->taken_ns > run->ready_ns ? frames->taken_ns : run->ready_ns;
    for (bb_index i = 0; i < run->summary.count; ++i) {
        bb_unwrap_report report;
        bb_live_answer *answer = &run->answers[i];
        BB_TRY(bb_live_pipeline_run(run->lanes[i].pipeline, frames, run->phase, &report));
        run->last_s = bb_clock_seconds();
        BB_TRY(bb_live_meter_add(&answer->meter, 1e-9 * (double)(bb_clock_ns() - since)));
        answer->rejected_share = isnan(report.limit_rad) ? NAN : report.rejected_share;
        if (run->scores_next) {
            BB_TRY(score(run, i, frames));
        }
        if (i == 0 && run->view != NULL && bb_live_view_is_due(run->view)) {
            const bb_live_facts facts = list_facts(run, now, "running");
            BB_TRY(bb_live_view_show(run->view, run->columns, run->rows, run->phase, &facts));
        }
    }
    run->scores_next = false;
    run->summary.phases += 1.0;
    run->summary.columns = (double)frames->columns;
    run->summary.rows = (double)frames->rows;
    run->summary.bits = (double)frames->bits;
done:
    return status;
}

// The line: what the last second was like.
static bb_status tell(live_run *run, recent *now)
{
    bb_status status = BB_OK;
    const double clock = bb_clock_seconds();
    const bb_live_answer *answer = &run->answers[0];
    char line[LINE_BYTES], rest[LINE_BYTES / 2] = "";
    bb_index count = 0;
    BB_TRY(bb_live_meter_recent(&run->answers[0].meter, &count, &now->latency));
    now->rate_hz = (double)count / (clock - run->line_at_s);
    run->line_at_s = clock;
    run->scores_next = true;
    const bb_live_facts facts = list_facts(run, now, "running");
    if (!isnan(facts.wrong)) {
        (void)snprintf(rest, sizeof rest, ", %.0f wrong points in %.0f phases", facts.wrong,
                       answer->scored);
    } else if (!isnan(facts.rejected_share)) {
        (void)snprintf(rest, sizeof rest, ", %.2f %% rejected", 100.0 * facts.rejected_share);
    }
    (void)snprintf(line, sizeof line,
                   "%td phases, %.1f/s, latency %.2f, 99 %% %.2f, max %.2f ms, %.0f dropped%s",
                   facts.frame, now->rate_hz, facts.p50_ms, facts.p99_ms, facts.max_ms,
                   facts.dropped, rest);
    if (count > 0) {
        bb_log_status(line);
    }
done:
    return status;
}

// A stream without frames; `*ends` where patience does.
static bb_status wait_longer(live_run *run, const recent *now, bool *ends)
{
    bb_status status = BB_OK;
    const double patience =
        isnan(run->options->patience_s) ? usual_patience_s : run->options->patience_s;
    const double quiet = bb_clock_seconds() - run->last_s;
    char line[LINE_BYTES], state[STATE_BYTES];
    *ends = quiet >= patience;
    if (quiet < stall_s && !*ends) {
        goto done;
    }
    const char *lack = run->skips ? "no frames of use" : "no frames";
    (void)snprintf(state, sizeof state, "%s for %.0f s", lack, floor(quiet));
    (void)snprintf(line, sizeof line, "%s, waiting up to %g s", state, patience);
    if (!run->stalled) {
        run->stalled = true;
        run->summary.stalls += 1.0;
        bb_log_info("%s", line);
    }
    if (bb_clock_seconds() - run->line_at_s >= line_s) {
        run->line_at_s = bb_clock_seconds();
        bb_log_status(line);
        if (run->view != NULL) {
            const bb_live_facts facts = list_facts(run, now, state);
            BB_TRY(bb_live_view_show(run->view, run->columns, run->rows, NULL, &facts));
        }
    }
    if (*ends) {
        bb_log_warning("%s for %g s: the stream is taken to have ended", lack, patience);
    }
done:
    return status;
}

static bb_status stream(live_run *run, recent *now)
{
    bb_status status = BB_OK;
    const double limit = run->options->frames > 0 ? (double)run->options->frames : INFINITY;
    const bb_live_frames *frames = NULL;
    bb_live_event event = BB_LIVE_NOTHING;
    bool ends = false, is_done = false;
    run->last_s = run->line_at_s = bb_clock_seconds();
    run->start_s = NAN;
    run->scores_next = true;
    while (run->summary.phases < limit && !bb_interrupt_noted() && !ends) {
        BB_TRY(bb_live_acquisition_take(run->acquisition, wait_s, &frames, &event));
        is_done = false;
        if (frames != NULL) {
            BB_TRY(process(run, frames, now, &is_done));
            if (is_done && bb_clock_seconds() - run->line_at_s >= line_s) {
                BB_TRY(tell(run, now));
            }
        }
        ends = event == BB_LIVE_ENDED;
        if (!is_done && !ends) {
            BB_TRY(wait_longer(run, now, &ends));
        }
    }
done:
    return status;
}

static bb_status show_end(live_run *run, recent *now)
{
    bb_status status = BB_OK;
    if (run->view != NULL) {
        now->rate_hz = run->summary.rate_hz;
        BB_TRY(bb_live_meter_all(&run->answers[0].meter, &now->latency));
        const bool has_phase =
            run->summary.phases > 0.0 && run->summary.count == 1 && run->columns > 0;
        const bb_live_facts facts = list_facts(run, now, "ended");
        BB_TRY(bb_live_view_show(run->view, run->columns, run->rows, has_phase ? run->phase : NULL,
                                 &facts));
    }
done:
    return status;
}

static bb_status conclude(live_run *run, recent *now, bb_results *results, bb_text *table)
{
    bb_status status = BB_OK;
    bb_live_summary *summary = &run->summary;
    bb_log_clear();
    summary->interrupted = bb_interrupt_noted();
    summary->dropped = (double)count_dropped(run);
    summary->seconds = summary->phases > 0.0 ? run->last_s - run->start_s : 0.0;
    summary->rate_hz = summary->phases / summary->seconds;
    summary->answers = run->answers;
    if (summary->phases > 0.0 || summary->interrupted) {
        BB_TRY(bb_live_table_publish(summary, results, table));
        if (results != NULL) {
            BB_TRY(bb_kernel_variants_publish(run->variants, results));
        }
    }
    BB_TRY(show_end(run, now));
    BB_REQUIRE(summary->phases > 0.0 || summary->interrupted, BB_IO,
               "the stream ended before its first phase%s%s", run->skipped > 0 ? ": " : "",
               run->skipped > 0 ? run->reason.message : "");
done:
    return status;
}

// What failed is the error, but what came before it is summed up.
static bb_status end(live_run *run, recent *now, bb_status failure, bb_results *results,
                     bb_text *table)
{
    bb_status status = BB_OK;
    bb_status_record record;
    if (failure == BB_OK && run->summary.phases == 0.0) {
        bb_interrupt_deliver(); // there is nothing to sum up
    }
    if (failure == BB_OK) {
        BB_TRY(conclude(run, now, results, table));
    } else {
        bb_status_save(&record);
        if (run->summary.phases > 0.0 && conclude(run, now, results, table) != BB_OK) {
            bb_log_warning("the summary is not whole: %s", bb_status_message());
        }
        bb_status_restore(&record);
        status = failure;
    }
done:
    return status;
}

bb_status bb_live_run(const void *study, const bb_live_options *options, bb_results *results,
                      bb_text *table)
{
    bb_status status = BB_OK;
    live_run run = {.study = study, .options = options};
    recent now = {{NAN, NAN, NAN}, NAN};
    BB_TRY(start(&run));
    bb_interrupt_defer(true);
    status = end(&run, &now, stream(&run, &now), results, table);
    bb_interrupt_defer(false);
done:
    finish(&run);
    return status;
}
