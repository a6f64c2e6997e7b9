// SPDX-License-Identifier: Apache-2.0
//
// Frames in HDF5 files: /frames [frames][rows][columns], integers from 0 to 65535. Attribute `bits`
// gives the bits of the camera; default: 8 for 8-bit integers, else 16.
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

/// Opens /frames of a file; a single frame may be [rows][columns]. Errors: BB_IO (missing file or
/// dataset, damaged file), BB_INVALID (another type or shape, packed values). Owner of `*out`: the
/// caller.
BB_CHECKED bb_status bb_live_dataset_open(const char *path, bb_live_dataset *out);
void bb_live_dataset_close(bb_live_dataset *dataset);

/// Opens /frames after a child process has read at most `most` frames within `seconds` seconds,
/// because a damaged file may crash the HDF5 library.
BB_CHECKED bb_status bb_live_dataset_open_tried(const char *path, int seconds, bb_index most,
                                                bb_live_dataset *out);

/// Reads frames [first, first + count) into counts [count][rows][columns]. Errors: BB_IO;
/// BB_INVALID for a value that exceeds the bits or that an attribute marks as undefined.
BB_CHECKED bb_status bb_live_dataset_read(const bb_live_dataset *dataset, bb_index first,
                                          bb_index count, uint16_t *counts);

#endif
