// SPDX-License-Identifier: Apache-2.0
//
// `run --dump phase`: the unwrapped map of every pipeline, the wrapped one that the reference saw,
// and the truth.
#ifndef BB_SIM_FRINGE_FRINGE_DUMP_H
#define BB_SIM_FRINGE_FRINGE_DUMP_H

#include "sim/output/results.h"

typedef struct bb_fringe_dump bb_fringe_dump;

/// Readies what `names` asks for; `*out` is NULL where that is nothing. The results own it and all
/// that it takes. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_fringe_dump_create(bb_results *results, const char *names,
                                           bb_fringe_dump **out);

/// Adds /operators/phase_<pipeline> [rows][columns] in rad, a copy; characters of the name other
/// than letters and digits become _, and its index follows where two become one. `pipeline` may be
/// "truth" or "wrapped" of index -1. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_fringe_dump_phase(bb_fringe_dump *dump, const char *pipeline,
                                          bb_index index, bb_index columns, bb_index rows,
                                          const double *phase);

/// Bytes that the dump adds to the file.
double bb_fringe_dump_bytes(const char *names, double pipelines, double points);

#endif
