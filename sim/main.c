// SPDX-License-Identifier: Apache-2.0
//
// The program: the only file that ends the process.
#include "sim/command.h"

#include <unistd.h>

int main(int argument_count, char **arguments)
{
    int code = bb_command_main(argument_count, arguments, &bb_experiments);
    if (code != 0) {
        // After an error libraries may not be in a state to be taken down; everything is flushed.
        _exit(code);
    }
    return code;
}
