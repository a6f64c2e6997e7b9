// SPDX-License-Identifier: Apache-2.0
//
// Slopes of the user's that a loop of frames replays, from their file.
#ifndef BB_SIM_AO_REALTIME_TELEMETRY_FILE_H
#define BB_SIM_AO_REALTIME_TELEMETRY_FILE_H

#include "core/need.h"
#include "sim/ao/realtime/ao_realtime_config.h"

/// Most values of a file: 1 GiB as they stay, beside it 2 GiB while they are read, of FITS 4.
enum { BB_TELEMETRY_FILE_VALUES = 1 << 28 };

typedef struct bb_telemetry_file {
    bb_index frames, slopes;
    float *values; ///< [frames][slopes] arcsec, NaN where the file has it
} bb_telemetry_file;

/// Looks at the shape of an HDF5 dataset, and reads a FITS image. Errors: those of
/// bb_telemetry_file_load.
BB_CHECKED bb_status bb_telemetry_file_inspect(const bb_telemetry_config *config, bb_index slopes,
                                               bb_index *frames);

/// Reads what `config` names, `file` not NULL: [frames][slopes], of `slopes` as the columns of the
/// matrix. Values become arcsec by the file's unit, which they are taken for where it says none; a
/// value that is not finite stays. Errors, all named by the key: BB_IO, BB_INVALID,
/// BB_UNSUPPORTED, BB_MEMORY of bb_map_file_read and bb_fits_image_load, BB_INVALID (other slopes,
/// more than BB_TELEMETRY_FILE_VALUES, an unknown unit). Owner of what `out` holds: the caller.
BB_CHECKED bb_status bb_telemetry_file_load(const bb_telemetry_config *config, bb_index slopes,
                                            bb_telemetry_file *out);
void bb_telemetry_file_release(bb_telemetry_file *telemetry);

/// What reading so many values takes, beside what stays; nothing where no file is named.
bb_need bb_telemetry_file_need(const bb_telemetry_config *config, double values);

#endif
