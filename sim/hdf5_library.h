// SPDX-License-Identifier: Apache-2.0
//
// The HDF5 library's state and errors, shared by all that read and write files with it.
#ifndef BB_SIM_HDF5_LIBRARY_H
#define BB_SIM_HDF5_LIBRARY_H

#include "core/status.h"

#include <stdint.h>

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

#endif
