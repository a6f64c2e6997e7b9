// SPDX-License-Identifier: Apache-2.0
#include "sim/plan.h"

#include "core/device/device.h"
#include "sim/address_space.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

enum { VALUE_BYTES = 512, BYTES_TEXT = 32 };

bb_status bb_plan_add(bb_plan *plan, const char *what, const char *format, ...)
{
    char value[VALUE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    return bb_text_add(&plan->lines, "  %-28s %s\n", what, value);
}

bb_status bb_plan_machine_bytes(double *out)
{
    bb_status status = BB_OK;
    bb_device *cpu = NULL;
    bb_device_report report;
    BB_TRY(bb_device_open(BB_DEVICE_CPU, 0, &cpu));
    BB_TRY(bb_device_describe(cpu, &report));
    *out = (double)report.memory_bytes;
done:
    bb_device_close(&cpu);
    return status;
}

static void write_bytes(double bytes, char out[BYTES_TEXT])
{
    const bool tera = bytes >= 1e12;
    const bool giga = bytes >= 1e9;
    (void)snprintf(out, BYTES_TEXT, "%.1f %s",
                   bytes * (tera   ? 1e-12
                            : giga ? 1e-9
                                   : 1e-6),
                   tera   ? "TB"
                   : giga ? "GB"
                          : "MB");
}

void bb_plan_shortage(const bb_plan *plan, double machine_bytes, char out[BB_PLAN_LINE])
{
    char asked[BYTES_TEXT];
    char there[BYTES_TEXT];
    out[0] = '\0';
    if (plan->host_bytes > machine_bytes) {
        write_bytes(plan->host_bytes, asked);
        write_bytes(machine_bytes, there);
        (void)snprintf(out, BB_PLAN_LINE, "memory: %s, this machine has %s", asked, there);
    }
}

bb_status bb_plan_require(const bb_plan *plan, double machine_bytes, double limit_bytes)
{
    bb_status status = BB_OK;
    char asked[BYTES_TEXT];
    char there[BYTES_TEXT];
    char limit[BYTES_TEXT];
    write_bytes(plan->host_bytes, asked);
    write_bytes(machine_bytes, there);
    write_bytes(limit_bytes, limit);
    BB_REQUIRE(!(plan->host_bytes > BB_PLAN_HOPELESS * machine_bytes), BB_MEMORY,
               "memory: %s, this machine has %s; more than %d times that is not tried", asked,
               there, BB_PLAN_HOPELESS);
    BB_REQUIRE(
        !(plan->host_bytes > limit_bytes), BB_MEMORY,
        "memory: %s, the limit of this process (ulimit -v) leaves %s beside 128 MiB a thread "
        "for OpenBLAS",
        asked, limit);
done:
    return status;
}

void bb_plan_set(bb_plan *plan, bb_need need)
{
    plan->host_bytes = BB_PLAN_PROGRAM_BYTES + need.host_bytes;
    plan->device_bytes = need.device_bytes;
    plan->estimated_seconds = need.seconds;
}

bb_status bb_plan_require_device(const bb_plan *plan)
{
    bb_status status = BB_OK;
    bb_device *device = NULL;
    bb_device_report report;
    const double bytes = plan->device_bytes;
    const bool present = bb_device_count(BB_DEVICE_CUDA, NULL, 0) > 0;
    for (bb_index g = 0; present && bytes > 0.0 && g < plan->gpus; ++g) {
        BB_TRY(bb_device_open(BB_DEVICE_CUDA, g, &device));
        BB_TRY(bb_device_describe(device, &report));
        BB_REQUIRE(bytes <= (double)report.free_memory_bytes, BB_MEMORY,
                   "GPU %td: the largest pipeline needs %.1f GB, %.1f GB of %.1f GB are free", g,
                   1e-9 * bytes, 1e-9 * (double)report.free_memory_bytes,
                   1e-9 * (double)report.memory_bytes);
        bb_device_close(&device);
    }
done:
    bb_device_close(&device);
    return status;
}

double bb_plan_limit_bytes(bb_index threads)
{
    const double rest = bb_address_space_left() - bb_address_space_threads(threads);
    return fmax(0.0, rest + BB_PLAN_PROGRAM_BYTES); // mapped already, and in the plan
}

void bb_plan_release(bb_plan *plan)
{
    bb_text_release(&plan->lines);
}
