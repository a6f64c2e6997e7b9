// SPDX-License-Identifier: Apache-2.0
//
// The group /learn of the results.
#ifndef BB_SIM_AO_LEARN_AO_LEARN_PUBLISH_H
#define BB_SIM_AO_LEARN_AO_LEARN_PUBLISH_H

#include "physics/ao/atmosphere.h"
#include "physics/ao/learn/learn.h"
#include "sim/ao/learn/ao_learn_config.h"
#include "sim/output/output_table.h"

/// What is written.
extern const bb_output_table bb_ao_learn_outputs, bb_ao_learn_strehl;

/// What was learned beside what is true of `atmosphere`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_learn_publish(const bb_ao_learn_config *learn,
                                         const bb_atmosphere *atmosphere,
                                         const bb_learned_profile *profile, bb_results *results);

/// Strehl ratios [targets][wavelengths] of the reference pipeline with the true profile, and what
/// those with the learned one are short of them.
BB_CHECKED bb_status bb_ao_learn_publish_strehl(bb_index targets, const bb_list *wavelengths_um,
                                                const double *known, const double *learned_strehl,
                                                bb_results *results);

#endif
