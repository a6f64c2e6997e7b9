// SPDX-License-Identifier: Apache-2.0
//
// zfp as an HDF5 filter (H5Z-ZFP, registered number 32013): a plugin that HDF5 finds by itself in
// its plugin path, on Debian the package hdf5-filter-plugin-zfp-serial. Chunks are then zfp streams
// of up to 4 dimensions; a chunk's dimensions of 1 do not count.
#ifndef BB_SIM_HDF5_FILTER_H
#define BB_SIM_HDF5_FILTER_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

/// Whether HDF5 finds the plugin.
bool bb_hdf5_filter_zfp_is_present(void);

/// Adds zfp at fixed accuracy to a dataset creation list (a hid_t): |stored - value| <= tolerance.
/// Errors: BB_IO (no plugin; names the package).
BB_CHECKED bb_status bb_hdf5_filter_zfp_add(int64_t list, double tolerance);

/// Whether an open dataset (a hid_t) can be decoded here. Errors: BB_IO (a filter that is not
/// present; for zfp the package is named).
BB_CHECKED bb_status bb_hdf5_filters_require(int64_t dataset);

/// The plugin, or BB_IO with the package's name.
BB_CHECKED bb_status bb_hdf5_filter_zfp_require(void);

#endif
