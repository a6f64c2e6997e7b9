// SPDX-License-Identifier: Apache-2.0
#include "sim/run/plan.h"

#include "core/address_space.h"
#include "core/device/device.h"
#include "sim/config/binding.h"
#include "sim/config/layer.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

// Content of the file that describes a machine.
typedef struct description {
    const char *name;
    double memory_gb, gpu_memory_gb;
    bb_index gpus;
} description;

static const bb_key keys[] = {
    {.name = "name",
     .kind = BB_KEY_TEXT,
     .offset = offsetof(description, name),
     .meaning = "Name of the machine."},
    {.name = "memory_gb",
     .kind = BB_KEY_DOUBLE,
     .offset = offsetof(description, memory_gb),
     .unit = "GB",
     .minimum = 0.0,
     .maximum = 1e6,
     .exclusive_minimum = true,
     .meaning = "Memory of the host."},
    {.name = "gpus",
     .kind = BB_KEY_INTEGER,
     .offset = offsetof(description, gpus),
     .unit = "1",
     .minimum = 0.0,
     .maximum = 1024.0,
     .default_text = "0",
     .meaning = "GPUs of the host."},
    {.name = "gpu_memory_gb",
     .kind = BB_KEY_DOUBLE,
     .offset = offsetof(description, gpu_memory_gb),
     .unit = "GB",
     .minimum = 0.0,
     .maximum = 1e4,
     .default_text = "0.0",
     .meaning = "Memory of each GPU."},
};
static const bb_schema schema = BB_SCHEMA("machine", description, keys);

bb_status bb_machine_load(const char *path, bb_problems *problems, bb_machine *out)
{
    bb_status status = BB_OK;
    bb_arena arena = {0};
    bb_layers layers = {0};
    bb_node *tree = NULL;
    description found = {0};
    BB_TRY(bb_layers_read(&arena, path, &layers, problems, &tree));
    if (tree != NULL) {
        BB_TRY(bb_binding_bind(&arena, &schema, tree, "", problems, &found));
    }
    BB_REQUIRE(problems->count == 0, BB_INVALID, "%s: %td problem%s", path, problems->count,
               problems->count == 1 ? "" : "s");
    *out = (bb_machine){.host_bytes = 1e9 * found.memory_gb,
                        .gpus = found.gpus,
                        .gpu_bytes = 1e9 * found.gpu_memory_gb};
    (void)snprintf(out->name, sizeof out->name, "%s", found.name);
done:
    bb_arena_release(&arena);
    return status;
}

bb_status bb_machine_require(const bb_machine *machine, const bb_plan *plan)
{
    bb_status status = BB_OK;
    const bool on_gpu = plan->device_bytes > 0.0;
    const bb_index gpus = plan->gpus > 1 ? plan->gpus : 1;
    BB_REQUIRE(plan->host_bytes <= machine->host_bytes, BB_MEMORY,
               "%s has %.1f GB of memory, but the plan needs %.1f GB", machine->name,
               1e-9 * machine->host_bytes, 1e-9 * plan->host_bytes);
    BB_REQUIRE(!on_gpu || machine->gpus >= gpus, BB_DEVICE,
               "%s has %td GPUs, but the plan needs %td", machine->name, machine->gpus, gpus);
    BB_REQUIRE(!on_gpu || plan->device_bytes <= machine->gpu_bytes, BB_MEMORY,
               "%s has %.1f GB per GPU, but the largest pipeline needs %.1f GB", machine->name,
               1e-9 * machine->gpu_bytes, 1e-9 * plan->device_bytes);
done:
    return status;
}

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
    char needed[BYTES_TEXT];
    char available[BYTES_TEXT];
    out[0] = '\0';
    if (plan->host_bytes > machine_bytes) {
        write_bytes(plan->host_bytes, needed);
        write_bytes(machine_bytes, available);
        (void)snprintf(out, BB_PLAN_LINE, "memory: needs %s, this machine has %s", needed,
                       available);
    }
}

bb_status bb_plan_require(const bb_plan *plan, double machine_bytes, double limit_bytes)
{
    bb_status status = BB_OK;
    char needed[BYTES_TEXT];
    char available[BYTES_TEXT];
    char limit[BYTES_TEXT];
    write_bytes(plan->host_bytes, needed);
    write_bytes(machine_bytes, available);
    write_bytes(limit_bytes, limit);
    BB_REQUIRE(!(plan->host_bytes > BB_NEED_HOPELESS * machine_bytes), BB_MEMORY,
               "memory: needs %s, this machine has %s; refusing a plan above %d times the memory",
               needed, available, BB_NEED_HOPELESS);
    BB_REQUIRE(!(plan->host_bytes > limit_bytes), BB_MEMORY,
               "memory: needs %s, but the limit of this process (ulimit -v) leaves %s after 128 "
               "MiB per thread for OpenBLAS",
               needed, limit);
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
        BB_REQUIRE(
            bytes <= (double)report.free_memory_bytes, BB_MEMORY,
            "GPU %td: the largest pipeline needs %.1f GB, but only %.1f GB of %.1f GB are free", g,
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
    return fmax(0.0, rest + BB_PLAN_PROGRAM_BYTES); // already mapped, and included in the plan
}

void bb_plan_release(bb_plan *plan)
{
    bb_text_release(&plan->lines);
}
