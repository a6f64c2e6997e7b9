// SPDX-License-Identifier: Apache-2.0
#include "sim/command/machine.h"

#include "sim/config/binding.h"
#include "sim/config/layer.h"

#include <stdio.h>

// As the file has it.
typedef struct description {
    const char *name;
    double memory_gb, gpu_memory_gb;
    bb_index gpus;
} description;

static const bb_key keys[] = {
    {.name = "name",
     .kind = BB_KEY_TEXT,
     .offset = offsetof(description, name),
     .meaning = "What the machine is called."},
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
               "%s: %.1f GB of memory, the plan needs %.1f GB", machine->name,
               1e-9 * machine->host_bytes, 1e-9 * plan->host_bytes);
    BB_REQUIRE(!on_gpu || machine->gpus >= gpus, BB_DEVICE, "%s: %td GPUs, the plan needs %td",
               machine->name, machine->gpus, gpus);
    BB_REQUIRE(!on_gpu || plan->device_bytes <= machine->gpu_bytes, BB_MEMORY,
               "%s: GPUs of %.1f GB, the largest pipeline needs %.1f GB", machine->name,
               1e-9 * machine->gpu_bytes, 1e-9 * plan->device_bytes);
done:
    return status;
}
