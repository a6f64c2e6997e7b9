// SPDX-License-Identifier: Apache-2.0
//
// User-supplied slopes from a file, replayed by the realtime loop.
#ifndef BB_SIM_AO_REALTIME_TELEMETRY_FILE_H
#define BB_SIM_AO_REALTIME_TELEMETRY_FILE_H

#include "core/need.h"
#include "sim/ao/realtime/ao_realtime_config.h"

/// Most values of a file: 1 GiB in memory, plus 2 GiB while reading, 4 GiB from FITS.
enum { BB_TELEMETRY_FILE_VALUES = 1 << 28 };

typedef struct bb_telemetry_file {
    bb_index frames, slopes;
    float *values; ///< [frames][slopes] arcsec, NaN as in the file
} bb_telemetry_file;

/// Inspects the shape of an HDF5 dataset, or reads a FITS image. Errors: those of
/// bb_telemetry_file_load.
BB_CHECKED bb_status bb_telemetry_file_inspect(const bb_telemetry_config *config, bb_index slopes,
                                               bb_index *frames);

/// Reads the file of `config`, not NULL: [frames][slopes], with `slopes` columns as the matrix.
/// Values become arcsec by the file's unit; a file without a unit is taken to be in arcsec.
/// Non-finite values stay. The caller owns the contents of `out`. Errors, each prefixed by the key:
/// BB_IO, BB_INVALID, BB_UNSUPPORTED, BB_MEMORY of bb_map_file_read and bb_fits_image_load,
/// BB_INVALID (other slopes, more than BB_TELEMETRY_FILE_VALUES, an unknown unit).
BB_CHECKED bb_status bb_telemetry_file_load(const bb_telemetry_config *config, bb_index slopes,
                                            bb_telemetry_file *out);
void bb_telemetry_file_release(bb_telemetry_file *telemetry);

/// Need of reading `values` values, in addition to the resident ones; zero without a file.
bb_need bb_telemetry_file_need(const bb_telemetry_config *config, double values);

#endif
