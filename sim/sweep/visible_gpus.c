// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/visible_gpus.h"

#include "core/device/device.h"
#include "sim/sweep/crew.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// One question to one worker.
typedef struct question {
    bool asked;
    bb_index count;
    bb_status status;
    char reason[256];
} question;

static bb_status count_here(void *context, bb_index item, bb_text *answer)
{
    bb_status status = BB_OK;
    char reason[256] = "";
    (void)context;
    (void)item;
    const bb_index count = bb_device_count(BB_DEVICE_CUDA, reason, sizeof reason);
    BB_REQUIRE(count > 0, BB_DEVICE, "the plan is for device cuda, which is absent here: %s",
               reason);
    BB_TRY(bb_text_add(answer, "%td", count));
done:
    return status;
}

static bool ask_once(void *context, bb_index *item)
{
    question *open = context;
    const bool first = !open->asked;
    open->asked = true;
    *item = 0;
    return first;
}

static bb_status take_count(void *context, bb_index item, const bb_crew_end *end)
{
    question *open = context;
    (void)item;
    open->status = end->status;
    open->count = strtol(end->text, NULL, 10);
    (void)snprintf(open->reason, sizeof open->reason, "%s",
                   end->signal == 0 ? end->text : "its driver ended the process that asked");
    return BB_OK;
}

bb_status bb_visible_gpus_find(bb_visible_gpus *out)
{
    bb_status status = BB_OK;
    question open = {0};
    const bb_crew_task task = {&open, NULL, count_here, ask_once, take_count};
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    *out = (bb_visible_gpus){0};
    BB_TRY(bb_crew_run(&task, 1, 120.0));
    BB_REQUIRE(open.status == BB_OK, BB_DEVICE, "%s", open.reason);
    for (bb_index g = 0; g < open.count && g < BB_VISIBLE_GPUS; ++g) {
        if (visible == NULL || visible[0] == '\0') {
            (void)snprintf(out->names[g], sizeof out->names[g], "%td", g);
        } else {
            (void)snprintf(out->names[g], sizeof out->names[g], "%.*s", (int)strcspn(visible, ","),
                           visible);
            visible += strcspn(visible, ",");
            visible += *visible == ',';
        }
        ++out->count;
    }
done:
    return status;
}

bb_status bb_visible_gpus_take(const bb_visible_gpus *gpus, bb_index index)
{
    bb_status status = BB_OK;
    BB_REQUIRE(setenv("CUDA_VISIBLE_DEVICES", gpus->names[index % gpus->count], 1) == 0,
               BB_INTERNAL, "cannot set CUDA_VISIBLE_DEVICES: %s", strerror(errno));
done:
    return status;
}
