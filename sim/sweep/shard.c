// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/shard.h"

#include "core/clock.h"
#include "core/device/device.h"
#include "core/file.h"
#include "core/interrupt.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/status.h"
#include "core/store.h"
#include "core/team.h"
#include "core/thread.h"
#include "sim/output/image.h"
#include "sim/output/provenance.h"
#include "sim/sweep/crew.h"
#include "sim/sweep/record_file.h"
#include "sim/sweep/slurm.h"
#include "sim/sweep/sweep_plan.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BB_VISIBLE_GPUS = 64 };

typedef struct visible_gpus {
    bb_index count;
    char names[BB_VISIBLE_GPUS][64]; // as in CUDA_VISIBLE_DEVICES
} visible_gpus;

// Query answered by one worker.
typedef struct question {
    bool is_sent;
    bb_index count;
    bb_status status;
    char reason[256];
} question;

static bb_status count_here(void *context, bb_index item, bb_text *answer)
{
    bb_status status = BB_OK;
    char reason[256] = "";
    (void)context;
    (void)item;
    const bb_index count = bb_device_count(BB_DEVICE_CUDA, reason, sizeof reason);
    BB_REQUIRE(count > 0, BB_DEVICE, "the plan needs device cuda, which is not available: %s",
               reason);
    BB_TRY(bb_text_add(answer, "%td", count));
done:
    return status;
}

static bool query_once(void *context, bb_index *item)
{
    question *open = context;
    const bool first = !open->is_sent;
    open->is_sent = true;
    *item = 0;
    return first;
}

static bb_status read_count(void *context, bb_index item, const bb_crew_end *end)
{
    question *open = context;
    (void)item;
    open->status = end->status;
    open->count = strtol(end->text, NULL, 10);
    (void)snprintf(open->reason, sizeof open->reason, "%s",
                   end->signal == 0 ? end->text : "the driver ended the process of the query");
    return BB_OK;
}

static bb_status find_gpus(visible_gpus *out)
{
    bb_status status = BB_OK;
    question open = {0};
    const bb_crew_task task = {&open, NULL, count_here, query_once, read_count};
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    *out = (visible_gpus){0};
    BB_TRY(bb_crew_run(&task, 1, 120.0));
    BB_REQUIRE(open.status == BB_OK, BB_DEVICE, "%s", open.reason);
    for (bb_index g = 0; g < open.count && g < BB_VISIBLE_GPUS; ++g) {
        if (visible == NULL || visible[0] == '\0') {
            (void)snprintf(out->names[g], sizeof out->names[g], "%td", g);
        } else {
            (void)snprintf(out->names[g], sizeof out->names[g], "%.*s", (int)strcspn(visible, ","),
                           visible);
            visible += strcspn(visible, ",");
            visible += *visible == ',';
        }
        ++out->count;
    }
done:
    return status;
}

static bb_status select_gpu(const visible_gpus *gpus, bb_index index)
{
    bb_status status = BB_OK;
    BB_REQUIRE(setenv("CUDA_VISIBLE_DEVICES", gpus->names[index % gpus->count], 1) == 0,
               BB_INTERNAL, "cannot set CUDA_VISIBLE_DEVICES: %s", strerror(errno));
done:
    return status;
}

// State of a process that runs points. Zero-initialise except the first three members.
typedef struct point_run {
    const bb_sweep_plan *plan;
    bb_index threads;
    double warm_bytes;      // memory for data kept from point to point
    bool started;           // number of threads is set
    bb_described described; // dataset descriptions written in records
    bb_point_files files;   // known digests
} point_run;

// Called once in each process: checks that the plan's device and files are available.
static bb_status start(point_run *run)
{
    bb_status status = BB_OK;
    char reason[256] = "";
    const bb_device_kind device = run->plan->device;
    BB_REQUIRE(bb_device_count(device, reason, sizeof reason) > 0, BB_DEVICE,
               "the plan needs device %s, which is not available: %s", bb_device_names[device],
               reason);
    BB_TRY(bb_threads_set(run->threads));
    bb_store_allow(run->warm_bytes);
    run->started = true;
done:
    return status;
}

static bb_status write_file(const point_run *run, bb_index point, bb_results *results)
{
    bb_status status = BB_OK;
    char *path = NULL;
    BB_TRY(bb_memory_printf(&path, "%s/points", run->plan->folder));
    BB_REQUIRE(mkdir(path, 0777) == 0 || errno == EEXIST, BB_IO, "cannot make folder '%s': %s",
               path, strerror(errno));
    BB_RELEASE(&path);
    BB_TRY(bb_memory_printf(&path, "%s/points/%td.h5", run->plan->folder, point));
    BB_TRY(bb_image_save(results, path, true));
done:
    BB_RELEASE(&path);
    return status;
}

static bb_status compute_study(point_run *run, bb_index point, const bb_config *config,
                               bb_results *results)
{
    bb_status status = BB_OK;
    static char program[] = "bitbudget";
    static char verb[] = "sweep";
    char *arguments[] = {program, verb};
    const bb_sweep *sweep = run->plan->sweep;
    const void *study = bb_config_study(config);
    const bb_run_options options = {.threads = run->threads};
    if (sweep->keeps_files) {
        BB_TRY(bb_provenance_begin(results, config, study, 2, arguments, run->threads));
    }
    BB_TRY(sweep->experiment->run(study, &options, results));
    if (sweep->keeps_files) {
        BB_TRY(bb_provenance_end(results));
        BB_TRY(bb_team_joined()->rank == 0 ? write_file(run, point, results) : BB_OK);
    }
done:
    return status;
}

static bb_status compute_point(point_run *run, bb_index point, bb_text *answer)
{
    bb_status status = BB_OK;
    bb_config *config = NULL;
    bb_results *results = NULL;
    bb_problems problems = {0};
    char id[BB_DIGEST_BYTES];
    const double begin = bb_clock_seconds();
    const bb_sweep *sweep = run->plan->sweep;
    if (!run->started) {
        BB_TRY(start(run));
    }
    bb_store_next_study();
    status = bb_sweep_bind(sweep, point, &problems, &config);
    BB_REQUIRE(status != BB_INVALID || problems.count == 0, BB_INVALID, "%s",
               bb_text_string(&problems.lines));
    BB_TRY(status);
    BB_TRY(bb_sweep_point_id(config, run->plan->device, &run->files, id));
    BB_TRY(bb_results_create(&results));
    BB_TRY(compute_study(run, point, config, results));
    BB_TRY(bb_point_record_fill(results, id, bb_clock_seconds() - begin, sweep->keep,
                                sweep->keep_count, &run->described, answer));
done:
    bb_results_destroy(&results);
    bb_config_destroy(&config);
    bb_problems_release(&problems);
    return status;
}

// Fraction of the machine's memory available to points.
static const double MEMORY_SHARE = 0.9;
// Fraction of a worker's unused memory for data kept between points.
static const double WARM_SHARE = 0.5;

typedef struct shard {
    const bb_shard_request *request;
    bb_sweep_progress progress;
    bb_record_file *file;
    point_run run;   // arguments of the workers
    bb_index *queue; // [queue_count] points to run
    bb_index queue_count, next;
    bb_index *again; // [queue_count] points to run again
    bb_index again_count;
    bb_index *signals; // [point_count] number of workers that died at a point
    bb_shard_report *report;
    visible_gpus gpus; // one for each worker; none for the cpu
    double start;
    double logged;
} shard;

static bool is_mine(const bb_shard_request *request, bb_index point)
{
    const bb_sweep_plan *plan = request->plan;
    bool mine = request->shard_count == 0;
    for (bb_index s = 0; s < request->shard_count; ++s) {
        mine = mine || point % plan->shards == request->shards[s] - 1;
    }
    return mine && (request->wanted == NULL || request->wanted[point]) &&
           !bb_sweep_is_excluded(plan->sweep, point);
}

static bb_status list_points(shard *work)
{
    bb_status status = BB_OK;
    const bb_index points = work->progress.point_count;
    BB_TRY(BB_ALLOCATE(points, &work->queue));
    BB_TRY(BB_ALLOCATE(points, &work->again));
    BB_TRY(BB_ZEROED(points, &work->signals));
    for (bb_index p = 0; p < points; ++p) {
        if (is_mine(work->request, p)) {
            const int class = work->progress.points[p].class;
            work->report->before += class == BB_POINT_DONE;
            if (class == BB_POINT_OPEN) {
                work->queue[work->queue_count++] = p;
            }
        }
    }
done:
    return status;
}

static bool next_point(void *context, bb_index *item)
{
    shard *work = context;
    if (work->again_count > 0) {
        *item = work->again[--work->again_count];
        return true;
    }
    if (work->next == work->queue_count) {
        return false;
    }
    *item = work->queue[work->next++];
    return true;
}

static bb_status begin(void *context, bb_index worker)
{
    const shard *work = context;
    return work->gpus.count == 0 ? BB_OK : select_gpu(&work->gpus, worker);
}

static bb_status compute(void *context, bb_index item, bb_text *answer)
{
    shard *work = context;
    if (!work->request->verbose) {
        // Warnings of one point repeat at all others; a failed pipeline is a result.
        bb_log_set_level(bb_team_joined()->rank == 0 && item == work->queue[0] ? BB_LOG_QUIET
                                                                               : BB_LOG_SILENT);
    }
    return compute_point(&work->run, item, answer);
}

static bb_point_class class_of(const bb_crew_end *end)
{
    if (end->late) {
        return BB_POINT_TIME;
    }
    if (end->signal != 0) {
        return BB_POINT_SIGNAL;
    }
    return bb_point_class_of(end->status);
}

static bb_status describe_failure(const shard *work, const bb_crew_end *end, bb_text *out)
{
    if (end->late) {
        return bb_text_add(out, "exceeds the limit of %g s",
                           work->request->plan->sweep->config.point_limit_s);
    }
    if (end->signal != 0) {
        return bb_text_add(out, "its process was ended by signal %d (%s)%s", end->signal,
                           strsignal(end->signal),
                           end->signal == SIGKILL ? ", possibly out of memory" : "");
    }
    if (end->length == 0) {
        return bb_text_add(out, "its process ended with code %d", end->exit_code);
    }
    return bb_text_add(out, "%s", end->text);
}

// True if this shard runs the point again.
static bool tries_again(shard *work, bb_index point, bb_point_class class, bb_index attempts)
{
    if (class == BB_POINT_SIGNAL) {
        return work->signals[point]++ == 0;
    }
    return (class == BB_POINT_IO || class == BB_POINT_MEMORY || class == BB_POINT_DEVICE) &&
           attempts <= work->request->plan->sweep->config.retries;
}

static void log_progress(shard *work)
{
    const bb_shard_report *report = work->report;
    const bb_index ended = report->done + report->failed;
    const double now = bb_clock_seconds();
    const double rate = (double)ended / (now - work->start);
    if (isatty(STDERR_FILENO)) {
        bb_log_progress("points", ended, work->queue_count);
        return;
    }
    if (now - work->logged < 10.0) {
        return;
    }
    work->logged = now;
    char failed[256] = "0 failed";
    for (int c = BB_POINT_DONE + 1, used = 0; c < BB_POINT_CLASSES; ++c) {
        if (report->classes[c] > 0) {
            used += snprintf(failed + used, sizeof failed - (size_t)used, "%s%td failed by %s",
                             used == 0 ? "" : ", ", report->classes[c], bb_point_class_names[c]);
        }
    }
    bb_log_info("%td of %td points, %s, %.3g per second, %.0f s left", ended, work->queue_count,
                failed, rate, (double)(work->queue_count - ended) / rate);
}

static bb_status write_record(shard *work, bb_index point, bb_point_class class, double seconds,
                              const char *text)
{
    bb_status status = BB_OK;
    bb_text line = {0};
    bb_point_progress *state = &work->progress.points[point];
    const bb_point_record head = {point, class, state->round, state->attempts};
    BB_TRY(bb_point_record_write(&head, seconds, text, &line));
    BB_TRY(bb_record_file_append(work->file, bb_text_string(&line), line.length));
done:
    bb_text_release(&line);
    return status;
}

static bb_status record_end(void *context, bb_index point, const bb_crew_end *end)
{
    bb_status status = BB_OK;
    shard *work = context;
    bb_text message = {0};
    const bb_point_class class = class_of(end);
    if (end->signal == SIGTERM || end->signal == SIGINT || end->signal == SIGHUP) {
        // The signal usually ends this process too. If only the worker ended, another one runs its
        // point, once.
        if (work->signals[point]++ == 0) {
            work->again[work->again_count++] = point;
        }
        goto done;
    }
    ++work->progress.points[point].attempts;
    if (class == BB_POINT_DONE) {
        BB_TRY(write_record(work, point, class, end->seconds, end->text));
        ++work->report->done;
    } else {
        BB_TRY(describe_failure(work, end, &message));
        if (tries_again(work, point, class, work->progress.points[point].attempts)) {
            bb_log_warning("point %td: %s; running it again", point, bb_text_string(&message));
            work->again[work->again_count++] = point;
            goto done;
        }
        BB_TRY(write_record(work, point, class, end->seconds, bb_text_string(&message)));
        ++work->report->failed;
        ++work->report->classes[class];
        bb_log_warning("point %td failed by %s: %s", point, bb_point_class_names[class],
                       bb_text_string(&message));
        BB_REQUIRE(class != BB_POINT_CONFIG, BB_INVALID,
                   "point %td: %s; exclude such points by sweep.exclude in a new plan", point,
                   bb_text_string(&message));
    }
    log_progress(work);
done:
    bb_text_release(&message);
    return status;
}

// Number of workers that fit into the machine's memory, by the planned need of the largest point.
static bb_status count_workers(const shard *work, bb_index *out, double *warm_bytes)
{
    bb_status status = BB_OK;
    double bytes = 0.0;
    const bb_shard_request *request = work->request;
    BB_TRY(bb_plan_machine_bytes(&bytes));
    const double job = bb_slurm_memory();
    bytes = fmin(bytes, job);
    const double room = floor(MEMORY_SHARE * bytes / fmax(request->plan->need.host_bytes, 1.0));
    const bb_index gpus = work->gpus.count;
    const bb_index jobs = request->jobs > 0 ? request->jobs : gpus > 0 ? gpus : request->threads;
    *out = jobs < work->queue_count ? jobs : work->queue_count;
    *out = gpus > 0 && *out > gpus ? gpus : *out;
    *out = *out < BB_CREW_WORKERS ? *out : BB_CREW_WORKERS;
    if ((double)*out > fmax(room, 1.0)) {
        *out = (bb_index)fmax(room, 1.0);
        bb_log_info("%td worker%s: %.0f MB of %s do not suffice for more, at %.0f MB each", *out,
                    *out == 1 ? "" : "s", 1e-6 * bytes,
                    job == bytes ? "Slurm's job" : "this machine",
                    1e-6 * request->plan->need.host_bytes);
    }
    if (*out > 0 && room < 1.0) {
        bb_log_warning("a point needs %.0f MB, but %s has %.0f MB",
                       1e-6 * request->plan->need.host_bytes,
                       job == bytes ? "Slurm's job" : "this machine", 1e-6 * bytes);
    }
    const double rest = MEMORY_SHARE * bytes / fmax((double)*out, 1.0);
    *warm_bytes = WARM_SHARE * fmax(rest - request->plan->need.host_bytes, 0.0);
done:
    return status;
}

// Computes a point with all processes of a team. An error in a single process ends the run of all,
// since they may wait for it; errors of the point itself occur in all processes.
static bb_status compute_together(shard *work, bb_index point, bb_text *answer, bb_crew_end *out)
{
    bb_status status = BB_OK;
    const double start = bb_clock_seconds();
    const bb_log_level level = bb_log_present_level();
    const bb_status found = compute(work, point, answer);
    bb_log_set_level(level);
    if (found != BB_OK && found != BB_INVALID) {
        bb_status_record record;
        bb_status_save(&record);
        if (bb_team_joined()->rank == 0) { // so that the next call skips it
            (void)write_record(work, point, bb_point_class_of(found), bb_clock_seconds() - start,
                               bb_status_message());
        }
        bb_status_restore(&record);
    }
    BB_TRY(found != BB_INVALID ? found : BB_OK);
    *out = (bb_crew_end){.status = found,
                         .seconds = bb_clock_seconds() - start,
                         .text = found == BB_OK ? bb_text_string(answer) : bb_status_message(),
                         .length = answer->length};
done:
    return status;
}

// Computes all points with all processes of a team: the first one selects the next point and writes
// the records.
static bb_status work_together(shard *work)
{
    bb_status status = BB_OK;
    const bb_team *team = bb_team_joined();
    bb_text answer = {0};
    work->run = (point_run){.plan = work->request->plan, .threads = work->request->threads};
    bb_interrupt_loses("the current point is not recorded; repeat the command to continue");
    for (;;) {
        bb_index point = -1;
        bb_crew_end end;
        if (team->rank == 0 && !next_point(work, &point)) {
            point = -1;
        }
        BB_TRY(team->broadcast(0, &point, sizeof point));
        if (point < 0) {
            break;
        }
        BB_TRY(compute_together(work, point, &answer, &end));
        if (team->rank == 0) {
            BB_TRY(record_end(work, point, &end));
        }
        bb_status_clear();
        bb_text_release(&answer);
    }
done:
    bb_text_release(&answer);
    bb_interrupt_loses("");
    return status;
}

static bb_status work_on(shard *work)
{
    bb_status status = BB_OK;
    bb_index workers = 0;
    double warm_bytes = 0.0;
    const bb_sweep_plan *plan = work->request->plan;
    const double limit_s = plan->sweep->config.point_limit_s;
    if (bb_team_joined()->size > 1) {
        return work_together(work);
    }
    if (plan->device == BB_DEVICE_CUDA && work->queue_count > 0) {
        BB_TRY(find_gpus(&work->gpus));
    }
    BB_TRY(count_workers(work, &workers, &warm_bytes));
    if (workers == 0) {
        goto done;
    }
    work->run = (point_run){
        .plan = plan,
        .warm_bytes = warm_bytes,
        .threads = work->request->threads > workers ? work->request->threads / workers : 1};
    const bb_crew_task task = {work, begin, compute, next_point, record_end};
    bb_interrupt_loses("the current points are not recorded; repeat the command to continue");
    BB_TRY(bb_crew_run(&task, workers, isnan(limit_s) ? INFINITY : limit_s));
    bb_log_progress("points", work->queue_count, work->queue_count);
done:
    bb_interrupt_loses("");
    return status;
}

bb_status bb_shard_run(const bb_shard_request *request, bb_shard_report *out)
{
    bb_status status = BB_OK;
    shard work = {.request = request, .report = out, .start = bb_clock_seconds()};
    const bb_sweep_plan *plan = request->plan;
    work.logged = work.start;
    *out = (bb_shard_report){0};
    for (bb_index s = 0; s < request->shard_count; ++s) {
        BB_REQUIRE(request->shards[s] >= 1 && request->shards[s] <= plan->shards, BB_INVALID,
                   "shard %td, expected 1 to %td", request->shards[s], plan->shards);
    }
    BB_TRY(bb_sweep_plan_check_files(plan));
    BB_TRY(bb_sweep_progress_read(plan, &work.progress));
    BB_TRY(list_points(&work));
    if (bb_team_joined()->rank == 0) {
        BB_TRY(bb_record_file_create(plan->folder, plan->id,
                                     request->shard_count == 0 ? 0 : request->shards[0],
                                     &work.file));
    }
    BB_TRY(work_on(&work));
    out->seconds = bb_clock_seconds() - work.start;
done:
    bb_record_file_close(&work.file);
    BB_RELEASE(&work.signals);
    BB_RELEASE(&work.again);
    BB_RELEASE(&work.queue);
    bb_sweep_progress_release(&work.progress);
    return status;
}

bb_status bb_shard_retry(const bb_sweep_plan *plan, const char *only, bb_index *count)
{
    bb_status status = BB_OK;
    bb_sweep_progress progress = {0};
    bb_record_file *file = NULL;
    bb_text line = {0};
    int wanted = BB_POINT_DONE;
    *count = 0;
    for (int c = BB_POINT_DONE + 1; only != NULL && c < BB_POINT_CLASSES; ++c) {
        wanted = strcmp(only, bb_point_class_names[c]) == 0 ? c : wanted;
    }
    BB_REQUIRE(only == NULL || wanted != BB_POINT_DONE, BB_INVALID,
               "--only %s, expected config, io, memory, device, internal, signal or time", only);
    BB_TRY(bb_sweep_progress_read(plan, &progress));
    BB_TRY(bb_record_file_create(plan->folder, plan->id, 0, &file));
    for (bb_index p = 0; p < progress.point_count; ++p) {
        const bb_point_progress *state = &progress.points[p];
        const bool failed = state->class != BB_POINT_OPEN && state->class != BB_POINT_DONE;
        if (failed && (only == NULL || state->class == wanted)) {
            BB_TRY(bb_text_add(&line, "{\"point\":%td,\"retry\":%td}\n", p, state->round + 1));
            ++*count;
        }
    }
    if (*count > 0) {
        BB_TRY(bb_record_file_append(file, bb_text_string(&line), line.length));
    }
done:
    bb_text_release(&line);
    bb_record_file_close(&file);
    bb_sweep_progress_release(&progress);
    return status;
}
