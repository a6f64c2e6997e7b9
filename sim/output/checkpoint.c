// SPDX-License-Identifier: Apache-2.0
#include "sim/output/checkpoint.h"

#include "core/clock.h"
#include "core/team.h"
#include "sim/config/difference.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static const char KIND[] = "checkpoint";

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
    bb_store_close(&restart->resumed);
    bb_text_release(&restart->subject);
}

bool bb_restart_is_due(const bb_restart *restart, bool now)
{
    if (bb_team_joined()->rank > 0) {
        return false; // only the first process writes
    }
    if (restart == NULL || restart->checkpoint == NULL) {
        return false;
    }
    const double wait = fmax(restart->every_s, 9.0 * restart->cost);
    return now || restart->always || bb_clock_seconds() - restart->last >= wait;
}

bb_status bb_restart_write(bb_restart *restart, const bb_store_piece *pieces, bb_index count)
{
    bb_status status = BB_OK;
    const double begin = bb_clock_seconds();
    BB_TRY(bb_store_write(restart->checkpoint, KIND, bb_text_string(&restart->subject), pieces,
                          count));
    restart->last = bb_clock_seconds();
    restart->cost = restart->last - begin;
done:
    return status;
}

// Checks that a checkpoint has this study's subject; else reports the differing groups. Different
// experiments have almost no keys in common.
static bb_status check_subject(const char *path, const char *there, const char *subject)
{
    static const char key[] = "experiment: ";
    bb_status status = BB_OK;
    bb_text difference = {0};
    const int skip = (int)sizeof key - 1;
    const int length = (int)strcspn(there, "\n");
    const int expected = (int)strcspn(subject, "\n");
    const bool named =
        strncmp(there, key, sizeof key - 1) == 0 && strncmp(subject, key, sizeof key - 1) == 0;
    const bool same = length == expected && strncmp(there, subject, (size_t)length) == 0;
    BB_REQUIRE(same || !named, BB_INVALID,
               "checkpoint '%s' belongs to experiment %.*s, but the study is %.*s", path,
               length - skip, there + skip, expected - skip, subject + skip);
    BB_TRY(bb_difference_write(there, subject, &difference));
    BB_REQUIRE(strcmp(there, subject) == 0, BB_INVALID,
               "checkpoint '%s' belongs to another configuration: %s", path,
               bb_text_string(&difference));
done:
    bb_text_release(&difference);
    return status;
}

bb_status bb_checkpoint_open(const char *path, const char *subject, bb_store **out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_store_open(path, KIND, out));
    BB_TRY(check_subject(path, bb_store_key(*out), subject));
done:
    if (status != BB_OK) {
        bb_store_close(out);
    }
    return status;
}
