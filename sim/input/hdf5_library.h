// SPDX-License-Identifier: Apache-2.0
//
// State and errors of the HDF5 library, shared by all readers and writers of HDF5 files.
//
// zfp as an HDF5 filter (H5Z-ZFP, registered number 32013) is a plugin that HDF5 finds in its
// plugin path, on Debian the package hdf5-filter-plugin-zfp-serial. Chunks are then zfp streams
// with up to 4 dimensions; chunk dimensions of 1 are not counted.
#ifndef BB_SIM_INPUT_HDF5_LIBRARY_H
#define BB_SIM_INPUT_HDF5_LIBRARY_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

/// True if HDF5 finds the plugin.
bool bb_hdf5_library_has_zfp(void);

/// Adds zfp with a fixed accuracy to a dataset creation list (a hid_t): |stored - value| <=
/// tolerance. Errors: BB_IO (no plugin; names the package).
BB_CHECKED bb_status bb_hdf5_library_add_zfp(int64_t list, double tolerance);

/// Checks that an open dataset (a hid_t) can be decoded. Errors: BB_IO (a filter is not available;
/// for zfp the message names the package).
BB_CHECKED bb_status bb_hdf5_library_require_filters(int64_t dataset);

/// Checks that the plugin is available. Errors: BB_IO with the package's name.
BB_CHECKED bb_status bb_hdf5_library_require_zfp(void);

/// Size of the buffer for bb_hdf5_library_find_near.
enum { BB_HDF5_LIBRARY_NAME = 64 };

/// Turns off HDF5's exit handler and its error printing for the calling thread; call it before any
/// other HDF5 call of a thread. Further calls have no effect.
BB_CHECKED bb_status bb_hdf5_library_start(void);

/// Innermost message of HDF5's error stack.
const char *bb_hdf5_library_error(void);

/// Reads a fixed-length text attribute of `owner` (a hid_t) into `out` [bytes]; "" if it is absent
/// or of another type. Errors: BB_IO.
BB_CHECKED bb_status bb_hdf5_library_read_text(int64_t owner, const char *name, char *out,
                                               size_t bytes);

/// Reads a numeric attribute of `owner`; 0 if it is absent or not a single number. Errors: BB_IO.
BB_CHECKED bb_status bb_hdf5_library_read_number(int64_t owner, const char *name, double *out);

/// Creates a UTF-8 text type of `bytes`, or H5T_VARIABLE. Errors of both functions: BB_INTERNAL
/// with HDF5's message.
BB_CHECKED bb_status bb_hdf5_library_text_type(size_t bytes, int64_t *out);

/// Writes an attribute of `owner`: `text`, or `number` if `text` is NULL.
BB_CHECKED bb_status bb_hdf5_library_write_attribute(int64_t owner, const char *name,
                                                     const char *text, double number);

/// Finds the name in `file` most similar to `word`, for "did you mean", or "": among the members of
/// the root or, with `in_groups`, of its groups too ("group/name"). Names with characters that
/// could control a terminal, as in damaged files, are skipped.
void bb_hdf5_library_find_near(int64_t file, const char *word, bool in_groups,
                               char out[BB_HDF5_LIBRARY_NAME]);

/// True if a datatype is h5py's boolean: an enumeration of two values with 8 bits.
bool bb_hdf5_library_is_logical(int64_t type);

#endif
