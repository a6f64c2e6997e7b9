// SPDX-License-Identifier: Apache-2.0
//
// Internal parts of the library that all of its files use.
#ifndef BB_LIB_LIBRARY_H
#define BB_LIB_LIBRARY_H

#include "core/device/device.h"
#include "core/outcome.h"
#include "core/status.h"
#include "lib/bitbudget.h"

/// Prepares the library at its first use: silences the log and starts the threads. Every public
/// function that computes calls it first. Errors: BB_MEMORY, BB_INTERNAL (no threads).
BB_CHECKED bb_status bb_library_prepare(void);

/// Opens the device of a text, "cuda:1"; NULL: "cpu". `offered` has bit k set if the work runs on
/// bb_device_kind k; `work` names it for messages. `ordinal` receives its number; may be NULL.
/// Errors: BB_INVALID, BB_UNSUPPORTED, BB_DEVICE. Owner: the caller, bb_device_close.
BB_CHECKED bb_status bb_library_open_device(const char *text, unsigned offered, const char *work,
                                            bb_index *ordinal, bb_device **out);

/// Fails with BB_INVALID if a pointer that a public function needs is NULL.
#define BB_REQUIRE_POINTER(pointer)                                                                \
    BB_REQUIRE((pointer) != NULL, BB_INVALID, "%s: " #pointer " is NULL; pass an address", __func__)

#endif
