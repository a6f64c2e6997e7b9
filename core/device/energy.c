// SPDX-License-Identifier: Apache-2.0
#include "core/device/energy.h"

#include "core/clock.h"
#include "core/memory.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOMAINS = 32, PATH_BYTES = 512, POLL_NS = 200000 };

static const char default_root[] = "/sys/class/powercap";
static const char *root = default_root;

// Observation time of the idle counter, and the longest wait for it to move.
static const double IDLE_SECONDS = 0.2;
static const double PATIENCE_SECONDS = 3.0;
enum { IDLE_TICKS = 10 };

// Upper bound of the power of any package or its memory: current ones are built for 500 W.
static const double MOST_WATTS = 1000.0;

// A RAPL counter, which wraps around.
typedef struct domain {
    char path[PATH_BYTES];
    double last, range; // last reading and range, uJ
} domain;

// NVML functions, loaded at run time so that hosts without NVML still work.
typedef struct nvml {
    void *library;
    int (*stop)(void);
    int (*energy)(void *device, unsigned long long *millijoules);
    void *device;
    unsigned long long first;
} nvml;

struct bb_energy_meter {
    bb_device_kind kind;
    domain domains[DOMAINS];
    int domain_count;
    double joules;             // sum over the domains so far
    double wrap_s;             // shorter than the time between two wraparounds of a counter
    double idle_watts, tick_s; // measured before the first work; 0: not yet
    nvml gpu;
};

void bb_energy_set_root(const char *folder)
{
    root = folder == NULL ? default_root : folder;
}

static bool read_number(const char *path, double *out)
{
    char line[64] = "";
    FILE *file = fopen(path, "re");
    const bool read = file != NULL && fgets(line, sizeof line, file) != NULL;
    if (file != NULL) {
        (void)fclose(file);
    }
    char *end = line;
    *out = strtod(line, &end);
    return read && end != line;
}

static bool read_name(const char *path, char *out, size_t bytes)
{
    FILE *file = fopen(path, "re");
    const bool read = file != NULL && fgets(out, (int)bytes, file) != NULL;
    if (file != NULL) {
        (void)fclose(file);
    }
    out[read ? strcspn(out, "\n") : 0] = '\0';
    return read;
}

// Counts packages and memories; cores and graphics are parts of a package.
static bool is_counted(const char *name)
{
    return strncmp(name, "package", strlen("package")) == 0 || strcmp(name, "dram") == 0;
}

static void add_domain(bb_energy_meter *meter, const char *folder)
{
    char path[PATH_BYTES];
    char name[64];
    domain *next = &meter->domains[meter->domain_count];
    (void)snprintf(path, sizeof path, "%.200s/%.200s/name", root, folder);
    if (meter->domain_count == DOMAINS || !read_name(path, name, sizeof name) ||
        !is_counted(name)) {
        return;
    }
    (void)snprintf(path, sizeof path, "%.200s/%.200s/max_energy_range_uj", root, folder);
    (void)snprintf(next->path, sizeof next->path, "%.200s/%.200s/energy_uj", root, folder);
    if (read_number(path, &next->range) && read_number(next->path, &next->last)) {
        ++meter->domain_count;
        meter->wrap_s = fmin(meter->wrap_s, 1e-6 * next->range / MOST_WATTS);
    }
}

static bool open_host(bb_energy_meter *meter, char *reason, size_t reason_bytes)
{
    DIR *folder = opendir(root);
    bool any = false;
    if (folder == NULL) {
        (void)snprintf(reason, reason_bytes, "no RAPL counters: %s: %s", root, strerror(errno));
        return false;
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        // Zones of the processor's own counters, "intel-rapl:0" and "intel-rapl:0:1". The mmio
        // driver lists some of them again: the same energy.
        if (strncmp(entry->d_name, "intel-rapl:", strlen("intel-rapl:")) == 0) {
            any = true;
            add_domain(meter, entry->d_name);
        }
    }
    (void)closedir(folder);
    if (meter->domain_count == 0) {
        (void)snprintf(reason, reason_bytes,
                       any ? "RAPL counters below %s cannot be read: usually only root may"
                           : "no RAPL counters below %s",
                       root);
    }
    return meter->domain_count > 0;
}

static void *find_symbol(void *library, const char *name)
{
    return library == NULL ? NULL : dlsym(library, name);
}

static bool open_gpu(bb_energy_meter *meter, const char *bus, char *reason, size_t reason_bytes)
{
    nvml *gpu = &meter->gpu;
    gpu->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*start)(void) = NULL;
    int (*find)(const char *bus, void **device) = NULL;
    // POSIX lets function addresses be returned as object pointers.
    *(void **)&start = find_symbol(gpu->library, "nvmlInit_v2");
    *(void **)&find = find_symbol(gpu->library, "nvmlDeviceGetHandleByPciBusId_v2");
    *(void **)&gpu->stop = find_symbol(gpu->library, "nvmlShutdown");
    *(void **)&gpu->energy = find_symbol(gpu->library, "nvmlDeviceGetTotalEnergyConsumption");
    if (start == NULL || find == NULL || gpu->stop == NULL || gpu->energy == NULL) {
        (void)snprintf(reason, reason_bytes, "no NVML (libnvidia-ml.so.1) with an energy counter");
        return false;
    }
    if (start() != 0) {
        (void)snprintf(reason, reason_bytes, "NVML cannot be initialised");
        gpu->stop = NULL;
        return false;
    }
    const int failed = find(bus, &gpu->device);
    const int uncounted = failed != 0 ? 0 : gpu->energy(gpu->device, &gpu->first);
    if (failed != 0 || uncounted != 0) {
        (void)snprintf(reason, reason_bytes, "NVML has no energy counter for GPU %s: error %d", bus,
                       failed != 0 ? failed : uncounted);
        return false;
    }
    return true;
}

bb_status bb_energy_meter_open(bb_device *device, char *reason, size_t reason_bytes,
                               bb_energy_meter **out)
{
    bb_status status = BB_OK;
    bb_energy_meter *meter = NULL;
    bb_device_report report;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &meter));
    BB_TRY(bb_device_describe(device, &report));
    meter->kind = bb_device_kind_of(device);
    meter->wrap_s = INFINITY;
    bool found = false;
    if (meter->kind == BB_DEVICE_OPENCL) {
        (void)snprintf(reason, reason_bytes, "OpenCL has no energy counter");
    } else {
        found = meter->kind == BB_DEVICE_CPU ? open_host(meter, reason, reason_bytes)
                                             : open_gpu(meter, report.bus, reason, reason_bytes);
    }
    if (found) {
        *out = meter;
        meter = NULL;
    }
done:
    bb_energy_meter_close(&meter);
    return status;
}

void bb_energy_meter_close(bb_energy_meter **meter)
{
    if (*meter != NULL && (*meter)->gpu.library != NULL) {
        if ((*meter)->gpu.stop != NULL) {
            (void)(*meter)->gpu.stop();
        }
        (void)dlclose((*meter)->gpu.library);
    }
    BB_RELEASE(meter);
}

bb_status bb_energy_meter_read(bb_energy_meter *meter, double *joules)
{
    bb_status status = BB_OK;
    unsigned long long millijoules = 0;
    double present = 0.0;
    if (meter->kind != BB_DEVICE_CPU) {
        BB_REQUIRE(meter->gpu.energy(meter->gpu.device, &millijoules) == 0, BB_DEVICE,
                   "NVML no longer reports energy");
        *joules = 1e-3 * (double)(millijoules - meter->gpu.first);
        goto done;
    }
    for (int d = 0; d < meter->domain_count; ++d) {
        domain *counter = &meter->domains[d];
        BB_REQUIRE(read_number(counter->path, &present), BB_DEVICE, "cannot read '%s'",
                   counter->path);
        const double wrapped = present < counter->last ? counter->range : 0.0;
        meter->joules += 1e-6 * (present - counter->last + wrapped);
        counter->last = present;
    }
    *joules = meter->joules;
done:
    return status;
}

// Waits for the counter to move; `*moved` is false after a timeout.
static bb_status wait_for_move(bb_energy_meter *meter, double *joules, bool *moved)
{
    bb_status status = BB_OK;
    double before = 0.0;
    const double begin = bb_clock_seconds();
    BB_TRY(bb_energy_meter_read(meter, &before));
    do {
        (void)bb_clock_sleep_until(bb_clock_ns() + POLL_NS);
        BB_TRY(bb_energy_meter_read(meter, joules));
        *moved = *joules != before;
    } while (!*moved && bb_clock_seconds() - begin < PATIENCE_SECONDS);
done:
    return status;
}

// Measures the power before the work, and the time between two moves of the counter.
static bb_status watch_idle(bb_energy_meter *meter, double *watts, double *tick_s, bool *moves)
{
    bb_status status = BB_OK;
    double first = 0.0;
    double joules = 0.0;
    int ticks = 0;
    BB_TRY(wait_for_move(meter, &first, moves));
    const double begin = bb_clock_seconds();
    double elapsed = 0.0;
    while (*moves && (ticks < IDLE_TICKS || elapsed < IDLE_SECONDS)) {
        BB_TRY(wait_for_move(meter, &joules, moves));
        elapsed = bb_clock_seconds() - begin;
        ++ticks;
    }
    *watts = (joules - first) / elapsed;
    *tick_s = elapsed / (double)ticks;
done:
    return status;
}

// Repeats the work for twenty moves of the counter; `*followed` is false if the counter may have
// wrapped around twice between two readings.
static bb_status repeat(bb_energy_meter *meter, bb_status (*work)(void *context), void *context,
                        bb_index *repetitions, bool *followed)
{
    bb_status status = BB_OK;
    double joules = 0.0;
    const double begin = bb_clock_seconds();
    double end = begin;
    double reading = begin;
    *repetitions = 0;
    *followed = true;
    while (*repetitions == 0 || end - begin < BB_ENERGY_TICKS * meter->tick_s) {
        BB_TRY(work(context));
        ++*repetitions;
        end = bb_clock_seconds();
        *followed = *followed && end - reading < meter->wrap_s;
        if (end - reading > 0.5 * meter->wrap_s) {
            BB_TRY(bb_energy_meter_read(meter, &joules));
            reading = end;
        }
    }
done:
    return status;
}

bb_status bb_energy_meter_measure(bb_energy_meter *meter, bb_status (*work)(void *context),
                                  void *context, bb_energy_cost *out)
{
    bb_status status = BB_OK;
    double first = 0.0;
    double last = 0.0;
    bool moves = false;
    bool followed = false;
    *out = (bb_energy_cost){
        .joules = NAN, .idle_watts = NAN, .unknown = "its energy counter does not move"};
    if (meter->tick_s == 0.0) {
        BB_TRY(watch_idle(meter, &meter->idle_watts, &meter->tick_s, &moves));
        if (!moves) {
            meter->tick_s = 0.0;
            goto done;
        }
    }
    out->idle_watts = meter->idle_watts;
    BB_TRY(wait_for_move(meter, &first, &moves));
    if (!moves) {
        goto done;
    }
    BB_TRY(repeat(meter, work, context, &out->repetitions, &followed));
    const double end = bb_clock_seconds();
    BB_TRY(wait_for_move(meter, &last, &moves));
    if (!moves || last <= first) {
        goto done;
    }
    if (!followed) {
        out->unknown = "a repetition is so long that its energy counter may wrap around twice";
        goto done;
    }
    const double idle_s = bb_clock_seconds() - end;
    out->joules = (last - first - out->idle_watts * idle_s) / (double)out->repetitions;
    out->unknown = NULL;
done:
    return status;
}
