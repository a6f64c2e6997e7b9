// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_command.h"
#include "sim/cli/launch.h"

int bb_launch_program(int argument_count, char **arguments)
{
    return bb_command_program(argument_count, arguments, &bb_bench_command);
}
