// SPDX-License-Identifier: Apache-2.0
//
// Confidence bound on the probability of failure from a count of failures.
#ifndef BB_SIM_PIPELINES_FAILURE_BOUND_H
#define BB_SIM_PIPELINES_FAILURE_BOUND_H

#include "core/status.h"

/// Upper bound on a failure probability, one-sided with 95 % confidence, by Clopper and Pearson
/// (Biometrika 26, 1934): the p with P(at most `failed` of `tried`) = 5 %. 1 if all failed, NaN if
/// none was tried.
double bb_failure_bound(bb_index failed, bb_index tried);

#endif
