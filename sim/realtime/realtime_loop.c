// SPDX-License-Identifier: Apache-2.0
#include "sim/realtime/realtime_loop.h"

#include "core/clock.h"
#include "core/interrupt.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/utsname.h>

static const int64_t lead_ns = 50000000; // time before the first release, to fill the queue

// The thread polls for this long before a release.
static const int64_t spin_ns = 150000;

static void copy_text(char out[BB_HOST_TEXT], const char *text)
{
    (void)snprintf(out, BB_HOST_TEXT, "%s", text);
}

// Reads the first line of a stream without its line end; false if there is none.
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
    copy_text(out, found ? line : otherwise);
}

static void read_processor(bb_host_state *out)
{
    char line[4096];
    FILE *file = fopen("/proc/cpuinfo", "r");
    copy_text(out->processor, "unknown");
    copy_text(out->hypervisor, "unknown");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *value = strchr(line, ':');
        line[strcspn(line, "\n")] = '\0';
        if (value != NULL && strncmp(line, "model name", 10) == 0) {
            copy_text(out->processor, value + 2);
        }
        if (value != NULL && strncmp(line, "flags", 5) == 0) {
            copy_text(out->hypervisor,
                      strstr(value, " hypervisor") != NULL ? "virtual machine" : "none detected");
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
    copy_text(out, found ? line : "unknown");
}

// Reads the state of the host; may take a second and start a process.
static void read_host(bb_host_state *out)
{
    struct utsname system;
    double load[3] = {0.0};
    read_processor(out);
    read_file("/sys/devices/system/cpu/isolated", "none", out->isolated);
    read_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "unknown", out->governor);
    read_clocks(out->clocks);
    copy_text(out->kernel, "unknown");
    copy_text(out->load, "unknown");
    if (uname(&system) == 0) {
        (void)snprintf(out->kernel, BB_HOST_TEXT, "%.60s %.90s", system.release, system.version);
    }
    if (getloadavg(load, 3) == 3) {
        (void)snprintf(out->load, BB_HOST_TEXT, "%.2f %.2f %.2f", load[0], load[1], load[2]);
    }
}

// First isolated core allowed for the thread, else the last allowed core.
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
        copy_text(thread->core, "not pinned: the allowed cores of the thread are unknown");
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

// Locks only mapped pages: a GPU driver reserves more addresses than there is memory.
static void lock(bb_realtime_thread *thread)
{
    thread->locked = mlockall(MCL_CURRENT | MCL_ONFAULT) == 0;
    if (thread->locked) {
        copy_text(thread->memory, "locked");
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
                       "SCHED_OTHER: the kernel limits a real-time thread to %.20s us per second, "
                       "but this one never sleeps",
                       budget);
        return;
    }
    thread->raised = sched_setscheduler(0, SCHED_FIFO, &parameters) == 0;
    if (thread->raised) {
        copy_text(thread->policy, "SCHED_FIFO 80");
    } else {
        (void)snprintf(thread->policy, BB_HOST_TEXT, "SCHED_OTHER: SCHED_FIFO refused: %s",
                       strerror(errno));
    }
}

// Pins the thread to an isolated core, else to the last allowed one, locks its memory, and requests
// SCHED_FIFO unless the thread never sleeps and the kernel limits such threads. Failures are
// recorded but are not errors.
static void configure_thread(bb_realtime_thread *thread, bool never_sleeps)
{
    *thread = (bb_realtime_thread){0};
    thread->slack = prctl(PR_GET_TIMERSLACK);
    // Prevents wake-ups from being delayed and merged; no effect under SCHED_FIFO.
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    pin(thread);
    lock(thread);
    raise_policy(thread, never_sleeps);
}

// Restores the thread; the texts remain.
static void restore_thread(bb_realtime_thread *thread)
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

// Sleeps until shortly before a release, then polls, so that latencies do not include the wake-up
// of the thread.
static void wait_until(int64_t ns)
{
    while (!bb_clock_sleep_until(ns - spin_ns) && !bb_interrupt_noted()) {
    }
    while (bb_clock_ns() < ns) {
    }
}

void bb_realtime_measurement_release(bb_realtime_measurement *measured)
{
    BB_RELEASE(&measured->records);
}

static int64_t await_release(const bb_realtime_loop *loop)
{
    const int64_t period = loop->schedule.period_ns;
    const int64_t release = loop->first_ns + loop->started * period;
    if (!loop->schedule.by_device && period == 0) {
        return bb_clock_ns();
    }
    if (!loop->schedule.by_device) {
        wait_until(release);
    }
    return release;
}

static bb_status start_step(bb_realtime_loop *loop, bool *is_ready)
{
    bb_status status = BB_OK;
    *is_ready = true;
    if (loop->stages->read != NULL) {
        BB_TRY(loop->stages->read(loop, is_ready));
    }
    if (*is_ready) {
        loop->release_ns = await_release(loop);
        BB_TRY(loop->stages->start(loop, loop->release_ns));
        ++loop->started;
    }
done:
    return status;
}

bb_step_record bb_realtime_loop_record(bb_realtime_loop *loop, int64_t release_ns, int64_t end_ns)
{
    const bb_index number = loop->finished - loop->schedule.warm_up;
    if (number == 0) {
        loop->zero_ns = release_ns;
    }
    return (bb_step_record){.release = 1e-9 * (double)(release_ns - loop->zero_ns),
                            .latency = 1e-9 * (double)(end_ns - release_ns),
                            .step = (int32_t)number};
}

static void store_records(const bb_realtime_loop *loop, const bb_step_record *records)
{
    bb_realtime_measurement *out = loop->out;
    if (out != NULL && loop->finished >= loop->schedule.warm_up) {
        for (bb_index share = 0; share < out->shares; ++share) {
            out->records[share * out->steps + out->count] = records[share];
        }
        out->wall_seconds = records[0].release + records[0].latency;
        out->count += 1;
    }
}

static bb_status finish_step(bb_realtime_loop *loop)
{
    bb_status status = BB_OK;
    const int64_t period = loop->schedule.period_ns;
    const int64_t release =
        period > 0 ? loop->first_ns + loop->finished * period : loop->release_ns;
    bb_step_record records[BB_REALTIME_SHARES];
    BB_TRY(loop->stages->finish(loop, release, records));
    store_records(loop, records);
done:
    ++loop->finished; // also if it failed: it is no longer in flight
    return status;
}

bb_status bb_realtime_loop_drain(bb_realtime_loop *loop)
{
    bb_status status = BB_OK;
    while (loop->finished < loop->started &&
           !(loop->stages->abandon != NULL && bb_interrupt_noted())) {
        BB_TRY(finish_step(loop));
    }
done:
    return status;
}

bb_status bb_realtime_loop_follow(bb_realtime_loop *loop)
{
    bb_status status = BB_OK;
    const bb_realtime_schedule *schedule = &loop->schedule;
    const bb_index total = schedule->warm_up + schedule->steps;
    while (loop->started < total && !loop->ended && !bb_interrupt_noted()) {
        bool is_ready = false;
        BB_TRY(start_step(loop, &is_ready));
        const bb_index under_way = loop->started - loop->finished;
        if (under_way == schedule->depth ||
            (under_way > 0 && !is_ready && loop->stages->has_ended(loop))) {
            BB_TRY(finish_step(loop));
        }
    }
    BB_TRY(bb_realtime_loop_drain(loop));
done:
    return status;
}

// Writes the records once, so that all pages are mapped before the first release.
static bb_status make_records(const bb_realtime_schedule *schedule, bb_realtime_measurement *out)
{
    bb_status status = BB_OK;
    out->steps = schedule->steps;
    BB_TRY(BB_ALLOCATE(out->shares * out->steps, &out->records));
    for (bb_index k = 0; k < out->shares * out->steps; ++k) {
        out->records[k] = (bb_step_record){.latency = NAN};
    }
done:
    return status;
}

// Runs on the configured thread.
static bb_status run_steps(bb_realtime_loop *loop)
{
    bb_status status = BB_OK;
    const bb_realtime_stages *stages = loop->stages;
    if (stages->begin != NULL) {
        BB_TRY(stages->begin(loop));
    }
    if (!loop->schedule.by_device) {
        loop->first_ns = bb_clock_ns();
    }
    loop->first_ns += lead_ns;
    BB_TRY(bb_realtime_loop_follow(loop));
    loop->out->interrupted = bb_interrupt_noted();
    if (stages->after != NULL && !loop->out->interrupted) {
        BB_TRY(stages->after(loop));
    }
done:
    return status;
}

bb_status bb_realtime_loop_run(bb_realtime_loop *loop, bb_realtime_measurement *out)
{
    bb_status status = BB_OK;
    const bb_realtime_schedule *schedule = &loop->schedule;
    const bool never_sleeps =
        schedule->polls || (!schedule->by_device && schedule->period_ns <= 2 * spin_ns);
    loop->out = out;
    BB_TRY(make_records(schedule, out));
    bb_log_info(
        "%td steps after %td warm-up steps, every %g ms (0: back to back) by the %s's clock",
        schedule->steps, schedule->warm_up, 1e-6 * (double)schedule->period_ns,
        schedule->by_device ? "device" : "host");
    if (schedule->stops_threads) {
        bb_threads_stop(); // other threads would disturb the loop
    }
    configure_thread(&out->host.thread, never_sleeps);
    status = run_steps(loop);
    restore_thread(&out->host.thread);
    BB_TRY(status);
    if (loop->stages->abandon != NULL) {
        BB_TRY(loop->stages->abandon(loop));
    }
done:
    return status;
}

bb_status bb_realtime_loop_measure(bb_realtime_loop *loop, int device_count,
                                   bb_device *const *devices, bb_realtime_measurement *out)
{
    bb_status status = BB_OK;
    out->device_count = device_count;
    for (int d = 0; d < device_count; ++d) {
        BB_TRY(bb_device_describe(devices[d], &out->devices[d]));
    }
    read_host(&out->host.before);
    bb_interrupt_defer(true);
    status = bb_realtime_loop_run(loop, out);
    if (status == BB_OK && out->count == 0) {
        bb_interrupt_deliver(); // no measurement to keep
    }
    bb_interrupt_defer(false);
    BB_TRY(status);
    read_host(&out->host.after);
done:
    if (status != BB_OK) {
        bb_realtime_measurement_release(out);
    }
    return status;
}
