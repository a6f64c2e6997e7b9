// SPDX-License-Identifier: Apache-2.0
//
// The overlay report of a wafer run as text, in the layout of a single-machine overlay report:
// mean, st.dev., |mean| + 3 sigma, 99.7 % and maximum of x, y and vector, then what is left in
// parts of the wafer and after each model of corrections.
#ifndef BB_SIM_WAFER_OVERLAY_OVERLAY_TABLE_H
#define BB_SIM_WAFER_OVERLAY_OVERLAY_TABLE_H

#include "core/text.h"
#include "sim/output/results.h"

/// Appends the report: the raw heating overlay once, feed-forward residual and numerical error of
/// every pipeline. Nothing where the results have no overlay. Unknown numbers are `-`. Errors:
/// BB_INVALID (datasets of other shapes than this program writes), BB_MEMORY.
BB_CHECKED bb_status bb_overlay_table_write(const bb_results *results, bb_text *out);

#endif
