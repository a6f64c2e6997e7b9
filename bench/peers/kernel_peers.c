// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/kernel_peers.h"

#include "bench/peers/kernel_library.h"
#include "core/clock.h"
#include "core/memory.h"
#include "solvers/kernels/program/evaluation.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MOST_CALLS = 3 };

typedef struct kernel_peer {
    const bb_kernel_call *call;
    const char *name;
    void *state;
    void *output;
    bb_bench_times times;
    double difference; // from the kernel's result, of its largest element
    char absence[120]; // why there is no state
} kernel_peer;

struct bb_kernel_peers {
    const bb_kernel_library *library;
    bb_kernel_site site;
    double tolerance;
    kernel_peer peers[MOST_CALLS];
    int count;
};

static const bb_kernel_library *library_of(bb_device_kind kind)
{
    static const bb_kernel_library *const libraries[BB_DEVICE_KIND_COUNT] = {
        [BB_DEVICE_CPU] = &bb_kernel_library_cpu,
        [BB_DEVICE_CUDA] = BB_CUDA_TWIN(&bb_kernel_library_cuda),
        [BB_DEVICE_OPENCL] = BB_OPENCL_TWIN(&bb_kernel_library_opencl),
    };
    return libraries[kind];
}

static size_t output_bytes(const bb_kernel_peers_task *task, int object)
{
    return bb_element_type_row(task->program->objects[object].type)->bytes *
           (size_t)(task->data[object].columns * task->data[object].rows);
}

// Largest difference of two results over the largest element of `own`; NaN where either has one.
static double difference_of(bb_element_type type, const void *result, const void *peer_result,
                            bb_index count)
{
    double largest = 0.0;
    double apart = 0.0;
    for (bb_index k = 0; k < count; ++k) {
        const double a = bb_evaluation_load(type, result, k).parts[0];
        const double b = bb_evaluation_load(type, peer_result, k).parts[0];
        if (isnan(a) || isnan(b)) {
            return NAN;
        }
        largest = fmax(largest, fabs(a));
        apart = fmax(apart, fabs(a - b));
    }
    return apart == 0.0 ? 0.0 : apart / largest;
}

static bb_status compare(const bb_kernel_peers_task *task, kernel_peer *peer)
{
    bb_status status = BB_OK;
    const int last = task->program->object_count - 1;
    const size_t bytes = output_bytes(task, last);
    const bb_index count = task->data[last].columns * task->data[last].rows;
    void *found = NULL;
    BB_TRY(bb_memory_allocate((bb_index)bytes, 1, &found));
    BB_TRY(bb_device_download(task->device, found, peer->output, bytes));
    BB_TRY(bb_device_download(task->device, task->data[last].elements, task->blocks[last], bytes));
    peer->difference =
        difference_of(task->program->objects[last].type, task->data[last].elements, found, count);
done:
    bb_memory_release(&found);
    return status;
}

// Opens a call and runs it once; what a library lacks is noted and is no error.
static bb_status add_peer(const bb_kernel_peers_task *task, const bb_kernel_call *call,
                          bb_kernel_peers *peers)
{
    bb_status status = BB_OK;
    kernel_peer *peer = &peers->peers[peers->count++];
    const int last = task->program->object_count - 1;
    const size_t bytes = output_bytes(task, last);
    bb_kernel_site site = peers->site;
    peer->call = call;
    peer->name = call->names[site.is_double];
    BB_TRY(bb_device_allocate(task->device, bytes, &peer->output));
    BB_TRY(bb_device_zero(task->device, peer->output, bytes));
    if (call->adds_to_input) {
        BB_TRY(bb_device_upload(task->device, peer->output, task->data[1].elements, bytes));
    }
    BB_TRY(bb_device_wait(task->device));
    site.output = peer->output;
    status = peers->library->open(&site, call, &peer->state);
    if (status == BB_UNSUPPORTED || status == BB_DEVICE) {
        (void)snprintf(peer->absence, sizeof peer->absence, "%s", bb_status_message());
        bb_status_clear();
        return BB_OK;
    }
    BB_TRY(status);
    BB_TRY(peers->library->queue(peer->state));
    BB_TRY(bb_device_wait(task->device));
    if (!call->is_other) {
        BB_TRY(compare(task, peer));
    }
done:
    return status;
}

bb_status bb_kernel_peers_create(const bb_kernel_peers_task *task, bb_kernel_peers **out)
{
    bb_status status = BB_OK;
    void *made = NULL;
    const int objects = task->program->object_count;
    BB_REQUIRE(objects >= 2 && objects <= BB_KERNEL_SITE_OBJECTS, BB_INTERNAL,
               "a kernel of %d objects has no peers", objects);
    BB_TRY(bb_memory_zeroed(1, sizeof(bb_kernel_peers), &made));
    bb_kernel_peers *peers = made;
    const bool is_double = task->program->objects[objects - 1].type == BB_ELEMENT_DP;
    peers->library = library_of(bb_device_kind_of(task->device));
    peers->tolerance = is_double ? 1e-9 : 1e-3;
    peers->site =
        (bb_kernel_site){.device = task->device, .threads = task->threads, .is_double = is_double};
    for (int i = 0; i < objects; ++i) {
        peers->site.columns[i] = task->data[i].columns;
        peers->site.rows[i] = task->data[i].rows;
        peers->site.blocks[i] = task->blocks[i];
    }
    if (strcmp(task->kernel, "spmv") == 0) {
        const int32_t *row_start = task->data[0].elements;
        peers->site.entries = row_start[task->data[0].columns - 1];
    }
    for (int i = 0; i < peers->library->count; ++i) {
        const bb_kernel_call *call = &peers->library->calls[i];
        if (strcmp(call->kernel, task->kernel) == 0 && call->names[is_double] != NULL) {
            BB_REQUIRE(peers->count < MOST_CALLS, BB_INTERNAL, "%s has too many calls of %s",
                       peers->library->name, task->kernel);
            BB_TRY(add_peer(task, call, peers));
        }
    }
    *out = peers;
    made = NULL;
done:
    bb_kernel_peers_destroy((bb_kernel_peers **)&made);
    return status;
}

void bb_kernel_peers_destroy(bb_kernel_peers **peers)
{
    bb_kernel_peers *held = *peers;
    if (held == NULL) {
        return;
    }
    for (int i = 0; i < held->count; ++i) {
        held->library->close(&held->peers[i].state);
        bb_device_release(held->site.device, &held->peers[i].output);
    }
    BB_RELEASE(peers);
}

bb_status bb_kernel_peers_measure(bb_kernel_peers *peers)
{
    bb_status status = BB_OK;
    const bool on_cpu = bb_device_kind_of(peers->site.device) == BB_DEVICE_CPU;
    for (int i = 0; i < peers->count; ++i) {
        kernel_peer *peer = &peers->peers[i];
        double seconds = 0.0;
        if (peer->state == NULL) {
            continue;
        }
        if (on_cpu) {
            const double begin = bb_clock_seconds();
            BB_TRY(peers->library->queue(peer->state));
            seconds = bb_clock_seconds() - begin;
        } else {
            BB_TRY(bb_device_timer_start(peers->site.device));
            BB_TRY(peers->library->queue(peer->state));
            BB_TRY(bb_device_timer_stop(peers->site.device, &seconds));
        }
        bb_bench_add(&peer->times, seconds);
    }
done:
    return status;
}

static bool counts(const bb_kernel_peers *peers, const kernel_peer *peer)
{
    return peer->times.count > 0 && !peer->call->is_other && peer->difference <= peers->tolerance;
}

static void add_words(bb_bench_outcome *out, const char *format, ...) BB_PRINTF(2, 3);
static void add_words(bb_bench_outcome *out, const char *format, ...)
{
    const size_t length = strlen(out->detail);
    va_list words;
    va_start(words, format);
    (void)vsnprintf(out->detail + length, sizeof out->detail - length, format, words);
    va_end(words);
}

void bb_kernel_peers_tell(const bb_kernel_peers *peers, bb_bench_outcome *out)
{
    for (int i = 0; i < peers->count; ++i) {
        const kernel_peer *peer = &peers->peers[i];
        const double best_s = bb_bench_best(&peer->times);
        if (peer->state == NULL) {
            add_words(out, "; no %s: %s", peer->name, peer->absence);
            continue;
        }
        if (!peer->call->is_other && !counts(peers, peer)) {
            add_words(out, "; %s finds something else, by %.1e", peer->name, peer->difference);
            continue;
        }
        add_words(out, "; %.2f of %s%s", best_s / out->best_s, peer->name,
                  peer->call->is_other ? ", not the same" : "");
        if (counts(peers, peer) && !(best_s >= out->library_s)) {
            out->library_s = best_s;
            out->library_ratio = best_s / out->best_s;
            (void)snprintf(out->library, sizeof out->library, "%s", peer->name);
        }
    }
}
