// SPDX-License-Identifier: Apache-2.0
//
// What a wafer study will expose, for its user: the fields in order, and a map of them.
#ifndef BB_SIM_WAFER_FIELD_LIST_H
#define BB_SIM_WAFER_FIELD_LIST_H

#include "core/text.h"

/// Appends the fields of a bb_wafer_study, of grid or layout, one a line in order of exposure, and
/// a map of at most 80 columns with y upwards. Errors: bb_scan_create's, BB_MEMORY.
BB_CHECKED bb_status bb_field_list_write(const void *study, bb_text *out);

#endif
