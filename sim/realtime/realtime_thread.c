// SPDX-License-Identifier: Apache-2.0
#include "sim/realtime/realtime_thread.h"

#include "core/clock.h"
#include "sim/interrupt.h"

#include <errno.h>
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
