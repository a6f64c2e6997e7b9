// SPDX-License-Identifier: Apache-2.0
//
// Entry of the programs; only this file ends a process.
#include "core/address_space.h"
#include "sim/cli/launch.h"

#include <unistd.h>

#ifndef BB_SANITIZED
// OpenBLAS starts its threads when it is loaded, before main, and retries endlessly if their
// buffers cannot be allocated. The limit is therefore checked before the libraries are initialised.
static void check_limit(int argument_count, char **arguments, char **environment)
{
    static const char sentence[] =
        "bitbudget: memory: with a limit (ulimit -v) OpenBLAS needs 128 MiB for each thread that "
        "it starts; set OPENBLAS_NUM_THREADS=1\n";
    const char *const *entries = (const char *const *)environment;
    (void)argument_count;
    if (bb_address_space_wasted(entries)) {
        bb_address_space_restart(arguments, entries);
        (void)!write(STDERR_FILENO, sentence, sizeof sentence - 1);
        _exit(bb_status_exit_code(BB_MEMORY));
    }
}

__attribute__((section(".preinit_array"),
               used)) static void (*const at_load)(int, char **, char **) = check_limit;
#endif

int main(int argument_count, char **arguments)
{
    int code = bb_launch_commands(argument_count, arguments);
    if (code != 0) {
        // After an error the exit handlers of libraries may fail; everything has been flushed.
        _exit(code);
    }
    return code;
}
