// SPDX-License-Identifier: Apache-2.0
#include "sim/realtime/realtime_report.h"

#include "core/clock.h"
#include "core/memory.h"
#include "sim/interrupt.h"
#include "sim/pipelines/failure_bound.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/utsname.h>

// Before a release the thread polls for so long.
static const int64_t spin_ns = 150000;

static void put(char out[BB_HOST_TEXT], const char *text)
{
    (void)snprintf(out, BB_HOST_TEXT, "%s", text);
}

// First line of a stream without its end; false where there is none.
static bool read_line(FILE *file, char out[BB_HOST_TEXT])
{
    if (fgets(out, BB_HOST_TEXT, file) == NULL) {
        return false;
    }
    out[strcspn(out, "\n")] = '\0';
    return out[0] != '\0';
}

static void read_file(const char *path, const char *otherwise, char out[BB_HOST_TEXT])
{
    char line[BB_HOST_TEXT] = "";
    FILE *file = fopen(path, "r");
    bool found = file != NULL && read_line(file, line);
    if (file != NULL) {
        (void)fclose(file);
    }
    put(out, found ? line : otherwise);
}

static void read_processor(bb_host_state *out)
{
    char line[4096];
    FILE *file = fopen("/proc/cpuinfo", "r");
    put(out->processor, "not known");
    put(out->hypervisor, "not known");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *value = strchr(line, ':');
        line[strcspn(line, "\n")] = '\0';
        if (value != NULL && strncmp(line, "model name", 10) == 0) {
            put(out->processor, value + 2);
        }
        if (value != NULL && strncmp(line, "flags", 5) == 0) {
            put(out->hypervisor,
                strstr(value, " hypervisor") != NULL ? "a virtual machine" : "none seen");
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

static void read_clocks(char out[BB_HOST_TEXT])
{
    char line[BB_HOST_TEXT] = "";
    FILE *file = popen("nvidia-smi --query-gpu=clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem "
                       "--format=csv,noheader 2> /dev/null",
                       "r");
    bool found = file != NULL && read_line(file, line);
    if (file != NULL) {
        (void)pclose(file);
    }
    put(out, found ? line : "not known");
}

void bb_host_state_read(bb_host_state *out)
{
    struct utsname system;
    double load[3] = {0.0};
    read_processor(out);
    read_file("/sys/devices/system/cpu/isolated", "none", out->isolated);
    read_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "not known", out->governor);
    read_clocks(out->clocks);
    put(out->kernel, "not known");
    put(out->load, "not known");
    if (uname(&system) == 0) {
        (void)snprintf(out->kernel, BB_HOST_TEXT, "%.60s %.90s", system.release, system.version);
    }
    if (getloadavg(load, 3) == 3) {
        (void)snprintf(out->load, BB_HOST_TEXT, "%.2f %.2f %.2f", load[0], load[1], load[2]);
    }
}

// Of the cores that the thread may use, the first isolated one, else the last.
static int choose_core(const cpu_set_t *may)
{
    char isolated[BB_HOST_TEXT];
    int core = -1;
    read_file("/sys/devices/system/cpu/isolated", "", isolated);
    if (isolated[0] >= '0' && isolated[0] <= '9') {
        const long first = strtol(isolated, NULL, 10);
        if (first < CPU_SETSIZE && CPU_ISSET((int)first, may)) {
            return (int)first;
        }
    }
    for (int k = 0; k < CPU_SETSIZE; ++k) {
        core = CPU_ISSET(k, may) ? k : core;
    }
    return core;
}

static void pin(bb_realtime_thread *thread)
{
    cpu_set_t one;
    const bool known = sched_getaffinity(0, sizeof thread->cores, &thread->cores) == 0;
    const int core = known ? choose_core(&thread->cores) : -1;
    if (core < 0) {
        put(thread->core, "not pinned: the cores of the thread are not known");
        return;
    }
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    thread->pinned = sched_setaffinity(0, sizeof one, &one) == 0;
    if (thread->pinned) {
        (void)snprintf(thread->core, BB_HOST_TEXT, "pinned to core %d", core);
    } else {
        (void)snprintf(thread->core, BB_HOST_TEXT, "not pinned to core %d: %s", core,
                       strerror(errno));
    }
}

// Pages that are there; a GPU's driver reserves more addresses than there is memory.
static void lock(bb_realtime_thread *thread)
{
    thread->locked = mlockall(MCL_CURRENT | MCL_ONFAULT) == 0;
    if (thread->locked) {
        put(thread->memory, "locked");
    } else {
        (void)snprintf(thread->memory, BB_HOST_TEXT, "not locked: %s", strerror(errno));
    }
}

static void raise_policy(bb_realtime_thread *thread, bool never_sleeps)
{
    const struct sched_param parameters = {.sched_priority = 80};
    char budget[BB_HOST_TEXT];
    read_file("/proc/sys/kernel/sched_rt_runtime_us", "-1", budget);
    if (never_sleeps && strcmp(budget, "-1") != 0) {
        (void)snprintf(thread->policy, BB_HOST_TEXT,
                       "SCHED_OTHER: the kernel gives a real-time thread %.20s us a second, and "
                       "this one never sleeps",
                       budget);
        return;
    }
    thread->raised = sched_setscheduler(0, SCHED_FIFO, &parameters) == 0;
    if (thread->raised) {
        put(thread->policy, "SCHED_FIFO 80");
    } else {
        (void)snprintf(thread->policy, BB_HOST_TEXT, "SCHED_OTHER: SCHED_FIFO refused: %s",
                       strerror(errno));
    }
}

void bb_realtime_thread_enter(bb_realtime_thread *thread, bool never_sleeps)
{
    *thread = (bb_realtime_thread){0};
    thread->slack = prctl(PR_GET_TIMERSLACK);
    // Wake-ups are not put off to be bundled with others; without effect under SCHED_FIFO.
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    pin(thread);
    lock(thread);
    raise_policy(thread, never_sleeps);
}

void bb_realtime_thread_leave(bb_realtime_thread *thread)
{
    const struct sched_param parameters = {0};
    if (thread->raised) {
        (void)sched_setscheduler(0, SCHED_OTHER, &parameters);
    }
    if (thread->locked) {
        (void)munlockall();
    }
    if (thread->pinned) {
        (void)sched_setaffinity(0, sizeof thread->cores, &thread->cores);
    }
    if (thread->slack >= 0) {
        (void)prctl(PR_SET_TIMERSLACK, (unsigned long)thread->slack);
    }
    thread->raised = thread->locked = thread->pinned = false;
}

void bb_realtime_thread_await(int64_t ns)
{
    while (!bb_clock_sleep_until(ns - spin_ns) && !bb_interrupt_noted()) {
    }
    while (bb_clock_ns() < ns) {
    }
}

bool bb_realtime_thread_never_sleeps(int64_t period_ns)
{
    return period_ns <= 2 * spin_ns;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// Nearest rank of sorted values.
static double quantile(bb_index count, const double *sorted, double part)
{
    const bb_index rank = (bb_index)ceil(part * (double)count);
    return count == 0 ? NAN : sorted[rank < 1 ? 0 : rank - 1];
}

static bool is_of(const bb_step_record *record, int kind)
{
    return kind == (int)BB_STEP_ALL || record->kind == kind;
}

double bb_latency_miss_bound(bb_index misses, bb_index count)
{
    if (count == 0) {
        return NAN;
    }
    if (misses == 0) {
        return fmin(3.0 / (double)count, 1.0);
    }
    return bb_failure_bound(misses, count);
}

static void sum_up(bb_index count, double *values, double deadline, bb_latency *out)
{
    double sum = 0.0;
    bb_index misses = 0;
    for (bb_index i = 0; i < count; ++i) {
        sum += values[i];
        misses += values[i] > deadline;
    }
    out->count = (double)count;
    out->misses = (double)misses;
    qsort(values, (size_t)count, sizeof *values, ascending);
    out->mean = count == 0 ? NAN : sum / (double)count;
    out->p50 = quantile(count, values, 0.5);
    out->p99 = quantile(count, values, 0.99);
    out->p999 = quantile(count, values, 0.999);
    out->p9999 = quantile(count, values, 0.9999);
    out->max = quantile(count, values, 1.0);
    out->max_over_median = out->max / out->p50;
    out->miss_rate = count == 0 ? NAN : out->misses / out->count;
    out->miss_bound = bb_latency_miss_bound(misses, count);
}

bb_status bb_latency_summarise(bb_index count, const bb_step_record *records, int kind,
                               double deadline, bb_latency *out)
{
    bb_status status = BB_OK;
    double *values = NULL;
    bb_index found = 0;
    *out = (bb_latency){0};
    BB_TRY(BB_ALLOCATE(count + 1, &values));
    for (bb_index i = 0; i < count; ++i) {
        values[found] = records[i].latency;
        found += is_of(&records[i], kind);
    }
    sum_up(found, values, deadline, out);
    for (int stage = 0; stage < BB_STEP_PARTS; ++stage) {
        found = 0;
        for (bb_index i = 0; i < count; ++i) {
            values[found] = records[i].stage[stage];
            found += is_of(&records[i], kind) && !isnan(records[i].stage[stage]);
        }
        qsort(values, (size_t)found, sizeof *values, ascending);
        out->stage_median[stage] = quantile(found, values, 0.5);
    }
done:
    BB_RELEASE(&values);
    return status;
}

bb_index bb_latency_worst(bb_index count, const bb_step_record *records, bb_index limit,
                          bb_index *out)
{
    bb_index found = 0;
    for (bb_index i = 0; i < count; ++i) {
        bb_index index = found;
        while (index > 0 && records[out[index - 1]].latency < records[i].latency) {
            --index;
        }
        if (index == limit) {
            continue;
        }
        found += found < limit;
        for (bb_index k = found - 1; k > index; --k) {
            out[k] = out[k - 1];
        }
        out[index] = i;
    }
    return found;
}

void bb_latency_histogram(bb_index count, const bb_step_record *records, int kind, double *out)
{
    for (bb_index bin = 0; bin < BB_LATENCY_BINS; ++bin) {
        out[bin] = 0.0;
    }
    for (bb_index i = 0; i < count; ++i) {
        const double bin = floor(records[i].latency * BB_LATENCY_BINS_PER_SECOND);
        if (is_of(&records[i], kind)) {
            out[(bb_index)fmin(fmax(bin, 0.0), BB_LATENCY_BINS - 1)] += 1.0;
        }
    }
}

bb_status bb_latency_blocks(bb_index count, const bb_step_record *records, bb_index blocks,
                            double *begin, double *median, double *max)
{
    bb_status status = BB_OK;
    double *values = NULL;
    BB_TRY(BB_ALLOCATE(count / blocks + 1, &values));
    for (bb_index block = 0; block < blocks; ++block) {
        const bb_index start = block * count / blocks;
        const bb_index length = (block + 1) * count / blocks - start;
        for (bb_index i = 0; i < length; ++i) {
            values[i] = records[start + i].latency;
        }
        qsort(values, (size_t)length, sizeof *values, ascending);
        begin[block] = records[start].release;
        median[block] = quantile(length, values, 0.5);
        max[block] = quantile(length, values, 1.0);
    }
done:
    BB_RELEASE(&values);
    return status;
}

enum { BLOCKS = 1000 };

// Latencies of a run; s.
typedef struct series {
    bb_index bins, blocks;
    double *block;                     // all of those that follow
    double *edges;                     // [bins] us
    double *counts;                    // [kinds][bins]
    double *begins, *medians, *maxima; // [blocks] of runs of successive steps
} series;

#define OF_KIND(field) BB_MEMBER(bb_latency, field), .measured = true

static const bb_output kind_rows[] = {
    {"steps", "kind", "1", "steps that were measured", OF_KIND(count)},
    {"latency_mean_us", "kind", "us", "mean latency", OF_KIND(mean), .scale = 1e6},
    {"latency_p50_us", "kind", "us", "median latency", .note = "nearest rank, as those that follow",
     OF_KIND(p50), .scale = 1e6},
    {"latency_p99_us", "kind", "us", "latency that 1 step in 100 passes", OF_KIND(p99),
     .scale = 1e6},
    {"latency_p99_9_us", "kind", "us", "latency that 1 step in 1000 passes", OF_KIND(p999),
     .scale = 1e6},
    {"latency_p99_99_us", "kind", "us", "latency that 1 step in 10000 passes", OF_KIND(p9999),
     .scale = 1e6},
    {"latency_max_us", "kind", "us", "greatest latency", OF_KIND(max), .scale = 1e6},
    {"latency_max_over_p50", "kind", "1", "greatest latency over the median",
     OF_KIND(max_over_median)},
    {"misses", "kind", "1", "latencies over the deadline", OF_KIND(misses)},
    {"miss_rate", "kind", "1", "misses over steps", OF_KIND(miss_rate)},
    {"miss_rate_bound", "kind", "1", "upper bound on the rate of misses, 95 %",
     .note = "Clopper and Pearson, one-sided; 3 / steps without a miss", OF_KIND(miss_bound)},
};
const bb_output_table bb_realtime_report_kinds = {"/results, realtime", NULL, "results", "kind",
                                                  BB_OUTPUT_ROWS(kind_rows)};

static const bb_output latency_rows[] = {
    {"bin_us", "bin_us", "us", "lower edge of a bin; the last one has no upper edge",
     .note = "of 1 us, the last from 2 ms on", BB_MEMBER(series, edges),
     .count = offsetof(series, bins)},
    {"count", "kind, bin_us", "1", "steps by latency", BB_MEMBER(series, counts), .measured = true},
    {"block", "block", "1", "run of successive steps", .note = "up to 1000 of them",
     .count = offsetof(series, blocks), .indices = true},
    {"block_begin_s", "block", "s", "first release of a run, since the first of all",
     BB_MEMBER(series, begins), .measured = true},
    {"block_p50_us", "block", "us", "median latency of a run", BB_MEMBER(series, medians),
     .scale = 1e6, .measured = true},
    {"block_max_us", "block", "us", "greatest latency of a run", BB_MEMBER(series, maxima),
     .scale = 1e6, .measured = true},
};
const bb_output_table bb_realtime_report_latencies = {"/latency, realtime", NULL, "latency", NULL,
                                                      BB_OUTPUT_ROWS(latency_rows)};

bb_status bb_realtime_report_publish(bb_index count, const bb_step_record *records,
                                     const int *kinds, bb_index kind_count, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_index bins = BB_LATENCY_BINS;
    const bb_index blocks = count < BLOCKS ? count : BLOCKS;
    double *block = NULL;
    BB_TRY(BB_ALLOCATE((1 + kind_count) * bins + 3 * blocks, &block));
    double *begins = block + (1 + kind_count) * bins;
    const series run = {bins,         blocks, block,           block,
                        block + bins, begins, begins + blocks, begins + 2 * blocks};
    for (int bin = 0; bin < BB_LATENCY_BINS; ++bin) {
        run.edges[bin] = 1e6 * bin / BB_LATENCY_BINS_PER_SECOND;
    }
    for (bb_index k = 0; k < kind_count; ++k) {
        bb_latency_histogram(count, records, kinds[k], run.counts + k * bins);
    }
    BB_TRY(bb_latency_blocks(count, records, blocks, run.begins, run.medians, run.maxima));
    BB_TRY(bb_output_table_publish(&bb_realtime_report_latencies, &run, NULL, results));
done:
    BB_RELEASE(&block);
    return status;
}

bb_status bb_realtime_report_print(const char *name, const bb_latency *latency, bb_text *out)
{
    if (latency == NULL) {
        return bb_text_add(out, "%-7s%9s%9s%9s%9s%9s%9s%9s%9s%8s", "steps", "count", "mean", "p50",
                           "p99", "p99.9", "p99.99", "max", "max/p50", "misses");
    }
    return bb_text_add(out, "%-7s%9.0f %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f %7.0f", name,
                       latency->count, 1e6 * latency->mean, 1e6 * latency->p50, 1e6 * latency->p99,
                       1e6 * latency->p999, 1e6 * latency->p9999, 1e6 * latency->max,
                       latency->max_over_median, latency->misses);
}

bb_status bb_realtime_report_print_misses(double deadline_us, const bb_latency *latency,
                                          bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "latencies in us; deadline %g us: ", deadline_us));
    BB_TRY(latency->misses == 0.0
               ? bb_text_add(out, "no miss, rate below %.3g at 95 %%\n", latency->miss_bound)
               : bb_text_add(out, "miss rate %.3g, below %.3g at 95 %%\n", latency->miss_rate,
                             latency->miss_bound));
done:
    return status;
}

bb_status bb_realtime_report_note_host(const bb_realtime_host *host, bb_results *results)
{
    const char *const notes[][2] = {
        {"processor", host->before.processor},   {"kernel", host->before.kernel},
        {"hypervisor", host->before.hypervisor}, {"isolated_cores", host->before.isolated},
        {"governor", host->before.governor},     {"load_before", host->before.load},
        {"load_after", host->after.load},        {"core", host->thread.core},
        {"memory", host->thread.memory},         {"policy", host->thread.policy},
        {"device_clocks", host->after.clocks},
    };
    bb_status status = BB_OK;
    for (size_t i = 0; i < sizeof notes / sizeof *notes; ++i) {
        BB_TRY(bb_results_note(results, "host", notes[i][0], notes[i][1]));
    }
done:
    return status;
}

bb_status bb_realtime_report_note_devices(int count, const bb_device_report *devices,
                                          bb_results *results)
{
    bb_status status = BB_OK;
    bb_text names = {0};
    bb_text drivers = {0};
    bb_text kernels = {0};
    for (int d = 0; d < count; ++d) {
        const char *apart = d == 0 ? "" : " | ";
        BB_TRY(bb_text_add(&names, "%s%s", apart, devices[d].name));
        BB_TRY(bb_text_add(&drivers, "%s%s", apart, devices[d].driver));
        BB_TRY(bb_text_add(&kernels, "%s%s", apart, devices[d].kernels));
    }
    BB_TRY(bb_results_note(results, "host", "device", bb_text_string(&names)));
    BB_TRY(bb_results_note(results, "host", "device_driver", bb_text_string(&drivers)));
    BB_TRY(bb_results_note(results, "host", "device_kernels", bb_text_string(&kernels)));
done:
    bb_text_release(&names);
    bb_text_release(&kernels);
    bb_text_release(&drivers);
    return status;
}

bb_status bb_realtime_report_print_host(const bb_realtime_host *host, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_host_state *state = &host->before;
    BB_TRY(bb_text_add(out,
                       "\nhost: %s; kernel %s; hypervisor: %s; isolated cores: %s; "
                       "governor: %s\n",
                       state->processor, state->kernel, state->hypervisor, state->isolated,
                       state->governor));
    BB_TRY(bb_text_add(out, "load: %s before, %s after\n", state->load, host->after.load));
    BB_TRY(bb_text_add(out, "thread: %s; memory %s; %s\n", host->thread.core, host->thread.memory,
                       host->thread.policy));
done:
    return status;
}
