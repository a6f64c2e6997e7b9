// SPDX-License-Identifier: Apache-2.0
//
// Shipped records of tuned variants: configs/kernels/tuned/<device>.yaml of the shipped folders
// (shipped_folder.h), in the form of any wisdom file. They hold for every driver and compiler, and
// for other devices of the architecture where the device has none for these sizes. Every extent has
// to be within a factor of four of the record's. Records of another version of the printed text
// count no more, so that an outdated file does no harm. Only variants in the kernel's order of sums
// are taken: results do not depend on these files.
#ifndef BB_SIM_KERNELS_SHIPPED_WISDOM_H
#define BB_SIM_KERNELS_SHIPPED_WISDOM_H

#include "sim/kernels/wisdom.h"

enum { BB_SHIPPED_ORIGIN_BYTES = 160 };

/// Reads all files; a damaged one is left out with a warning. Errors: BB_MEMORY. Release with
/// bb_wisdom_file_release, after an error too.
BB_CHECKED bb_status bb_shipped_wisdom_read(bb_wisdom_file *out);

/// The record for a key, as bb_wisdom_choose finds it: first of the device by its name, then of its
/// architecture; NULL where there is none. `origin`, unchanged then, names the record's device.
/// Where `reasons` is not NULL, lines are appended. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_shipped_wisdom_choose(const bb_wisdom_file *file, const bb_wisdom_key *key,
                                              const bb_program *program,
                                              const bb_wisdom_record **out,
                                              char origin[BB_SHIPPED_ORIGIN_BYTES],
                                              bb_text *reasons);

/// The device whose records a key's device uses, and how many there are; NULL and 0 where none are
/// shipped.
const char *bb_shipped_wisdom_device(const bb_wisdom_file *file, const bb_wisdom_key *key,
                                     bb_index *count);

#endif
