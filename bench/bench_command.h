// SPDX-License-Identifier: Apache-2.0
//
// Command line of bitbudget-bench.
#ifndef BB_BENCH_BENCH_COMMAND_H
#define BB_BENCH_BENCH_COMMAND_H

#include "sim/cli/command_table.h"

extern const bb_command bb_bench_command;

#endif
