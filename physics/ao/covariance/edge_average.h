// SPDX-License-Identifier: Apache-2.0
//
// Sums of the structure function averaged over pairs of edges; the model stands in
// edge_average_core.h.
#ifndef BB_PHYSICS_AO_COVARIANCE_EDGE_AVERAGE_H
#define BB_PHYSICS_AO_COVARIANCE_EDGE_AVERAGE_H

#include "core/status.h"
#include "physics/ao/covariance/edge_average_core.h"

/// sums[j] += weight times the average for separation (x, y) - (to_x[j], to_y[j]), `count` of them
/// (m). The bits of a sum do not depend on its place in the list.
void bb_edge_average_add(bb_structure_table table, const bb_edge_pair *pair, double weight,
                         double x, double y, const double *to_x, const double *to_y, bb_index count,
                         double *sums);

#endif
