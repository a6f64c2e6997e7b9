// SPDX-License-Identifier: Apache-2.0
#include "sim/restart.h"

#include "core/clock.h"
#include "core/team.h"

#include <math.h>

bb_status bb_restart_open(const bb_run_options *options, double usual_s, bb_text *subject,
                          bb_restart *out)
{
    bb_status status = BB_OK;
    const double every_s = options->checkpoint_every_s;
    *out = (bb_restart){.checkpoint = options->checkpoint,
                        .every_s = isnan(every_s) ? usual_s : every_s,
                        .always = every_s == 0.0,
                        .last = bb_clock_seconds(),
                        .subject = *subject};
    *subject = (bb_text){0};
    if (options->resume != NULL) {
        BB_TRY(bb_checkpoint_open(options->resume, bb_text_string(&out->subject), &out->resumed));
    }
done:
    return status;
}

void bb_restart_release(bb_restart *restart)
{
    bb_checkpoint_close(&restart->resumed);
    bb_text_release(&restart->subject);
}

bool bb_restart_is_due(const bb_restart *restart, bool now)
{
    if (bb_team_joined()->rank > 0) {
        return false; // the first process writes
    }
    if (restart == NULL || restart->checkpoint == NULL) {
        return false;
    }
    const double wait = fmax(restart->every_s, 9.0 * restart->cost);
    return now || restart->always || bb_clock_seconds() - restart->last >= wait;
}

bb_status bb_restart_write(bb_restart *restart, const bb_checkpoint_piece *pieces, bb_index count)
{
    bb_status status = BB_OK;
    const double begin = bb_clock_seconds();
    BB_TRY(
        bb_checkpoint_write(restart->checkpoint, bb_text_string(&restart->subject), pieces, count));
    restart->last = bb_clock_seconds();
    restart->cost = restart->last - begin;
done:
    return status;
}
