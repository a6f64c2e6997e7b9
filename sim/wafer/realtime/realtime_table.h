// SPDX-License-Identifier: Apache-2.0
//
// What a run of the deadline harness found, for the terminal.
#ifndef BB_SIM_WAFER_REALTIME_REALTIME_TABLE_H
#define BB_SIM_WAFER_REALTIME_REALTIME_TABLE_H

#include "sim/wafer/realtime/realtime_summary.h"

/// Appends the table. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_realtime_table(const bb_realtime_summary *of, bb_text *table);

#endif
