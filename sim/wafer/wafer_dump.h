// SPDX-License-Identifier: Apache-2.0
//
// The operators of a wafer study for `--dump`: `rows` are C_<axis>_<field> (slit points of the
// field x cells, m/K), `inputs` are S_<field> (light steps x cells, K).
#ifndef BB_SIM_WAFER_WAFER_DUMP_H
#define BB_SIM_WAFER_WAFER_DUMP_H

#include "sim/output/results.h"
#include "sim/wafer/heat/wafer_heating.h"
#include "sim/wafer/wafer_study.h"

/// Refuses at once what the end of a run would: rows wanted in zfp without HDF5's plugin for it.
/// Errors: BB_IO.
BB_CHECKED bb_status bb_wafer_dump_check(const bb_dump_config *config, const char *names);

/// Adds the operators that `names` lists. Where there is one, problem and heating move into the
/// results, which keep them until the file is written; the caller's are empty then. The study must
/// outlive the results. Errors: BB_MEMORY, bb_wafer_row_source_open's.
BB_CHECKED bb_status bb_wafer_dump(const bb_wafer_study *study, const char *names,
                                   bb_wafer_problem **problem, bb_wafer_heating *heating,
                                   bb_results *results);

#endif
