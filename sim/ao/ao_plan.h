// SPDX-License-Identifier: Apache-2.0
//
// Memory and time of an ao study, from its geometry alone.
#ifndef BB_SIM_AO_AO_PLAN_H
#define BB_SIM_AO_AO_PLAN_H

#include "sim/ao/ao_extent.h"
#include "sim/run/experiment.h"

/// Contract in sim/run/experiment.h; `study` is a bb_ao_study.
BB_CHECKED bb_status bb_ao_plan(const void *study, const bb_run_options *options, bb_plan *plan);

/// Need of scoring `count` estimates in one pass over Cmm.
bb_need bb_ao_plan_score_need(const bb_ao_study *study, const bb_ao_extent *span, double count);

/// Need of one more solve by the reference pipeline. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_plan_reference_need(const bb_ao_study *study, const bb_ao_extent *span,
                                               bb_need *out);

#endif
