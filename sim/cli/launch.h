// SPDX-License-Identifier: Apache-2.0
//
// Program entry: MPI start-up for bitbudget-mpi (launch_mpi.c), nothing for bitbudget (launch.c).
// Each program links one of the two.
#ifndef BB_SIM_CLI_LAUNCH_H
#define BB_SIM_CLI_LAUNCH_H

#include "sim/cli/command.h"

/// Runs the command line and returns the exit code.
int bb_launch_commands(int argument_count, char **arguments);

/// Commands of the linked program: bitbudget (program.c) or bitbudget-bench (bench/program.c).
int bb_launch_program(int argument_count, char **arguments);

#endif
