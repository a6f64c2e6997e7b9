// SPDX-License-Identifier: Apache-2.0
#include "core/device/transfer.h"

#include "core/memory.h"
#include "core/thread.h"

#include <pthread.h>

enum { USUAL_BYTES = 32 << 20, SPARES = 4 };

struct bb_transfer {
    bb_device *device;
    size_t bytes; // size of one buffer
    void *buffers[2];
};

// Cache of default-size buffers from finished cuda transfers: page-locking 64 MiB and freeing it
// take 40 ms each, more than the solve of 10,000 measurements. The cache is freed when the process
// ends.
static struct {
    pthread_mutex_t lock;
    int count;
    void *buffers[SPARES];
} spares = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_shared(const bb_transfer *transfer)
{
    return transfer->bytes == USUAL_BYTES && bb_device_kind_of(transfer->device) == BB_DEVICE_CUDA;
}

static bb_status acquire_buffer(const bb_transfer *transfer, void **out)
{
    (void)pthread_mutex_lock(&spares.lock);
    if (is_shared(transfer) && spares.count > 0) {
        *out = spares.buffers[--spares.count];
    }
    (void)pthread_mutex_unlock(&spares.lock);
    return *out != NULL ? BB_OK : bb_device_host_allocate(transfer->device, transfer->bytes, out);
}

static void release_buffer(const bb_transfer *transfer, void **buffer)
{
    (void)pthread_mutex_lock(&spares.lock);
    if (*buffer != NULL && is_shared(transfer) && spares.count < SPARES) {
        spares.buffers[spares.count++] = *buffer;
        *buffer = NULL;
    }
    (void)pthread_mutex_unlock(&spares.lock);
    bb_device_host_release(transfer->device, buffer);
}

bb_status bb_transfer_create(bb_device *device, size_t bytes, bb_transfer **out)
{
    bb_status status = BB_OK;
    bb_transfer *transfer = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &transfer));
    transfer->device = device;
    transfer->bytes = bytes > 0 ? bytes : USUAL_BYTES;
    BB_TRY(acquire_buffer(transfer, &transfer->buffers[0]));
    BB_TRY(acquire_buffer(transfer, &transfer->buffers[1]));
    *out = transfer;
    transfer = NULL;
done:
    bb_transfer_destroy(&transfer);
    return status;
}

void bb_transfer_destroy(bb_transfer **transfer)
{
    if (*transfer == NULL) {
        return;
    }
    for (int b = 0; b < 2; ++b) {
        release_buffer(*transfer, &(*transfer)->buffers[b]);
    }
    BB_RELEASE(transfer);
}

static size_t piece(const bb_transfer *transfer, size_t begun, size_t bytes)
{
    return bytes - begun < transfer->bytes ? bytes - begun : transfer->bytes;
}

bb_status bb_transfer_download(bb_transfer *transfer, void *to_host, const void *source,
                               size_t bytes)
{
    bb_status status = BB_OK;
    char *target = to_host;
    size_t begun = 0;
    size_t ready = 0; // bytes in the other buffer
    for (int turn = 0; begun < bytes || ready > 0; turn ^= 1) {
        const size_t next = piece(transfer, begun, bytes);
        BB_TRY(bb_device_wait(transfer->device));
        if (next > 0) {
            BB_TRY(bb_device_fetch(transfer->device, transfer->buffers[turn],
                                   (const char *)source + begun, next));
        }
        BB_TRY(bb_thread_copy(target + begun - ready, transfer->buffers[turn ^ 1], ready));
        begun += next;
        ready = next;
    }
done:
    return status;
}

static bb_status upload_piece(const bb_transfer_part *part, size_t begun, int turn)
{
    bb_status status = BB_OK;
    const bb_transfer *transfer = part->transfer;
    const size_t next = piece(transfer, begun, part->bytes);
    BB_TRY(bb_thread_copy(transfer->buffers[turn], (const char *)part->from_host + begun, next));
    BB_TRY(bb_device_wait(transfer->device)); // wait until the other buffer is free
    BB_TRY(bb_device_upload(transfer->device, (char *)part->target + begun, transfer->buffers[turn],
                            next));
done:
    return status;
}

bb_status bb_transfer_upload_parts(bb_index count, const bb_transfer_part *parts)
{
    bb_status status = BB_OK;
    bool goes_on = true;
    for (size_t round = 0; goes_on; ++round) {
        goes_on = false;
        for (bb_index i = 0; i < count; ++i) {
            const size_t begun = round * parts[i].transfer->bytes;
            if (begun < parts[i].bytes) {
                BB_TRY(upload_piece(&parts[i], begun, (int)(round % 2)));
                goes_on = true;
            }
        }
    }
    for (bb_index i = 0; i < count; ++i) {
        BB_TRY(bb_device_wait(parts[i].transfer->device));
    }
done:
    return status;
}

bb_status bb_transfer_upload(bb_transfer *transfer, void *target, const void *from_host,
                             size_t bytes)
{
    const bb_transfer_part part = {transfer, target, from_host, bytes};
    return bb_transfer_upload_parts(1, &part);
}
