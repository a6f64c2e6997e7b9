// SPDX-License-Identifier: Apache-2.0
//
// Every row of the codec table with its keys, as accepted by its own check and the schema: new
// codecs are covered automatically.
#ifndef BB_TESTS_PRECISION_CODEC_ROWS_H
#define BB_TESTS_PRECISION_CODEC_ROWS_H

#include "precision/codec.h"
#include "tests/check.h"

enum { CODEC_ROWS_MOST = 1024 };

/// Number of values tried for a key.
typedef struct codec_rows_width {
    bool brief;    ///< one number each, all words
    bool of_range; ///< tolerances relative to the range
} codec_rows_width;

typedef struct codec_rows {
    codec_rows_width width;
    bb_codec_config configs[CODEC_ROWS_MOST];
    int count;
} codec_rows;

// Numbers to try for a key; returns their number.
static inline int codec_rows_numbers(const bb_key *key, codec_rows_width width, double out[24])
{
    static const double tolerances[] = {1e-3, 1e-12, 1e-25};
    int count = 0;
    if (strcmp(key->name, "tolerance") == 0) {
        for (; !width.of_range && count < (width.brief ? 1 : 3); ++count) {
            out[count] = tolerances[count];
        }
    } else if (strcmp(key->name, "tolerance_of_range") == 0) {
        out[count] = 1e-3;
        count += width.of_range;
    } else if (strcmp(key->name, "bits") == 0) {
        out[count++] = 8.0;
        for (int bits = 2; !width.brief && bits <= 17; ++bits) {
            out[count] = bits;
            count += bits != 8;
        }
        out[count] = 2.7;
        count += !width.brief;
    } else if (key->maximum - key->minimum <= 4.0) {
        for (; key->minimum + count <= key->maximum; ++count) {
            out[count] = key->minimum + count;
        }
    } else if (key->maximum <= 32.0 && key->offset >= offsetof(bb_codec_config, own)) {
        out[count++] = floor(0.5 * (key->minimum + key->maximum));
        out[count] = key->minimum;
        out[count + 1] = key->maximum;
        count += width.brief ? 0 : 2;
    }
    return count;
}

// Keys from number `k` on; the previous ones are set.
static inline void codec_rows_decide(codec_rows *rows, bb_codec_config *config, bb_index k)
{
    char sentence[256] = "";
    double numbers[24];
    bool valid = bb_codec_check(config, BB_ROW_SCALE_NONE, sentence, sizeof sentence);
    if ((strstr(sentence, "not a parameter of codec") != NULL &&
         strstr(sentence, " mode ") == NULL) ||
        strstr(sentence, ", codec ") != NULL) { // a key or a word of another codec
        return;
    }
    if (k == bb_codec_schema.key_count) {
        assert_true(rows->count < CODEC_ROWS_MOST);
        rows->configs[rows->count] = *config;
        rows->count += valid;
        return;
    }
    const bb_key *key = &bb_codec_schema.keys[k];
    codec_rows_decide(rows, config, k + 1);
    bb_codec_config given = *config;
    void *member = (char *)&given + key->offset;
    for (int w = 0; key->kind == BB_KEY_CHOICE && key->choices[w] != NULL; ++w) {
        *(int *)member = w;
        codec_rows_decide(rows, &given, k + 1);
    }
    int count = key->kind == BB_KEY_CHOICE ? 0 : codec_rows_numbers(key, rows->width, numbers);
    for (int i = 0; i < count; ++i) {
        if (key->kind == BB_KEY_DOUBLE) {
            *(double *)member = numbers[i];
        } else {
            *(bb_index *)member = (bb_index)numbers[i];
        }
        codec_rows_decide(rows, &given, k + 1);
    }
}

/// Adds the configurations accepted by the check of codec number `codec`, at least one.
static inline void codec_rows_add(codec_rows *rows, int codec)
{
    int before = rows->count;
    bb_codec_config config = bb_codec_plain(BB_FORMAT_FP64);
    config.codec = codec;
    codec_rows_decide(rows, &config, 1);
    if (rows->count == before) {
        print_error("codec %s: no configuration found\n", bb_codec_name(codec));
        fail();
    }
}

static inline void codec_rows_list(codec_rows *rows)
{
    for (int codec = 0; codec < bb_codec_count(); ++codec) {
        codec_rows_add(rows, codec);
    }
}

/// A configuration as in a study, "{codec: bfp, bits: 8}".
static inline void codec_rows_write(const bb_codec_config *config, char *out, size_t bytes)
{
    size_t length = (size_t)snprintf(out, bytes, "{codec: %s", bb_codec_name(config->codec));
    for (bb_index k = 1; k < bb_codec_schema.key_count; ++k) {
        const bb_key *key = &bb_codec_schema.keys[k];
        const void *member = (const char *)config + key->offset;
        assert_true(length < bytes);
        if (key->kind == BB_KEY_CHOICE && *(const int *)member >= 0) {
            length += (size_t)snprintf(out + length, bytes - length, ", %s: %s", key->name,
                                       key->choices[*(const int *)member]);
        } else if (key->kind == BB_KEY_DOUBLE && !isnan(*(const double *)member)) {
            length += (size_t)snprintf(out + length, bytes - length, ", %s: %.17g", key->name,
                                       *(const double *)member);
        } else if (key->kind == BB_KEY_INTEGER && *(const bb_index *)member != BB_INTEGER_UNSET) {
            length += (size_t)snprintf(out + length, bytes - length, ", %s: %td", key->name,
                                       *(const bb_index *)member);
        }
    }
    assert_true(length + 2 <= bytes);
    (void)snprintf(out + length, bytes - length, "}");
}

#endif
