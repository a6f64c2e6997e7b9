// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/launch.h"

int bb_launch_commands(int argument_count, char **arguments)
{
    return bb_launch_program(argument_count, arguments);
}
