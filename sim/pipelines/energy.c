// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/energy.h"

#include "sim/pipelines/product_pipeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// Meter of each kind of device, or the reason for its absence.
typedef struct meter_slot {
    bool tried;
    bb_energy_meter *meter;
    char reason[200];
} meter_slot;

static struct {
    bool wanted;
    meter_slot slots[BB_DEVICE_KIND_COUNT];
} state;

void bb_energy_enable(bool wanted)
{
    state.wanted = wanted;
    const char *root =
        getenv("BITBUDGET_POWERCAP"); // root of the powercap counters, for containers
    bb_energy_set_root(root == NULL || root[0] == '\0' ? NULL : root);
}

bool bb_energy_is_enabled(void)
{
    return state.wanted;
}

const char *bb_energy_counter(bb_device_kind device)
{
    static const char *const counters[BB_DEVICE_KIND_COUNT] = {
        [BB_DEVICE_CPU] = "RAPL, packages and memories of the host",
        [BB_DEVICE_CUDA] = "NVML, total energy consumption of the GPU",
        [BB_DEVICE_OPENCL] = "none, OpenCL has no energy counter"};
    return counters[device];
}

static void close_meter(meter_slot *slot, const char *reason)
{
    (void)snprintf(slot->reason, sizeof slot->reason, "%s", reason);
    bb_energy_meter_close(&slot->meter);
}

bb_status bb_energy_measure_cost(bb_device_kind device, bb_status (*work)(void *context),
                                 void *context, bb_energy_cost *out)
{
    bb_status status = BB_OK;
    bb_device *opened = NULL;
    meter_slot *slot = &state.slots[device];
    *out = (bb_energy_cost){
        .joules = NAN, .idle_watts = NAN, .unknown = "not measured: --energy is off"};
    if (!state.wanted) {
        goto done;
    }
    if (!slot->tried) {
        slot->tried = true;
        BB_TRY(bb_device_open(device, bb_product_devices_ordinal(device), &opened));
        BB_TRY(bb_energy_meter_open(opened, slot->reason, sizeof slot->reason, &slot->meter));
    }
    out->unknown = slot->reason;
    if (slot->meter == NULL) {
        goto done;
    }
    BB_TRY(bb_energy_meter_measure(slot->meter, work, context, out));
    if (out->repetitions == 0) { // the counter does not advance, so do not wait for it again
        close_meter(slot, out->unknown);
    }
done:
    bb_device_close(&opened);
    return status;
}

bb_status bb_energy_measure(bb_device_kind device, bb_status (*work)(void *context), void *context,
                            bb_evaluation *evaluation)
{
    bb_status status = BB_OK;
    bb_energy_cost cost;
    meter_slot *slot = &state.slots[device];
    if (!state.wanted) {
        goto done;
    }
    BB_TRY(bb_energy_measure_cost(device, work, context, &cost));
    if (isnan(cost.joules) && slot->meter != NULL) { // one missing part makes the sum invalid
        close_meter(slot, cost.unknown);
    }
    const double before = isnan(evaluation->energy_joules) ? 0.0 : evaluation->energy_joules;
    evaluation->energy_joules = before + cost.joules;
    evaluation->idle_watts = cost.idle_watts;
done:
    return status;
}

bb_status bb_energy_note(bb_results *results)
{
    bb_status status = BB_OK;
    for (int kind = 0; kind < BB_DEVICE_KIND_COUNT; ++kind) {
        meter_slot *slot = &state.slots[kind];
        char name[32];
        (void)snprintf(name, sizeof name, "energy_%s", bb_device_names[kind]);
        if (slot->tried) {
            BB_TRY(bb_results_note(results, "provenance", name,
                                   slot->meter != NULL ? bb_energy_counter((bb_device_kind)kind)
                                                       : slot->reason));
        }
        bb_energy_meter_close(&slot->meter);
        *slot = (meter_slot){0};
    }
done:
    return status;
}
