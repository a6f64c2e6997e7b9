// SPDX-License-Identifier: Apache-2.0
#include "precision/codec_ladder.h"

#include "precision/codec_row.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PER_DECADE = 8, FINER = 8, TEXT_BYTES = 96, SENTENCE_BYTES = 240 };

const bb_codec_ladder *bb_codec_ladder_of(const bb_codec_config *storage, int index)
{
    const bb_codec_row *row = bb_codec_row_of(storage);
    return index < BB_CODEC_LADDERS && row->ladders[index].key != NULL ? &row->ladders[index]
                                                                       : NULL;
}

static bool is_of_tolerances(const bb_codec_ladder *ladder)
{
    return strcmp(ladder->key, "tolerance_of_range") == 0;
}

bb_codec_ladder bb_codec_ladder_refine(const bb_codec_ladder *ladder)
{
    bb_codec_ladder out = *ladder;
    if (is_of_tolerances(ladder) && !ladder->is_fine) {
        out.is_fine = true;
        out.steps = (ladder->steps - 1) * FINER + 1;
    }
    return out;
}

double bb_codec_ladder_bit(const bb_codec_ladder *ladder)
{
    return is_of_tolerances(ladder) ? PER_DECADE * log10(2.0) * (ladder->is_fine ? FINER : 1) : 1.0;
}

// Writes the key's value in the notation of a configuration file.
static void write_value(const bb_codec_ladder *ladder, int step, char *out, size_t bytes)
{
    static const char *const digits[PER_DECADE] = {"1.0", "7.5", "5.6", "4.2",
                                                   "3.2", "2.4", "1.8", "1.3"};
    if (ladder->is_fine) {
        (void)snprintf(out, bytes, "%.2e", 0.1 * pow(10.0, -step / (double)(FINER * PER_DECADE)));
    } else if (is_of_tolerances(ladder)) {
        const int decade = 1 + (step + PER_DECADE - 1) / PER_DECADE;
        (void)snprintf(out, bytes, "%se-%d", digits[step % PER_DECADE], decade);
    } else {
        (void)snprintf(out, bytes, "%d", ladder->first + step);
    }
}

bb_codec_config bb_codec_ladder_storage(const bb_codec_ladder *ladder,
                                        const bb_codec_config *storage, int step)
{
    char value[16];
    char text[TEXT_BYTES];
    bb_codec_config out = *storage;
    bb_codec_config added;
    write_value(ladder, step, value, sizeof value);
    (void)snprintf(text, sizeof text, "%s %s %s=%s", bb_codec_name(storage->codec), ladder->others,
                   ladder->key, value);
    if (bb_codec_read(text, &added)) {
        bb_codec_complete(&out, &added);
    }
    return out;
}

int bb_codec_ladder_first(const bb_codec_ladder *ladder, const bb_codec_config *storage,
                          bb_row_scale scale)
{
    char sentence[SENTENCE_BYTES];
    int step = bb_codec_has_key(storage, ladder->key) ? ladder->steps : 0;
    for (; step < ladder->steps; ++step) {
        const bb_codec_config config = bb_codec_ladder_storage(ladder, storage, step);
        if (bb_codec_check(&config, scale, sentence, sizeof sentence)) {
            break;
        }
    }
    return step;
}
