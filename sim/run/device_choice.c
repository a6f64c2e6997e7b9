// SPDX-License-Identifier: Apache-2.0
#include "sim/run/device_choice.h"

#include "core/log.h"

#include <stdio.h>
#include <string.h>

enum { NAMES = 6 };   // pipelines named in a message
enum { SMALL = 256 }; // flag bit added to a study's device: the work is too small for a device

static bool is_offered(const bb_device_offer *offer, bb_device_kind kind)
{
    return kind == BB_DEVICE_CPU || (offer->kinds & BB_DEVICE_OFFER(kind)) != 0;
}

// True if `auto` may select the device.
static bool is_chosen(bb_device_kind kind)
{
    return kind != BB_DEVICE_OPENCL;
}

int bb_device_choice_wish(int study_device, int pipeline_device)
{
    const int named = study_device & ~(int)SMALL;
    const int wish = pipeline_device >= 0 ? pipeline_device : named;
    return wish == (int)BB_DEVICE_AUTO && named != study_device ? (int)BB_DEVICE_CPU : wish;
}

bb_status bb_device_choice_check(const char *path, int device, const bb_config *config,
                                 bb_problems *problems)
{
    return device != (int)BB_DEVICE_OPENCL
               ? BB_OK
               : bb_study_refuse(true, config, problems,
                                 "%s = opencl: only wafer and product have opencl kernels; use "
                                 "cpu, cuda or auto",
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

bb_device_kind bb_device_choice_of_plan(int study_device, double device_bytes)
{
    return study_device != (int)BB_DEVICE_AUTO ? (bb_device_kind)study_device
           : device_bytes > 0.0                ? BB_DEVICE_CUDA
                                               : BB_DEVICE_CPU;
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
    BB_REQUIRE(is_offered(offer, kind), BB_UNSUPPORTED, "%s has no %s kernels; use device cpu",
               offer->work, bb_device_names[kind]);
    *out = kind;
done:
    return status;
}

// Logs why `auto` did not select a device.
static void announce_cpu(const bb_device_offer *offer, bb_device_kind kind, bool small)
{
    char reason[256] = "";
    if (!is_offered(offer, kind)) {
        bb_log_info("device auto: cpu, %s has no %s kernels", offer->work, bb_device_names[kind]);
    } else if (bb_device_count(kind, reason, sizeof reason) == 0) {
        bb_log_info("device auto: cpu, %s", reason);
    } else if (small) {
        bb_log_info("device auto: cpu, faster than %s for a problem of this size",
                    bb_device_names[kind]);
    }
}

void bb_device_choice_announce(const bb_device_offer *offer, int study_device, int by_size)
{
    if (study_device != (int)BB_DEVICE_AUTO) {
        return;
    }
    const bb_device_kind chosen =
        bb_device_choice_resolve(offer, bb_device_choice_wish(by_size, -1));
    if (chosen != BB_DEVICE_CPU) {
        bb_log_info("device auto: %s", bb_device_names[chosen]);
    }
    for (int kind = BB_DEVICE_CPU + 1; chosen == BB_DEVICE_CPU && kind < BB_DEVICE_KIND_COUNT;
         ++kind) {
        if (is_chosen((bb_device_kind)kind)) {
            announce_cpu(offer, (bb_device_kind)kind, by_size != study_device);
        }
    }
}

// Lists "a, b and 3 more", the pipelines from `first` that have its reason, and their number.
static bb_status list_names(const bb_device_gaps *gaps, bb_index first, bb_text *out,
                            bb_index *total)
{
    bb_status status = BB_OK;
    bb_index count = 0;
    for (bb_index p = first; p < gaps->count; ++p) {
        if (strcmp(gaps->reasons[p], gaps->reasons[first]) == 0) {
            BB_TRY(count < NAMES ? bb_text_add(out, "%s%s", count == 0 ? "" : ", ", gaps->names[p])
                                 : BB_OK);
            ++count;
        }
    }
    BB_TRY(count > NAMES ? bb_text_add(out, " and %td more", count - NAMES) : BB_OK);
    *total = count;
done:
    return status;
}

bb_status bb_device_choice_refuse(const bb_device_gaps *gaps, const bb_config *config,
                                  bb_problems *problems)
{
    bb_status status = BB_OK;
    bb_text names = {0};
    bb_index total = 0;
    char path[64];
    for (bb_index p = 0; p < gaps->count; ++p) {
        bb_index first = 0;
        while (strcmp(gaps->reasons[first], gaps->reasons[p]) != 0) {
            ++first;
        }
        if (gaps->reasons[p][0] == '\0' || first < p) {
            continue;
        }
        names.length = 0;
        BB_TRY(list_names(gaps, p, &names, &total));
        (void)snprintf(path, sizeof path, "pipelines.%td", p);
        BB_TRY(bb_problems_add(problems, bb_config_place(config, path), "pipeline%s %s: %s",
                               total == 1 ? "" : "s", bb_text_string(&names), gaps->reasons[p]));
    }
done:
    bb_text_release(&names);
    return status;
}

bb_status bb_device_choice_require(const char *name)
{
    bb_status status = BB_OK;
    char reason[256] = "";
    for (int kind = 0; name != NULL && kind < BB_DEVICE_KIND_COUNT; ++kind) {
        BB_REQUIRE(strcmp(name, bb_device_names[kind]) != 0 ||
                       bb_device_count((bb_device_kind)kind, reason, sizeof reason) > 0,
                   BB_DEVICE, "device %s is absent: %s", name, reason);
    }
done:
    return status;
}

bb_status bb_device_choice_note(const char *name)
{
    if (bb_device_choice_require(name) != BB_OK) {
        bb_log_info("%s; assuming a host that has it", bb_status_message());
        bb_status_clear();
    }
    return BB_OK;
}

int bb_device_choice_by_size(int study_device, double size, double least)
{
    return size < least ? study_device | (int)SMALL : study_device;
}
