// SPDX-License-Identifier: Apache-2.0
//
// The HDF5 library's state and errors, shared by all that read and write files with it.
//
// zfp as an HDF5 filter (H5Z-ZFP, registered number 32013): a plugin that HDF5 finds by itself in
// its plugin path, on Debian the package hdf5-filter-plugin-zfp-serial. Chunks are then zfp streams
// of up to 4 dimensions; a chunk's dimensions of 1 do not count.
#ifndef BB_SIM_INPUT_HDF5_LIBRARY_H
#define BB_SIM_INPUT_HDF5_LIBRARY_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

/// Whether HDF5 finds the plugin.
bool bb_hdf5_library_has_zfp(void);

/// Adds zfp at fixed accuracy to a dataset creation list (a hid_t): |stored - value| <= tolerance.
/// Errors: BB_IO (no plugin; names the package).
BB_CHECKED bb_status bb_hdf5_library_add_zfp(int64_t list, double tolerance);

/// Whether an open dataset (a hid_t) can be decoded here. Errors: BB_IO (a filter that is not
/// present; for zfp the package is named).
BB_CHECKED bb_status bb_hdf5_library_require_filters(int64_t dataset);

/// The plugin, or BB_IO with the package's name.
BB_CHECKED bb_status bb_hdf5_library_require_zfp(void);

/// Bytes that bb_hdf5_library_find_near writes at most.
enum { BB_HDF5_LIBRARY_NAME = 64 };

/// Turns off HDF5's own exit handler and, of the calling thread, its error printing; call before
/// any other HDF5 call of a thread. To call it again does nothing.
BB_CHECKED bb_status bb_hdf5_library_start(void);

/// The innermost sentence of HDF5's error stack, for messages.
const char *bb_hdf5_library_error(void);

/// A fixed-length text attribute of `owner` (a hid_t) into `out` [bytes]; "" where it is absent or
/// no such text. Errors: BB_IO.
BB_CHECKED bb_status bb_hdf5_library_read_text(int64_t owner, const char *name, char *out,
                                               size_t bytes);

/// A numeric attribute of `owner`; 0 where it is absent or no single number. Errors: BB_IO.
BB_CHECKED bb_status bb_hdf5_library_read_number(int64_t owner, const char *name, double *out);

/// A UTF-8 text type of `bytes`, or H5T_VARIABLE. Errors of both: BB_INTERNAL with HDF5's words.
BB_CHECKED bb_status bb_hdf5_library_text_type(size_t bytes, int64_t *out);

/// Writes an attribute of `owner`: `text`, or `number` where that is NULL.
BB_CHECKED bb_status bb_hdf5_library_write_attribute(int64_t owner, const char *name,
                                                     const char *text, double number);

/// The name in `file` that was likely meant by `word`, for "did you mean", or "": of what stands in
/// its root or, `in_groups`, in its groups too ("group/name"). Names that could steer a terminal,
/// as those of a damaged file, are left out.
void bb_hdf5_library_find_near(int64_t file, const char *word, bool in_groups,
                               char out[BB_HDF5_LIBRARY_NAME]);

/// Whether a datatype is that of h5py's booleans: an enumeration of two over 8 bits.
bool bb_hdf5_library_is_logical(int64_t type);

#endif
