// SPDX-License-Identifier: Apache-2.0
//
// Pipelines of an ao study that a study before it in the same process computed (sim/warm.h): where
// nothing that they depend on differs, all that they put into the results comes back to the same
// bits, their times among it. So a sweep over the keys of one pipeline computes the others once a
// condition.
//
// Not kept is what needs reconstructors later (frames), what shares more than a matrix (learning, a
// spectrum), and pipelines whose arithmetic is found on the way (a promise, escalation).
#ifndef BB_SIM_AO_AO_WARM_H
#define BB_SIM_AO_AO_WARM_H

#include "sim/ao/ao_evaluation.h"

/// Whether pipelines of a study may come from another, or stay for it.
bool bb_ao_warm_serves(const bb_ao_study *study, const char *dump, bb_index pipeline);

/// Fills the evaluation of a pipeline as it was after its draws; false where none was kept. The
/// evaluation is as bb_ao_evaluation_create left it, with its device. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_warm_find(const bb_ao_study *study, bb_index reference,
                                     bb_index pipeline, bb_ao_evaluation *evaluation, bool *found);

/// Keeps it, where there is room. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_warm_keep(const bb_ao_study *study, bb_index reference,
                                     bb_index pipeline, const bb_ao_evaluation *evaluation);

#endif
