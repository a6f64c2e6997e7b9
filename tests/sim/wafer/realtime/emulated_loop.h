// SPDX-License-Identifier: Apache-2.0
//
// Functions of solvers/loop/control_loop.h on the CPU: a step runs at once, in the arithmetic of
// the GPU except for products, which use the CPU's. They replace the library's functions in the
// program that links them. A step takes 15 us of the manual clock.
#ifndef BB_TESTS_SIM_WAFER_REALTIME_EMULATED_LOOP_H
#define BB_TESTS_SIM_WAFER_REALTIME_EMULATED_LOOP_H

#include "solvers/loop/control_loop.h"
#include "tests/manual_clock.h"
#include "tests/sim/wafer/realtime/emulated_stream.h"

enum { EMULATED_STEP_NS = 15000 };

extern bb_index emulated_signal_in; ///< steps until emulated_signal is sent; 0: never
extern int emulated_signal;         ///< SIGINT
extern bb_index emulated_ahead;     ///< pending steps reported to the host
extern bb_index emulated_slow_in;   ///< steps until one takes 2.5 ms longer; 0: never
extern bb_index emulated_stall_in;  ///< requests until the host stalls for seven steps; 0: never

#endif
