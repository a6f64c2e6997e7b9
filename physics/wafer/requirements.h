// SPDX-License-Identifier: Apache-2.0
//
// Machine requirements of wafer heat feed-forward: operations and bytes of a field, and the rates
// for a time budget. Equations 3 and 4 of Bamakhrama et al. (GPU acceleration of real-time control
// loops, 2019), fp32 words of 4 bytes:
//   operations = 3 t M (2 S - 1) + (t_l + t_d) T (2 nnz A + 2 nnz B - 1)
//   words      = 3 t (M S + S + M) + (t_l + t_d) T (2 nnz A + 3)
// As printed, t is the dark steps t_d and Equation 4 has the dense 2 T instead of 2 nnz A; the text
// runs the deformation in light steps only, and A is sparse. As corrected, t = t_l: with T = 3.7e5,
// M = 378, S = 250266, nnz A = 11.8 and nnz B = 1 that gives both printed totals, 398.7 GFLOP/s (34
// light and 36 dark steps, 50 ms) and 587.2 GFLOP/s (81 and 29, 80 ms).
//
// An axis on its own machine computes a third of the deformation and all of the thermal model. The
// stages of a field's matrix on a link follow from Table 1.
#ifndef BB_PHYSICS_WAFER_REQUIREMENTS_H
#define BB_PHYSICS_WAFER_REQUIREMENTS_H

#include <stdbool.h>

typedef enum bb_reading {
    BB_READING_PRINTED,
    BB_READING_CORRECTED,
} bb_reading;

/// Symbols as in the paper.
typedef struct bb_requirement_sizes {
    double unknowns;     ///< T: temperatures of wafer and clamp
    double sources;      ///< S: temperatures after interpolation
    double window;       ///< M: rows of a slit
    double field_points; ///< L: rows of a field
    double entries;      ///< nnz A: per row of the step matrix
    double inputs;       ///< nnz B
    double light, dark;  ///< t_l, t_d: steps per field
    double axes;         ///< 3
    double budget;       ///< s, for the steps of a field
} bb_requirement_sizes;

typedef struct bb_requirements {
    double deformation_flop, thermal_flop;   ///< per field; deformation of one axis
    double deformation_bytes, thermal_bytes; ///< likewise
    double flop;                             ///< per field, all axes and one thermal model
    double flops, flops_axis;                ///< 1/s, all axes; one axis with its thermal model
    double bytes_per_s_axis;                 ///< B/s of level 1 memory
    double field_bytes;                      ///< bytes of one axis' field matrix
    double link_bytes_per_s;                 ///< B/s required of the link
} bb_requirements;

bb_requirements bb_requirements_of(const bb_requirement_sizes *sizes, bb_reading reading);

/// Mean entries per row of the step matrix: `nodes` of the wafer have nine neighbours including
/// themselves and exchange heat with a clamp `ratio` times coarser, interpolated linearly along
/// each axis: ((2 r - 1) / r)^2 clamp nodes per node.
double bb_requirements_entries(double nodes, double clamp_nodes, double ratio);

// Stages of a field's matrix: transfer over a link, decoding, multiplication. Table 1 of Bamakhrama
// et al. (2019): the transfer of the next field overlaps with the computation of the current one.
//   plain:      period max(t, c),             latency t + c
//   compressed: period max(t / R, c + d),     latency t / R + d + c
// t transfer, c computation, d decoding of one field, R compression ratio. Compression pays off if
// decoding is no slower than the link (d <= t) and the latency is within the budget.

/// Seconds of one field.
typedef struct bb_field_stages {
    double transfer; ///< transfer of the plain matrix
    double decode;
    double compute;
    double ratio; ///< plain over compressed bytes
} bb_field_stages;

/// Computes the stages from a field's bytes and operations, and rates in B/s and 1/s.
bb_field_stages bb_field_stages_at(double bytes, double flop, double link, double decode_rate,
                                   double flops, double ratio);

typedef struct bb_field_schedule {
    double period, latency;
} bb_field_schedule;

bb_field_schedule bb_field_schedule_plain(const bb_field_stages *stages);
bb_field_schedule bb_field_schedule_compressed(const bb_field_stages *stages);

/// Returns whether the paper's first condition, W_c >= B, holds.
bool bb_field_decodes_in_time(const bb_field_stages *stages);

#endif
