// SPDX-License-Identifier: Apache-2.0
#include "sim/device_choice.h"

#include "core/log.h"

static bb_status require_cuda(const bb_device_offer *offer)
{
    bb_status status = BB_OK;
    char reason[256] = "";
    BB_REQUIRE(bb_device_count(BB_DEVICE_CUDA, reason, sizeof reason) > 0, BB_DEVICE,
               "device cuda is absent: %s", reason);
    BB_REQUIRE(offer->cuda, BB_UNSUPPORTED, "%s has no cuda kernels: choose device cpu",
               offer->work);
done:
    return status;
}

bb_status bb_device_choose(const bb_device_offer *offer, int study_device, int pipeline_device,
                           bb_device_kind *out)
{
    bb_status status = BB_OK;
    int wish = pipeline_device >= 0 ? pipeline_device : study_device;
    *out = BB_DEVICE_CPU;
    if (wish == (int)BB_STUDY_DEVICE_CUDA) {
        BB_TRY(require_cuda(offer));
        *out = BB_DEVICE_CUDA;
    }
    BB_REQUIRE(wish != (int)BB_STUDY_DEVICE_OPENCL, BB_DEVICE,
               "device opencl is absent: this build has no OpenCL kernels");
    if (wish == (int)BB_STUDY_DEVICE_AUTO && offer->cuda &&
        bb_device_count(BB_DEVICE_CUDA, NULL, 0) > 0) {
        *out = BB_DEVICE_CUDA;
    }
done:
    return status;
}

void bb_device_announce(const bb_device_offer *offer, int study_device)
{
    char reason[256] = "";
    if (study_device != (int)BB_STUDY_DEVICE_AUTO) {
        return;
    }
    if (!offer->cuda) {
        bb_log_info("device auto: cpu, %s has no cuda kernels", offer->work);
    } else if (bb_device_count(BB_DEVICE_CUDA, reason, sizeof reason) > 0) {
        bb_log_info("device auto: cuda");
    } else {
        bb_log_info("device auto: cpu, %s", reason);
    }
}
