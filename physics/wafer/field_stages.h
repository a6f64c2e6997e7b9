// SPDX-License-Identifier: Apache-2.0
//
// A field's matrix on its way: over a link, decoded, multiplied. Table 1 of Bamakhrama et al.
// (2019): transfers of the next field run beside the computation of this one.
//   plain:      period max(t, c),             latency t + c
//   compressed: period max(t / R, c + d),     latency t / R + d + c
// t transfer, c computation, d decoding of one field, R compression ratio. Compression pays where
// decoding is no slower than the link (d <= t) and the latency keeps the budget.
#ifndef BB_PHYSICS_WAFER_FIELD_STAGES_H
#define BB_PHYSICS_WAFER_FIELD_STAGES_H

#include <stdbool.h>

/// Seconds of one field.
typedef struct bb_field_stages {
    double transfer; ///< of the plain matrix
    double decode;
    double compute;
    double ratio; ///< plain over compressed bytes
} bb_field_stages;

/// From a field's bytes and operations, and rates in B/s and 1/s.
bb_field_stages bb_field_stages_at(double bytes, double flop, double link, double decode_rate,
                                   double flops, double ratio);

typedef struct bb_field_schedule {
    double period, latency;
} bb_field_schedule;

bb_field_schedule bb_field_schedule_plain(const bb_field_stages *stages);
bb_field_schedule bb_field_schedule_compressed(const bb_field_stages *stages);

/// The paper's first condition, W_c >= B.
bool bb_field_decodes_in_time(const bb_field_stages *stages);

#endif
