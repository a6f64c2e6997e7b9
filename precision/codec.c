// SPDX-License-Identifier: Apache-2.0
#include "precision/codec.h"

#include "precision/codec_ops.h"

#include <math.h>
#include <stdio.h>

const char *const bb_row_scale_names[] = {"none", "row", NULL};
const char *const bb_codec_names[] = {"fp64",     "fp32",      "tf32", "bf16",      "fp16",
                                      "e4m3",     "e5m2",      "bfp",  "quantiser", "zfp",
                                      "low_rank", "transform", NULL};
const char *const bb_zfp_mode_names[] = {"rate", "precision", "accuracy", "reversible", NULL};
const char *const bb_rounding_names[] = {"nearest", "diffused", NULL};

static const bb_codec_ops *const table[BB_CODEC_COUNT] = {
    [BB_FORMAT_FP64] = &bb_plain_ops,         [BB_FORMAT_FP32] = &bb_plain_ops,
    [BB_FORMAT_TF32] = &bb_plain_ops,         [BB_FORMAT_BF16] = &bb_plain_ops,
    [BB_FORMAT_FP16] = &bb_plain_ops,         [BB_FORMAT_E4M3] = &bb_plain_ops,
    [BB_FORMAT_E5M2] = &bb_plain_ops,         [BB_CODEC_BFP] = &bb_bfp_ops,
    [BB_CODEC_QUANTISER] = &bb_quantiser_ops, [BB_CODEC_ZFP] = &bb_zfp_ops,
    [BB_CODEC_LOW_RANK] = &bb_low_rank_ops,   [BB_CODEC_TRANSFORM] = &bb_transform_ops,
};

// clang-format off
static const bb_key keys[] = {
    {.name = "codec", .kind = BB_KEY_CHOICE, .offset = offsetof(bb_codec_config, codec),
     .choices = bb_codec_names, .meaning = "How the operator's values are stored."},
    {.name = "bits", .kind = BB_KEY_DOUBLE, .unit = "1", .offset = offsetof(bb_codec_config, bits),
     .minimum = 0.0, .maximum = 32.0, .exclusive_minimum = true, .optional = true,
     .meaning = "bfp: of a value, 4 to 16. zfp: of a value (rate), planes (precision). low_rank: 16 or 32."},
    {.name = "block", .kind = BB_KEY_INTEGER, .unit = "1",
     .offset = offsetof(bb_codec_config, block), .minimum = 32.0, .maximum = 32.0, .optional = true,
     .meaning = "bfp, quantiser: values that share an exponent or a width; 32 where not given."},
    {.name = "mode", .kind = BB_KEY_CHOICE, .offset = offsetof(bb_codec_config, mode),
     .choices = bb_zfp_mode_names, .optional = true, .meaning = "zfp: what is held constant."},
    {.name = "tolerance", .kind = BB_KEY_DOUBLE, .unit = "unit of the values",
     .offset = offsetof(bb_codec_config, tolerance), .minimum = 0.0, .maximum = 1e30,
     .exclusive_minimum = true, .optional = true,
     .meaning = "quantiser, zfp accuracy: largest error of a value. low_rank, transform: rms of a tile or block."},
    {.name = "tolerance_of_range", .kind = BB_KEY_DOUBLE, .unit = "1",
     .offset = offsetof(bb_codec_config, tolerance_of_range), .minimum = 0.0, .maximum = 1.0,
     .exclusive_minimum = true, .optional = true,
     .meaning = "The same as a part of the matrix's range, maximum - minimum (wafer: of a field)."},
    {.name = "dimensions", .kind = BB_KEY_INTEGER, .unit = "1",
     .offset = offsetof(bb_codec_config, dimensions), .minimum = 1.0, .maximum = 4.0,
     .optional = true,
     .meaning = "zfp: 1 row, 2 its mesh, 3 mesh by line of rows, 4 by lines; 2 where not given."},
    {.name = "band_lines", .kind = BB_KEY_INTEGER, .unit = "1",
     .offset = offsetof(bb_codec_config, band_lines), .minimum = 1.0, .maximum = 16.0,
     .optional = true,
     .meaning = "Lines of the row grid that share tiles; low_rank 12, transform 9 where not given."},
    {.name = "band_columns", .kind = BB_KEY_INTEGER, .unit = "1",
     .offset = offsetof(bb_codec_config, band_columns), .minimum = 1.0, .maximum = 16.0,
     .optional = true,
     .meaning = "transform: columns of the row grid that share a block; 7 where not given."},
    {.name = "tile_columns", .kind = BB_KEY_INTEGER, .unit = "1",
     .offset = offsetof(bb_codec_config, tile_columns), .minimum = 1.0, .maximum = 1024.0,
     .optional = true, .meaning = "Mesh columns of a tile; low_rank 32, transform 8 where not given."},
    {.name = "tile_rows", .kind = BB_KEY_INTEGER, .unit = "1",
     .offset = offsetof(bb_codec_config, tile_rows), .minimum = 1.0, .maximum = 1024.0,
     .optional = true, .meaning = "Mesh rows of a tile; low_rank 20, transform 10 where not given."},
    {.name = "rounding", .kind = BB_KEY_CHOICE, .offset = offsetof(bb_codec_config, rounding),
     .choices = bb_rounding_names, .optional = true,
     .meaning = "fp16, bf16, e4m3, e5m2, bfp: nearest where not given; diffused: errors go to neighbours."},
};
// clang-format on
const bb_schema bb_codec_schema = BB_SCHEMA("storage", bb_codec_config, keys);

const bb_codec_ops *bb_codec_ops_of(int codec)
{
    return table[codec];
}

bb_codec_config bb_codec_plain(bb_format format)
{
    return (bb_codec_config){.codec = (int)format,
                             .bits = NAN,
                             .block = BB_INTEGER_UNSET,
                             .mode = -1,
                             .tolerance = NAN,
                             .tolerance_of_range = NAN,
                             .dimensions = BB_INTEGER_UNSET,
                             .band_lines = BB_INTEGER_UNSET,
                             .band_columns = BB_INTEGER_UNSET,
                             .tile_columns = BB_INTEGER_UNSET,
                             .tile_rows = BB_INTEGER_UNSET,
                             .rounding = -1};
}

// The keys after `codec`: which are given, and which family knows them.
static bool knows_keys(const bb_codec_config *config, char *sentence, size_t bytes)
{
    bool zfp = config->codec == (int)BB_CODEC_ZFP;
    bool bfp = config->codec == (int)BB_CODEC_BFP;
    bool quantiser = config->codec == (int)BB_CODEC_QUANTISER;
    bool low_rank = config->codec == (int)BB_CODEC_LOW_RANK;
    bool transform = config->codec == (int)BB_CODEC_TRANSFORM;
    bool tolerant = zfp || quantiser || low_rank || transform;
    bool tiled = low_rank || transform;
    bool narrow = config->codec >= (int)BB_FORMAT_BF16 && config->codec <= (int)BB_CODEC_BFP;
    const struct {
        const char *name;
        bool given, known;
    } rows[] = {
        {"bits",               !isnan(config->bits),                     zfp || bfp || low_rank},
        {"block",              config->block != BB_INTEGER_UNSET,        bfp || quantiser      },
        {"mode",               config->mode != -1,                       zfp                   },
        {"tolerance",          !isnan(config->tolerance),                tolerant              },
        {"tolerance_of_range", !isnan(config->tolerance_of_range),       tolerant              },
        {"dimensions",         config->dimensions != BB_INTEGER_UNSET,   zfp                   },
        {"band_lines",         config->band_lines != BB_INTEGER_UNSET,   tiled                 },
        {"band_columns",       config->band_columns != BB_INTEGER_UNSET, transform             },
        {"tile_columns",       config->tile_columns != BB_INTEGER_UNSET, tiled                 },
        {"tile_rows",          config->tile_rows != BB_INTEGER_UNSET,    tiled                 },
        {"rounding",           config->rounding != -1,                   narrow                },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        if (rows[i].given && !rows[i].known) {
            (void)snprintf(sentence, bytes, "%s: codec %s does not take it", rows[i].name,
                           bb_codec_names[config->codec]);
            return false;
        }
    }
    return true;
}

bool bb_codec_check(const bb_codec_config *config, bb_row_scale scale, char *sentence,
                    size_t sentence_bytes)
{
    if (config->codec < 0 || config->codec >= (int)BB_CODEC_COUNT) {
        (void)snprintf(sentence, sentence_bytes, "codec: number %d, expected 0 to %d",
                       config->codec, (int)BB_CODEC_COUNT - 1);
        return false;
    }
    if (!knows_keys(config, sentence, sentence_bytes)) {
        return false;
    }
    if (config->block != BB_INTEGER_UNSET && config->block != 32) {
        (void)snprintf(sentence, sentence_bytes, "block: %td, expected 32", config->block);
        return false;
    }
    if (scale == BB_ROW_SCALE_ROW && config->codec >= (int)BB_CODEC_QUANTISER) {
        (void)snprintf(sentence, sentence_bytes,
                       "codec: %s with scale: row; its steps and streams belong to values as they "
                       "are, expected scale: none",
                       bb_codec_names[config->codec]);
        return false;
    }
    return table[config->codec]->check(config, sentence, sentence_bytes);
}

void bb_codec_describe(const bb_codec_config *config, char *out, size_t out_bytes)
{
    table[config->codec]->describe(config, out, out_bytes);
}

const char *bb_codec_rounding(const bb_codec_config *config)
{
    return table[config->codec]->rounding(config);
}

double bb_codec_bound(const bb_codec_config *config, double tolerance, double magnitude,
                      double block_magnitude)
{
    return table[config->codec]->bound(config, tolerance, magnitude, block_magnitude);
}

double bb_codec_bits_per_value(const bb_codec_config *config)
{
    return table[config->codec]->bits_per_value(config);
}

double bb_codec_draw_limit(const bb_codec_config *config)
{
    return table[config->codec]->draw_limit(config);
}

double bb_codec_draw_octave(const bb_codec_config *config)
{
    (void)config;
    return 2.0;
}

double bb_codec_draw_tolerance(const bb_codec_config *config)
{
    (void)config;
    return 1.0 / 0.97;
}

bool bb_codec_diffuses(const bb_codec_config *config)
{
    return config->rounding == (int)BB_ROUNDING_DIFFUSED;
}

double bb_codec_fp32_rounding(double magnitude)
{
    return fmax(0x1p-24 * magnitude, 0x1p-150);
}

static bool fits(bb_codec_tolerances allowed, double tolerance)
{
    return tolerance >= ldexp(1.0, allowed.lowest) && tolerance <= ldexp(1.0, allowed.highest);
}

bool bb_codec_check_tolerance(const bb_codec_config *config, char *sentence, size_t bytes)
{
    const bb_codec_tolerances allowed = table[config->codec]->tolerances;
    bool absolute = !isnan(config->tolerance);
    bool relative = !isnan(config->tolerance_of_range);
    if (absolute == relative) {
        (void)snprintf(sentence, bytes, "%s: expected exactly one of tolerance, tolerance_of_range",
                       absolute ? "tolerance_of_range" : "tolerance");
        return false;
    }
    double value = absolute ? config->tolerance : config->tolerance_of_range;
    if (!(value > 0.0 && isfinite(value))) {
        (void)snprintf(sentence, bytes, "%s: %g, expected a positive number",
                       absolute ? "tolerance" : "tolerance_of_range", value);
        return false;
    }
    if (absolute && !fits(allowed, value)) {
        (void)snprintf(sentence, bytes, "tolerance: %g, expected 2^%d to 2^%d", value,
                       allowed.lowest, allowed.highest);
        return false;
    }
    return true;
}

bool bb_codec_holds(const bb_codec_config *config, double range, bb_outcome *outcome)
{
    const double wanted = config->tolerance_of_range * range;
    const bb_codec_tolerances allowed = table[config->codec]->tolerances;
    if (isnan(config->tolerance_of_range) || fits(allowed, wanted)) {
        return true;
    }
    const double least = ldexp(1.0, allowed.lowest);
    const double largest = ldexp(1.0, allowed.highest);
    bb_outcome_set(outcome, BB_OUTCOME_NOT_HELD,
                   "tolerance_of_range %g of a matrix of range %g is a tolerance of %g: %s holds "
                   "%.4g to %.4g, the nearest is %.4g",
                   config->tolerance_of_range, range, wanted, bb_codec_names[config->codec], least,
                   largest, wanted > largest ? largest : least);
    return false;
}

void bb_codec_describe_tolerance(const bb_codec_config *config, char *out, size_t bytes)
{
    if (!isnan(config->tolerance)) {
        (void)snprintf(out, bytes, "%.3g", config->tolerance);
    } else {
        (void)snprintf(out, bytes, "%.3g of range", config->tolerance_of_range);
    }
}
