// SPDX-License-Identifier: Apache-2.0
//
// Frames in HDF5 files: /frames [frames][rows][columns], integers of 0 to 65535, whose attribute
// `bits` says what the camera has; without it 8 of 8-bit integers, else 16.
#ifndef BB_SIM_FRINGE_LIVE_LIVE_DATASET_H
#define BB_SIM_FRINGE_LIVE_LIVE_DATASET_H

#include "sim/fringe/live/live_source.h"
#include "sim/input/value_attributes.h"

#include <hdf5.h>

typedef struct bb_live_dataset {
    hid_t file, id;
    bb_index frames, columns, rows, bits;
    bb_value_attributes attributes;
} bb_live_dataset;

#define BB_LIVE_DATASET_NONE ((bb_live_dataset){.file = -1, .id = -1})

/// Opens /frames of a file; one frame may be [rows][columns]. Errors: BB_IO (no such file or
/// dataset, damaged), BB_INVALID (another type or shape, packed). Owner of `*out`: the caller.
BB_CHECKED bb_status bb_live_dataset_open(const char *path, bb_live_dataset *out);
void bb_live_dataset_close(bb_live_dataset *dataset);

/// The same once a child process has read the first frames, at most so many, within so many
/// seconds: a damaged file may crash the library.
BB_CHECKED bb_status bb_live_dataset_open_tried(const char *path, int seconds, bb_index most,
                                                bb_live_dataset *out);

/// Reads frames [first, first + count) to counts [count][rows][columns]. Errors: BB_IO; BB_INVALID
/// for a value beyond the bits or undefined by an attribute.
BB_CHECKED bb_status bb_live_dataset_read(const bb_live_dataset *dataset, bb_index first,
                                          bb_index count, uint16_t *counts);

#endif
