// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: arrays of a covariance's device version, in one block of device memory.
// Traversed twice: to count the bytes, and with a host copy to fill.
#ifndef BB_PHYSICS_AO_COVARIANCE_TWIN_BLOCK_CUDA_H
#define BB_PHYSICS_AO_COVARIANCE_TWIN_BLOCK_CUDA_H

#include "core/device/device.h"
#include "core/memory.h"

#include <cstring>

struct bb_twin_block {
    char *host;   ///< NULL while bytes are counted
    char *device; ///< device address; NULL while bytes are counted
    size_t used;
};

/// Reserves `count` items: sets their host address for writing, NULL while bytes are counted, and
/// their future device address.
template <typename Item>
Item *bb_twin_block_load(bb_twin_block *block, bb_index count, const Item **device)
{
    const size_t alignment = 256;
    const size_t index = block->used;
    block->used +=
        (static_cast<size_t>(count) * sizeof(Item) + alignment - 1) / alignment * alignment;
    *device = reinterpret_cast<const Item *>(block->device + index);
    return block->host == nullptr ? nullptr : reinterpret_cast<Item *>(block->host + index);
}

/// Reserves and copies `count` items.
template <typename Item>
const Item *bb_twin_block_store(bb_twin_block *block, const Item *origin, bb_index count)
{
    const Item *device = nullptr;
    Item *host = bb_twin_block_load(block, count, &device);
    if (host != nullptr) {
        std::memcpy(host, origin, static_cast<size_t>(count) * sizeof(Item));
    }
    return device;
}

/// Allocates a device block for the items reserved by `lay_out(block, context)`, calls it again
/// with the addresses, and copies the items. Errors: BB_MEMORY, BB_DEVICE. Owner of `memory`: the
/// caller, after a failure too.
inline bb_status bb_twin_block_upload(bb_device *device, void (*lay_out)(bb_twin_block *, void *),
                                      void *context, void **memory)
{
    void *copy = nullptr;
    bb_twin_block block = {};
    lay_out(&block, context);
    bb_status status = bb_memory_zeroed(1, block.used, &copy);
    status = status == BB_OK ? bb_device_allocate(device, block.used, memory) : status;
    if (status == BB_OK) {
        block = bb_twin_block{static_cast<char *>(copy), static_cast<char *>(*memory), 0};
        lay_out(&block, context);
        status = bb_device_upload(device, *memory, copy, block.used);
    }
    // Waits for the copy, because fills are queued on other streams.
    status = status == BB_OK ? bb_device_wait(device) : status;
    bb_memory_release(&copy);
    return status;
}

#endif
