// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/launch.h"

int bb_launch_program(int argument_count, char **arguments)
{
    return bb_command_main(argument_count, arguments, &bb_experiments);
}
