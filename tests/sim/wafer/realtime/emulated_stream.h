// SPDX-License-Identifier: Apache-2.0
//
// Functions of solvers/loop/field_stream.h on the CPU, for emulated_loop.h. They replace the
// library's functions in the program that links them. Copies take emulated_copy_s each, one after
// the other, by the manual clock.
#ifndef BB_TESTS_SIM_WAFER_REALTIME_EMULATED_STREAM_H
#define BB_TESTS_SIM_WAFER_REALTIME_EMULATED_STREAM_H

#include "sim/wafer/realtime/wafer_loop.h"
#include "solvers/loop/field_stream.h"

extern double emulated_copy_s;
extern bb_index emulated_copies; ///< number of copies queued

/// Creates the operators that images represent; emulated_forget frees them.
void emulated_know(const bb_wafer_study *study, const bb_wafer_problem *problem,
                   const bb_product_pipeline *pipeline, bb_device *cpu);
void emulated_forget(void);

/// Operator that replaces a slot's operator; the operator itself if it is in no slot.
bb_coded_operator *emulated_operator(bb_coded_operator *operation);

#endif
