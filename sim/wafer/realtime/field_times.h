// SPDX-License-Identifier: Apache-2.0
//
// Times of a whole field on the loop, back to back, and, where matrices cross a link, what Table 1
// of Bamakhrama et al. predicts from transfer and computation measured by themselves beside period
// and latency as measured (physics/wafer/field_stages.h; nothing is decoded).
#ifndef BB_SIM_WAFER_REALTIME_FIELD_TIMES_H
#define BB_SIM_WAFER_REALTIME_FIELD_TIMES_H

#include "physics/wafer/field_stages.h"
#include "sim/wafer/realtime/wafer_loop.h"

enum { BB_FIELD_ROUNDS = 32 };

/// Medians, s; NaN from `transfer` on where matrices are resident.
typedef struct bb_field_times {
    double each;     ///< all steps of a scored field, its matrices in place, each waited for
    double queued;   ///< the same, queued at once
    double transfer; ///< a field's matrices to all devices, nothing else under way
    double ratio;    ///< their bytes in fp32 over those that cross
    bb_field_schedule plain;     ///< predicted for matrices in fp32
    bb_field_schedule predicted; ///< as they cross
    bb_field_schedule measured;  ///< period of fields in a row; from the start of a field's copy,
                                 ///< alone, to the end of its last step
} bb_field_times;

/// All of it NaN.
bb_field_times bb_field_times_unknown(void);

/// Runs scored fields of a loop, whatever its state; it is not at rest afterwards. Errors: the
/// loop's.
BB_CHECKED bb_status bb_field_times_measure(bb_wafer_loop *loop, bb_field_times *out);

#endif
