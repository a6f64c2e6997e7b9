// SPDX-License-Identifier: Apache-2.0
//
// The cpu device: host memory, the thread pool, the monotonic clock.
#include "core/clock.h"
#include "core/device/control_group.h"
#include "core/device/device.h"
#include "core/memory.h"
#include "core/thread.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

typedef struct cpu_state {
    double marks[2];
} cpu_state;

static bb_index cpu_count(char *reason, size_t reason_bytes)
{
    (void)snprintf(reason, reason_bytes, "%s", "");
    return 1;
}

static bb_status cpu_open(bb_index ordinal, void **state)
{
    (void)ordinal;
    return bb_memory_zeroed(1, sizeof(cpu_state), state);
}

static void cpu_close(void **state)
{
    bb_memory_release(state);
}

static void read_model(char *out, size_t bytes)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    (void)snprintf(out, bytes, "unknown processor");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && value != NULL) {
            value += 1 + strspn(value + 1, " \t");
            value[strcspn(value, "\n")] = '\0';
            if (value[0] != '\0') {
                (void)snprintf(out, bytes, "%s", value);
            }
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

static bb_status cpu_report(void *state, bb_device_report *out)
{
    struct utsname host;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    (void)state;
    *out = (bb_device_report){.units = bb_threads_available()};
    read_model(out->name, sizeof out->name);
    if (uname(&host) == 0) {
        (void)snprintf(out->architecture, sizeof out->architecture, "%.31s", host.machine);
    }
    const double limit = bb_control_group_memory("/proc/self/cgroup", "/sys/fs/cgroup");
    const size_t installed = (size_t)sysconf(_SC_PHYS_PAGES) * page;
    const size_t unused = (size_t)sysconf(_SC_AVPHYS_PAGES) * page;
    out->memory_bytes = limit < (double)installed ? (size_t)limit : installed;
    out->free_memory_bytes = unused < out->memory_bytes ? unused : out->memory_bytes;
    return BB_OK;
}

static bb_status cpu_allocate(void *state, size_t bytes, void **out)
{
    (void)state;
    return bb_memory_allocate((bb_index)bytes, 1, out);
}

static void cpu_release(void *state, void **block)
{
    (void)state;
    bb_memory_release(block);
}

static bb_status cpu_zero(void *state, void *block, size_t bytes)
{
    (void)state;
    memset(block, 0, bytes);
    return BB_OK;
}

static bb_status cpu_copy(void *state, void *target, const void *source, size_t bytes)
{
    (void)state;
    memcpy(target, source, bytes);
    return BB_OK;
}

typedef struct launch {
    bb_kernel_run run;
    void *arguments;
} launch;

static bb_status run_range(void *context, bb_index begin, bb_index end)
{
    const launch *task = context;
    return task->run(NULL, begin, end, task->arguments);
}

static bb_status cpu_launch(void *state, const bb_kernel *kernel, bb_index items, void *arguments)
{
    launch task = {kernel->run[BB_DEVICE_CPU], arguments};
    (void)state;
    return bb_thread_ranges(items, kernel->grain, run_range, &task);
}

static bb_status cpu_wait(void *state)
{
    (void)state;
    return BB_OK;
}

static bb_status cpu_mark(void *state, int which)
{
    cpu_state *cpu = state;
    cpu->marks[which] = bb_clock_seconds();
    return BB_OK;
}

static bb_status cpu_elapsed(void *state, double *seconds)
{
    const cpu_state *cpu = state;
    *seconds = cpu->marks[1] - cpu->marks[0];
    return BB_OK;
}

static bool cpu_is_processor(void *state)
{
    (void)state;
    return true;
}

const bb_device_ops bb_device_cpu_ops = {
    .space = BB_SPACE_HOST,
    .count = cpu_count,
    .open = cpu_open,
    .close = cpu_close,
    .report = cpu_report,
    .allocate = cpu_allocate,
    .release = cpu_release,
    .fill_zero = cpu_zero,
    .upload = cpu_copy,
    .download = cpu_copy,
    .fetch = cpu_copy,
    .launch = cpu_launch,
    .wait = cpu_wait,
    .mark = cpu_mark,
    .elapsed = cpu_elapsed,
    .is_processor = cpu_is_processor,
};
