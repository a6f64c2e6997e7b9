// SPDX-License-Identifier: Apache-2.0
#include "core/clock.h"
#include "core/interrupt.h"
#include "core/log.h"
#include "core/memory.h"
#include "physics/fringe/cycles.h"
#include "sim/fringe/fringe_experiment.h"
#include "sim/fringe/live/live_lanes.h"
#include "sim/fringe/live/live_table.h"
#include "sim/fringe/live/live_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 240, STATE_BYTES = 80 };

// Period of status lines; time without frames that counts as a stall; longest single wait for
// frames, which bounds the response to an interrupt; default limit of a stall.
static const double line_s = 1.0, stall_s = 1.0, wait_s = 0.1, usual_patience_s = 30.0;
static const double poll_s = 5e-5; // interval between polls of a phase in flight

// A phase in flight.
typedef struct flight {
    const bb_live_frames *frames;
    int64_t since; // later of: frames complete, pipelines ready
} flight;

// Statistics of the last second, for the status line and the page.
typedef struct recent {
    bb_latency latency;
    double rate_hz;
} recent;

typedef struct live_run {
    const bb_fringe_study *study;
    const bb_live_options *options;
    bb_live_acquisition *acquisition;
    bb_live_view *view; // NULL without --view
    bb_kernel_variants *variants;
    bb_live_lanes *lanes;
    flight flights[BB_LIVE_MOST_OVERLAP]; // phase k uses slot k mod overlap
    recent now;
    const bb_live_frames *next; // frames of the next phase
    bb_live_answer *answers;    // [summary.count]
    bb_live_summary summary;
    unsigned char *mask; // [rows][columns] mask of the current shape
    double *phase;       // [rows][columns] phase of the current lane
    bb_index columns, rows, frames;
    double start_s,
        last_s;              // pipelines ready, NaN before; last frames or phase
    double line_at_s;        // time of the last status line
    int64_t ready_ns;        // time when the current pipelines were ready
    bb_index unready;        // phases dropped before the first pipelines were ready
    bb_index skipped;        // phases of a shape without usable pipelines
    bb_status_record reason; // error of the last skipped phase
    bool stalled, scores_next, skips;
} live_run;

static void close_run(live_run *run)
{
    if (run->lanes != NULL) {
        bb_live_lanes_clear(run->lanes); // no pipeline reads frames after this
    }
    bb_live_acquisition_stop(&run->acquisition);
    bb_live_view_close(&run->view);
    for (bb_index i = 0; i < run->summary.count; ++i) {
        bb_live_meter_release(&run->answers[i].meter);
    }
    bb_live_lanes_destroy(&run->lanes);
    bb_kernel_variants_destroy(&run->variants);
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
               "live needs detection.algorithm steps with steps 4, or carrier");
    *out = bb_fringe_config_frames(detection);
done:
    return status;
}

static bb_status make_lanes(live_run *run)
{
    bb_status status = BB_OK;
    const bb_live_options *options = run->options;
    BB_TRY(bb_live_lanes_create(run->study, options->pipelines, options->overlap, run->variants,
                                &run->lanes));
    const bb_index count = run->lanes->count;
    BB_TRY(BB_ZEROED(count, &run->answers));
    for (bb_index i = 0; i < count; ++i) {
        const bb_live_lane *lane = &run->lanes->items[i];
        run->answers[i] = (bb_live_answer){
            .name = lane->name, .device = bb_device_names[lane->kind], .rejected_share = NAN};
    }
    run->summary.count = count;
    run->summary.overlap = (double)run->lanes->overlap;
done:
    return status;
}

// Refuses pipelines with max_loss, whose formats are unknown before a run.
static bb_status check_numbers(const bb_list *list)
{
    bb_status status = BB_OK;
    const bb_fringe_pipeline *pipelines = list->items;
    for (bb_index p = 0; p < list->count; ++p) {
        BB_REQUIRE(!bb_fringe_pipeline_searches(&pipelines[p]), BB_INVALID,
                   "pipelines.%td.max_loss: the number formats of %s are unknown before a run; "
                   "set arithmetic and storage instead",
                   p, pipelines[p].name);
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
    BB_TRY(check_numbers(&run->study->pipelines));
    BB_TRY(bb_live_source_find(run->options->source, &kind, &request.place));
    BB_REQUIRE(run->study->input.file == NULL || kind != &bb_live_synthetic, BB_INVALID,
               "the study has input.file = '%s' and no synthetic scene: give a stream with "
               "--source, such as file:FRAMES.h5",
               run->study->input.file);
    BB_TRY(count_frames(run->study, &request.count));
    BB_TRY(bb_kernel_variants_create(&run->study->kernels, NULL, &run->variants));
    BB_TRY(make_lanes(run));
    if (run->options->view != NULL) {
        BB_TRY(bb_live_view_open(run->options->view, title == NULL ? "fringe" : title,
                                 bb_fringe_config_rad_per_nm(&run->study->physics), &run->view));
    }
    const double rate = isnan(run->options->rate_hz) ? 0.0 : run->options->rate_hz;
    run->frames = request.count;
    run->summary.source = run->options->source == NULL ? kind->name : run->options->source;
    run->summary.frames = (double)request.count;
    request.device = bb_live_lanes_device(run->lanes);
    BB_TRY(bb_live_acquisition_start(kind, &request, rate, run->lanes->overlap, &run->acquisition));
done:
    return status;
}

// Creates pipelines and a mask for frames of a new shape. Without a usable mask the old pipelines
// stay.
static bb_status create_for_shape(live_run *run, const bb_live_frames *frames)
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
        bb_log_info("the frame size is now %td x %td pixels, before %td x %td", frames->columns,
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
    status = bb_live_lanes_make(run->lanes, frames, run->mask);
    if (status != BB_OK) {
        run->columns = run->rows = 0; // no pipelines for any shape
        goto done;
    }
    run->summary.sizes += 1.0;
done:
    BB_RELEASE(&mask);
    BB_RELEASE(&phase);
    return status;
}

static bb_status score(live_run *run, bb_index index, const bb_live_pipeline *pipeline,
                       const bb_live_frames *frames)
{
    bb_status status = BB_OK;
    const double *truth = bb_live_acquisition_truth(run->acquisition, frames->draw);
    const bb_unwrap_parts *parts = bb_unwrap_parts_of(pipeline->unwrap);
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

static void skip_phase(live_run *run)
{
    bb_status_save(&run->reason);
    ++run->skipped;
    if (!run->skips) { // warn once for consecutive phases
        run->skips = true;
        bb_log_warning("a phase is dropped: %s", run->reason.message);
    }
}

// Creates pipelines for frames of a new shape. Their creation counts in no latency, and phases
// before the first ones do not count as dropped. Camera frames may be unusable, for example dark:
// `*is_ready` is then false, and the next frames are tried. For the study's own scene such a
// failure is an error.
static bb_status prepare_shape(live_run *run, const bb_live_frames *frames, bool *is_ready)
{
    bb_status status = create_for_shape(run, frames);
    *is_ready = status == BB_OK;
    if (status == BB_INVALID && frames->draw < 0) {
        skip_phase(run);
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

static bb_live_facts list_facts(const live_run *run, const char *state)
{
    const bb_live_answer *answer = &run->answers[0];
    const recent *now = &run->now;
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

static void end_stall(live_run *run)
{
    const double now = bb_clock_seconds();
    if (run->stalled) {
        bb_log_info("frames resumed after %.1f s", now - run->last_s);
        run->stalled = false;
    }
    run->skips = false;
}

// Prints the status line of the last second.
static bb_status print_line(live_run *run)
{
    bb_status status = BB_OK;
    recent *now = &run->now;
    const double clock = bb_clock_seconds();
    const bb_live_answer *answer = &run->answers[0];
    char line[LINE_BYTES], rest[LINE_BYTES / 2] = "";
    bb_index count = 0;
    BB_TRY(bb_live_meter_recent(&run->answers[0].meter, &count, &now->latency));
    now->rate_hz = (double)count / (clock - run->line_at_s);
    run->line_at_s = clock;
    run->scores_next = true;
    const bb_live_facts facts = list_facts(run, "running");
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

// Copy of a lane's pipeline that processes a phase.
static bb_live_pipeline *pipeline_of(const live_run *run, bb_index lane, bb_index phase)
{
    return run->lanes->items[lane].turns[phase % run->lanes->overlap];
}

static flight *flight_of(live_run *run, bb_index phase)
{
    return &run->flights[phase % run->lanes->overlap];
}

static bb_status finish_lane(live_run *run, bb_index lane, bb_index number)
{
    bb_status status = BB_OK;
    const flight *phase = flight_of(run, number);
    bb_live_pipeline *pipeline = pipeline_of(run, lane, number);
    bb_live_answer *answer = &run->answers[lane];
    bb_unwrap_report report;
    if (lane > 0) {
        BB_TRY(bb_live_pipeline_start(pipeline, phase->frames));
    }
    BB_TRY(bb_unwrap_read(pipeline->unwrap, run->phase, &report));
    run->last_s = bb_clock_seconds();
    BB_TRY(bb_live_meter_add(&answer->meter, 1e-9 * (double)(bb_clock_ns() - phase->since)));
    answer->rejected_share = isnan(report.limit_rad) ? NAN : report.rejected_share;
    answer->unsolved += report.converged ? 0.0 : 1.0;
    if (run->scores_next) {
        BB_TRY(score(run, lane, pipeline, phase->frames));
    }
    if (lane == 0 && run->view != NULL && bb_live_view_is_due(run->view)) {
        const bb_live_facts facts = list_facts(run, "running");
        BB_TRY(bb_live_view_show(run->view, run->columns, run->rows, run->phase, &facts));
    }
done:
    return status;
}

// Waits for the oldest phase in flight; lanes other than the first start it here.
static bb_status finish_phase(bb_realtime_loop *loop, int64_t release_ns, bb_step_record *records)
{
    bb_status status = BB_OK;
    live_run *run = loop->context;
    const bb_live_frames *frames = flight_of(run, loop->finished)->frames;
    (void)release_ns,
        (void)records; // lanes measure the latency
    for (bb_index lane = 0; lane < run->summary.count; ++lane) {
        BB_TRY(finish_lane(run, lane, loop->finished));
    }
    run->scores_next = false;
    run->summary.phases += 1.0;
    run->summary.columns = (double)frames->columns;
    run->summary.rows = (double)frames->rows;
    run->summary.bits = (double)frames->bits;
    if (bb_clock_seconds() - run->line_at_s >= line_s) {
        BB_TRY(print_line(run));
    }
done:
    return status;
}

static bb_status start_phase(bb_realtime_loop *loop, int64_t release_ns)
{
    live_run *run = loop->context;
    const bb_live_frames *frames = run->next;
    const int64_t since = frames->arrival_ns > run->ready_ns ? frames->arrival_ns : run->ready_ns;
    (void)release_ns;
    end_stall(run);
    *flight_of(run, loop->started) = (flight){frames, since};
    return bb_live_pipeline_start(pipeline_of(run, 0, loop->started), frames);
}

// Handles a time without frames; `*ends` is true once the timeout has expired.
static bb_status check_stall(live_run *run, bool *ends)
{
    bb_status status = BB_OK;
    const double patience =
        isnan(run->options->patience_s) ? usual_patience_s : run->options->patience_s;
    const double idle_s = bb_clock_seconds() - run->last_s;
    char line[LINE_BYTES], state[STATE_BYTES];
    *ends = idle_s >= patience;
    if (idle_s < stall_s && !*ends) {
        goto done;
    }
    const char *cause = run->skips ? "no usable frames" : "no frames";
    (void)snprintf(state, sizeof state, "%s for %.0f s", cause, floor(idle_s));
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
            const bb_live_facts facts = list_facts(run, state);
            BB_TRY(bb_live_view_show(run->view, run->columns, run->rows, NULL, &facts));
        }
    }
    if (*ends) {
        bb_log_warning("%s for %g s: the stream is considered ended", cause, patience);
    }
done:
    return status;
}

static bool has_ended(const bb_realtime_loop *loop)
{
    return bb_device_is_idle(pipeline_of(loop->context, 0, loop->finished)->device);
}

// Reads frames, and replaces the pipelines when the shape changes and earlier phases have finished.
// With a phase in flight the wait is short, since it may finish before new frames arrive.
static bb_status read_frames(bb_realtime_loop *loop, bool *is_ready)
{
    bb_status status = BB_OK;
    live_run *run = loop->context;
    const bool is_busy = loop->started > loop->finished;
    bb_live_event event = BB_LIVE_NOTHING;
    BB_TRY(
        bb_live_acquisition_wait(run->acquisition, is_busy ? poll_s : wait_s, &run->next, &event));
    const bb_live_frames *frames = run->next;
    *is_ready = frames != NULL;
    loop->ended = event == BB_LIVE_ENDED;
    if (*is_ready && (frames->columns != run->columns || frames->rows != run->rows)) {
        BB_TRY(bb_realtime_loop_drain(loop));
        BB_TRY(prepare_shape(run, frames, is_ready));
    }
    if (!is_busy && !*is_ready && !loop->ended) {
        BB_TRY(check_stall(run, &loop->ended));
    }
done:
    return status;
}

static const bb_realtime_stages phase_stages = {
    .read = read_frames, .start = start_phase, .finish = finish_phase, .has_ended = has_ended};

// Runs the stream and finishes phases in flight, unless finishing fails too.
static bb_status stream(live_run *run)
{
    bb_status_record record;
    const bb_index limit = run->options->frames > 0 ? run->options->frames : PTRDIFF_MAX;
    bb_realtime_loop loop = {&phase_stages, run,
                             .schedule = {.steps = limit, .depth = run->lanes->overlap}};
    run->last_s = run->line_at_s = bb_clock_seconds();
    run->start_s = NAN;
    run->scores_next = true;
    const bb_status status = bb_realtime_loop_follow(&loop);
    if (status != BB_OK) {
        bb_status_save(&record);
        if (bb_realtime_loop_drain(&loop) != BB_OK) {
            bb_log_warning("the last phases are missing: %s", bb_status_message());
        }
        bb_status_restore(&record);
    }
    return status;
}

static bb_status show_end(live_run *run)
{
    bb_status status = BB_OK;
    recent *now = &run->now;
    if (run->view != NULL) {
        now->rate_hz = run->summary.rate_hz;
        BB_TRY(bb_live_meter_all(&run->answers[0].meter, &now->latency));
        const bool has_phase =
            run->summary.phases > 0.0 && run->summary.count == 1 && run->columns > 0;
        const bb_live_facts facts = list_facts(run, "ended");
        BB_TRY(bb_live_view_show(run->view, run->columns, run->rows, has_phase ? run->phase : NULL,
                                 &facts));
    }
done:
    return status;
}

static bb_status publish_summary(live_run *run, bb_results *results, bb_text *table)
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
    BB_TRY(show_end(run));
    BB_REQUIRE(summary->phases > 0.0 || summary->interrupted, BB_IO,
               "the stream ended before its first phase%s%s", run->skipped > 0 ? ": " : "",
               run->skipped > 0 ? run->reason.message : "");
done:
    return status;
}

// Prints the summary of the finished phases, then returns `failure`.
static bb_status end(live_run *run, bb_status failure, bb_results *results, bb_text *table)
{
    bb_status status = BB_OK;
    bb_status_record record;
    if (failure == BB_OK && run->summary.phases == 0.0) {
        bb_interrupt_deliver(); // no summary without a phase
    }
    if (failure == BB_OK) {
        BB_TRY(publish_summary(run, results, table));
    } else {
        bb_status_save(&record);
        if (run->summary.phases > 0.0 && publish_summary(run, results, table) != BB_OK) {
            bb_log_warning("the summary is incomplete: %s", bb_status_message());
        }
        bb_status_restore(&record);
        status = failure;
    }
done:
    return status;
}

bb_status bb_fringe_experiment_live(const void *study, const bb_live_options *options,
                                    bb_results *results, bb_text *table)
{
    bb_status status = BB_OK;
    live_run run = {
        .study = study,
        .options = options,
        .now = {{.p50 = NAN, .p99 = NAN, .max = NAN}, NAN},
    };
    BB_TRY(start(&run));
    bb_interrupt_defer(true);
    status = end(&run, stream(&run), results, table);
    bb_interrupt_defer(false);
done:
    close_run(&run);
    return status;
}
