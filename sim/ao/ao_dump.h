// SPDX-License-Identifier: Apache-2.0
//
// The operators of an ao study for `--dump`: Cmm, Ctm_<target>, Ctt_<target> in arcsec^2,
// R_<pipeline>_<target>, by index, of every pipeline that gave one, and the pupil of the first
// target as a mask (physics/ao/pupil.h).
#ifndef BB_SIM_AO_AO_DUMP_H
#define BB_SIM_AO_AO_DUMP_H

#include "sim/ao/ao_evaluation.h"

/// Adds the operators that `names` lists. Where there is one, the problem and the estimates of
/// `evaluations` [pipelines] move into the results, which keep them until the file is written; the
/// caller's are empty then. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_dump(const char *names, bb_tomography **problem, bb_index pipelines,
                                bb_ao_evaluation *evaluations, bb_results *results);

#endif
