// SPDX-License-Identifier: Apache-2.0
//
// `run --dump phase`: the unwrapped map of every pipeline, the wrapped one that the reference saw,
// and the truth. `run --dump maps`: the quality of the reference's phase, the parts of the pupil
// and the first frame.
#ifndef BB_SIM_FRINGE_FRINGE_DUMP_H
#define BB_SIM_FRINGE_FRINGE_DUMP_H

#include "sim/fringe/fringe_maps.h"

typedef struct bb_fringe_dump bb_fringe_dump;

/// Readies what `names` asks for; `*out` is NULL where that is nothing. The results own it and all
/// that it takes. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_fringe_dump_create(bb_results *results, const char *names,
                                           bb_fringe_dump **out);

/// Adds of what the reference saw phase_truth and phase_wrapped, in rad, and quality, parts (NaN
/// outside) and interferogram, as asked and as there is. `dump` may be NULL. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_fringe_dump_sight(bb_fringe_dump *dump, const bb_fringe_sight *sight);

/// Adds /operators/phase_<pipeline> [rows][columns] in rad, a copy; characters of the name other
/// than letters and digits become _, and its index follows where two become one. `dump` may be
/// NULL. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_fringe_dump_phase(bb_fringe_dump *dump, const char *pipeline,
                                          bb_index index, bb_index columns, bb_index rows,
                                          const double *phase);

/// Bytes that the dump adds to the file, or more.
double bb_fringe_dump_bytes(const char *names, double pipelines, double points);

#endif
