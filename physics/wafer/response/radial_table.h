// SPDX-License-Identifier: Apache-2.0
//
// A smooth function of a radius as polynomials of degree 5 on equal intervals, through the
// Chebyshev points of each (none of them an end, so a function may be undefined at 0). The error is
// about |f^(6)| (interval / 2)^6 / (6! 2^5); the largest one found at points between the nodes of
// every interval is kept beside the table.
#ifndef BB_PHYSICS_WAFER_RESPONSE_RADIAL_TABLE_H
#define BB_PHYSICS_WAFER_RESPONSE_RADIAL_TABLE_H

#include "core/status.h"

enum { BB_RADIAL_TERMS = 6 };

typedef double (*bb_radial_function)(const void *context, double r);

/// Zero-initialise; bb_radial_table_release frees it.
typedef struct bb_radial_table {
    double begin;
    double end;
    double per_length; ///< intervals per unit of r
    bb_index intervals;
    double *terms; ///< [intervals][BB_RADIAL_TERMS] in t of [-1, 1], constant term first
    double error;  ///< largest |table - function| found
} bb_radial_table;

/// Tabulates over [begin, end]. Errors: BB_INVALID (an empty range, no interval), BB_MEMORY.
BB_CHECKED bb_status bb_radial_table_create(bb_radial_function function, const void *context,
                                            double begin, double end, bb_index intervals,
                                            bb_radial_table *out);

/// Value at r; outside [begin, end] the outermost polynomial is continued, so stay inside.
static inline double bb_radial_table_at(const bb_radial_table *table, double r)
{
    double position = (r - table->begin) * table->per_length;
    bb_index i = (bb_index)position;
    i = i < table->intervals ? i : table->intervals - 1;
    double t = 2.0 * (position - (double)i) - 1.0;
    const double *a = table->terms + BB_RADIAL_TERMS * i;
    return ((((a[5] * t + a[4]) * t + a[3]) * t + a[2]) * t + a[1]) * t + a[0];
}

void bb_radial_table_release(bb_radial_table *table);

#endif
