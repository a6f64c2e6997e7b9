// SPDX-License-Identifier: Apache-2.0
#include "lib/library.h"

#include "core/log.h"
#include "core/thread.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bb_status prepared;
static bb_status_record reason;

static void prepare(void)
{
    bb_log_set_level(BB_LOG_SILENT);
    (void)pthread_atfork(NULL, NULL, bb_threads_abandon);
    prepared = bb_threads_set(bb_threads_available());
    bb_status_save(&reason);
}

bb_status bb_library_prepare(void)
{
    (void)pthread_once(&once, prepare);
    if (prepared != BB_OK) {
        bb_status_restore(&reason);
    }
    return prepared;
}

const char *bb_version(void)
{
    return BB_LIBRARY_VERSION;
}

bb_status bb_set_threads(bb_index count)
{
    bb_status status = BB_OK;
    BB_TRY(bb_library_prepare());
    BB_REQUIRE(count >= 0, BB_INVALID, "threads: %td, expected 0 (all processors) to 1024", count);
    BB_TRY(bb_threads_set(count == 0 ? bb_threads_available() : count));
done:
    return status;
}

bb_index bb_get_threads(void)
{
    return bb_library_prepare() == BB_OK ? bb_threads_count() : 1;
}

// Splits "cuda:1"; -1 if the text has another form.
static int parse_device(const char *text, bb_index *ordinal)
{
    const char *colon = strchr(text, ':');
    const size_t length = colon == NULL ? strlen(text) : (size_t)(colon - text);
    char *end = NULL;
    *ordinal = 0;
    if (colon != NULL) {
        *ordinal = (bb_index)strtol(colon + 1, &end, 10);
        if (end == colon + 1 || *end != '\0' || *ordinal < 0) {
            return -1;
        }
    }
    for (int kind = 0; kind < BB_DEVICE_KIND_COUNT; ++kind) {
        if (strlen(bb_device_names[kind]) == length &&
            strncmp(bb_device_names[kind], text, length) == 0) {
            return kind;
        }
    }
    return -1;
}

bb_status bb_library_open_device(const char *text, unsigned offered, const char *work,
                                 bb_index *ordinal, bb_device **out)
{
    bb_status status = BB_OK;
    bb_index number = 0;
    const int kind = text == NULL ? (int)BB_DEVICE_CPU : parse_device(text, &number);
    BB_REQUIRE(kind >= 0, BB_INVALID, "device '%.40s': expected cpu, cuda, cuda:1, ... or opencl",
               text);
    BB_REQUIRE((offered >> kind & 1U) != 0, BB_UNSUPPORTED, "device %s: %s does not run there",
               bb_device_names[kind], work);
    BB_TRY(bb_device_open((bb_device_kind)kind, number, out));
    if (ordinal != NULL) {
        *ordinal = number;
    }
done:
    return status;
}

static bb_status describe_device(bb_device_kind kind, bb_index ordinal, bb_device_info *out)
{
    bb_status status = BB_OK;
    bb_device *device = NULL;
    bb_device_report report;
    BB_TRY(bb_device_open(kind, ordinal, &device));
    BB_TRY(bb_device_describe(device, &report));
    *out = (bb_device_info){.memory_bytes = (double)report.memory_bytes,
                            .free_memory_bytes = (double)report.free_memory_bytes,
                            .units = report.units};
    if (kind == BB_DEVICE_CPU) {
        (void)snprintf(out->device, sizeof out->device, "cpu");
    } else {
        (void)snprintf(out->device, sizeof out->device, "%s:%td", bb_device_names[kind], ordinal);
    }
    memcpy(out->name, report.name, sizeof out->name);
    memcpy(out->architecture, report.architecture, sizeof out->architecture);
done:
    bb_device_close(&device);
    return status;
}

bb_status bb_list_devices(bb_index capacity, bb_device_info *out, bb_index *count)
{
    bb_status status = BB_OK;
    bb_index total = 0;
    BB_TRY(bb_library_prepare());
    BB_REQUIRE_POINTER(count);
    BB_REQUIRE(capacity >= 0 && (capacity == 0 || out != NULL), BB_INVALID,
               "bb_list_devices: capacity %td without an array; pass both", capacity);
    for (int kind = 0; kind < BB_DEVICE_KIND_COUNT; ++kind) {
        const bb_index here = bb_device_count((bb_device_kind)kind, NULL, 0);
        for (bb_index i = 0; i < here; ++i, ++total) {
            BB_TRY(total < capacity ? describe_device((bb_device_kind)kind, i, &out[total])
                                    : BB_OK);
        }
    }
    *count = total;
done:
    return status;
}
