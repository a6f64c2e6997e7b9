// SPDX-License-Identifier: Apache-2.0
#include "sim/device_choice.h"

#include "core/log.h"

static bool is_offered(const bb_device_offer *offer, bb_device_kind kind)
{
    return kind == BB_DEVICE_CPU || (offer->kinds & BB_DEVICE_OFFER(kind)) != 0;
}

// Whether `auto` may come to it.
static bool is_chosen(bb_device_kind kind)
{
    return kind != BB_DEVICE_OPENCL;
}

int bb_device_choice_wish(int study_device, int pipeline_device)
{
    return pipeline_device >= 0 ? pipeline_device : study_device;
}

bb_status bb_device_choice_check(const char *path, int device, const bb_config *config,
                                 bb_problems *problems)
{
    return device != (int)BB_DEVICE_OPENCL
               ? BB_OK
               : bb_problems_add(
                     problems, bb_config_place(config, path),
                     "%s = opencl: the products of wafer and product alone have opencl kernels, "
                     "expected cpu, cuda or auto",
                     path);
}

bb_device_kind bb_device_choice_resolve(const bb_device_offer *offer, int wish)
{
    bb_device_kind kind = (bb_device_kind)wish;
    if (kind != BB_DEVICE_AUTO) {
        return kind;
    }
    do {
        --kind;
    } while (kind != BB_DEVICE_CPU &&
             !(is_chosen(kind) && is_offered(offer, kind) && bb_device_count(kind, NULL, 0) > 0));
    return kind;
}

bb_status bb_device_choice_make(const bb_device_offer *offer, int study_device, int pipeline_device,
                                bb_device_kind *out)
{
    bb_status status = BB_OK;
    char reason[256] = "";
    const bb_device_kind kind =
        bb_device_choice_resolve(offer, bb_device_choice_wish(study_device, pipeline_device));
    *out = BB_DEVICE_CPU;
    BB_REQUIRE(bb_device_count(kind, reason, sizeof reason) > 0, BB_DEVICE,
               "device %s is absent: %s", bb_device_names[kind], reason);
    BB_REQUIRE(is_offered(offer, kind), BB_UNSUPPORTED, "%s has no %s kernels: choose device cpu",
               offer->work, bb_device_names[kind]);
    *out = kind;
done:
    return status;
}

void bb_device_choice_announce(const bb_device_offer *offer, int study_device)
{
    if (study_device != (int)BB_DEVICE_AUTO) {
        return;
    }
    const bb_device_kind chosen = bb_device_choice_resolve(offer, study_device);
    if (chosen != BB_DEVICE_CPU) {
        bb_log_info("device auto: %s", bb_device_names[chosen]);
    }
    for (int kind = BB_DEVICE_CPU + 1; chosen == BB_DEVICE_CPU && kind < BB_DEVICE_KIND_COUNT;
         ++kind) {
        char reason[256] = "";
        if (!is_chosen((bb_device_kind)kind)) {
            continue;
        }
        if (!is_offered(offer, (bb_device_kind)kind)) {
            bb_log_info("device auto: cpu, %s has no %s kernels", offer->work,
                        bb_device_names[kind]);
        } else {
            (void)bb_device_count((bb_device_kind)kind, reason, sizeof reason);
            bb_log_info("device auto: cpu, %s", reason);
        }
    }
}
