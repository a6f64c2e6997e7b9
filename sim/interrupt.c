// SPDX-License-Identifier: Apache-2.0
#include "sim/interrupt.h"

#include "sim/output/file.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t deferred;
static volatile sig_atomic_t noted; // its number, or 0

static void leave(int number)
{
    if (deferred && !noted) {
        noted = number;
        return;
    }
    bb_file_abandon();
    _exit(128 + number);
}

bb_status bb_interrupt_install(void)
{
    bb_status status = BB_OK;
    struct sigaction end = {.sa_handler = leave};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigemptyset(&end.sa_mask);
    (void)sigaddset(&end.sa_mask, SIGINT);
    (void)sigaddset(&end.sa_mask, SIGTERM);
    BB_REQUIRE(sigaction(SIGINT, &end, NULL) == 0 && sigaction(SIGTERM, &end, NULL) == 0 &&
                   sigaction(SIGXFSZ, &ignore, NULL) == 0,
               BB_INTERNAL, "cannot install signal handlers: %s", strerror(errno));
done:
    return status;
}

void bb_interrupt_defer(bool defer)
{
    noted = 0;
    deferred = defer;
}

void bb_interrupt_deliver(void)
{
    const int number = noted;
    bb_interrupt_defer(false);
    if (number != 0) {
        (void)raise(number);
    }
}

bool bb_interrupt_noted(void)
{
    return noted != 0;
}
