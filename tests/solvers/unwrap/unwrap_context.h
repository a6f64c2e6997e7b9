// SPDX-License-Identifier: Apache-2.0
//
// A device, the CPU by default, and a kernel context on it, for tests of unwrapping:
// TEST_GROUP(.enter = open_context, .leave = close_context, .threads = 2).
#ifndef BB_TESTS_SOLVERS_UNWRAP_UNWRAP_CONTEXT_H
#define BB_TESTS_SOLVERS_UNWRAP_UNWRAP_CONTEXT_H

#include "solvers/kernels/objects/kernel_context.h"
#include "solvers/unwrap/unwrap.h"
#include "tests/first_device.h"
#include "tests/solvers/unwrap/phase_maps.h"

static bb_device_kind device_kind = BB_DEVICE_CPU;
static bb_device *device;
static bb_kernel_context *context;

static inline int open_context(void **state)
{
    (void)state;
    device = open_device(device_kind);
    context = new_object(bb_kernel_context, device);
    return 0;
}

static inline int close_context(void **state)
{
    (void)state;
    bb_kernel_context_destroy(&context);
    bb_device_close(&device);
    return 0;
}

/// Wraps the true phase of a map and creates its unwrapper. Owner: the caller.
static inline bb_unwrap *make_unwrapper(phase_map *map, const bb_unwrap_config *config)
{
    phase_map_wrap(map);
    bb_unwrap *unwrapper =
        new_object(bb_unwrap, context, config, map->mask, map->columns, map->rows);
    return unwrapper;
}

/// Creates the unwrapper in the same way, and unwraps the phase into map->phase.
static inline bb_unwrap *unwrap_map(phase_map *map, const bb_unwrap_config *config,
                                    bb_unwrap_report *report)
{
    bb_unwrap *unwrapper = make_unwrapper(map, config);
    check_ok(bb_unwrap_run(unwrapper, map->wrapped, map->phase, report));
    return unwrapper;
}

#endif
