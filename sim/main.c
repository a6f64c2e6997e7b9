// SPDX-License-Identifier: Apache-2.0
//
// The programs: the only file that ends a process.
#include "core/address_space.h"
#include "sim/cli/launch.h"

#include <unistd.h>

#ifndef BB_SANITIZED
// OpenBLAS starts its threads as it is loaded, before main, and tries for ever where a buffer of
// theirs is not to be had: the limit is looked at before any library's own start.
static void look_at_limit(int argument_count, char **arguments, char **environment)
{
    static const char sentence[] =
        "bitbudget: memory: under a limit (ulimit -v) OpenBLAS needs 128 MiB for every thread that "
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
               used)) static void (*const at_load)(int, char **, char **) = look_at_limit;
#endif

int main(int argument_count, char **arguments)
{
    int code = bb_launch_commands(argument_count, arguments);
    if (code != 0) {
        // After an error libraries may not be in a state to be taken down; everything is flushed.
        _exit(code);
    }
    return code;
}
