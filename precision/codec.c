// SPDX-License-Identifier: Apache-2.0
#include "precision/codec.h"

#include "precision/codec_row.h"
#include "precision/codecs/plane_core.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW_ADDRESS(row) &(row),
static const bb_codec_row *const rows[] = {BB_CODEC_ROWS(ROW_ADDRESS)};

enum { ROWS = sizeof rows / sizeof rows[0], WORDS = 12, MEANING_BYTES = 240 };

const char *const bb_row_scale_names[] = {"none", "row", NULL};
static const char *const rounding_words[] = {"nearest", "diffused", "sweep", NULL};
static const char *const column_words[] = {"nearest", "sweep", NULL};
static const char *names[ROWS + 1];

// Keys shared by several codecs; `shared_keys` of a row lists those it supports.
// clang-format off
static const bb_key shared[] = {
    {.name = "codec", .kind = BB_KEY_CHOICE, .offset = offsetof(bb_codec_config, codec),
     .choices = names, .meaning = "How the operator's values are stored."},
    {.name = "bits", .kind = BB_KEY_DOUBLE, .unit = "1", .offset = offsetof(bb_codec_config, bits),
     .minimum = 0.0, .maximum = 32.0, .exclusive_minimum = true, .optional = true,
     .meaning = "bfp: 4 to 16, integer: 2 to 16. zfp: of a value (rate), planes (precision). low_rank: 16, 32."},
    {.name = "block", .kind = BB_KEY_INTEGER, .unit = "1",
     .offset = offsetof(bb_codec_config, block), .minimum = 32.0, .maximum = 32.0, .optional = true,
     .meaning = "bfp, quantiser: values that share an exponent or a width; 32 where not given."},
    {.name = "tolerance", .kind = BB_KEY_DOUBLE, .unit = "unit of the values",
     .offset = offsetof(bb_codec_config, tolerance), .minimum = 0.0, .maximum = 1e30,
     .exclusive_minimum = true, .optional = true, .replaces = {"tolerance_of_range"},
     .meaning = "quantiser, zfp accuracy: largest error of a value. low_rank, transform: rms of a tile or block."},
    {.name = "tolerance_of_range", .kind = BB_KEY_DOUBLE, .unit = "1",
     .offset = offsetof(bb_codec_config, tolerance_of_range), .minimum = 0.0, .maximum = 1.0,
     .exclusive_minimum = true, .optional = true, .replaces = {"tolerance"},
     .meaning = "The same as a part of the range, maximum - minimum, of the matrix or block that is coded."},
    {.name = "band_lines", .kind = BB_KEY_INTEGER, .unit = "1",
     .offset = offsetof(bb_codec_config, band_lines), .minimum = 1.0, .maximum = 16.0,
     .optional = true,
     .meaning = "Lines of the row grid that share tiles; low_rank 12, transform 9 where not given."},
    {.name = "tile_columns", .kind = BB_KEY_INTEGER, .unit = "1",
     .offset = offsetof(bb_codec_config, tile_columns), .minimum = 1.0, .maximum = 1024.0,
     .optional = true, .meaning = "Mesh columns of a tile; low_rank 32, transform 8 where not given."},
    {.name = "tile_rows", .kind = BB_KEY_INTEGER, .unit = "1",
     .offset = offsetof(bb_codec_config, tile_rows), .minimum = 1.0, .maximum = 1024.0,
     .optional = true, .meaning = "Mesh rows of a tile; low_rank 20, transform 10 where not given."},
    {.name = "rounding", .kind = BB_KEY_CHOICE, .offset = offsetof(bb_codec_config, rounding),
     .choices = rounding_words, .optional = true,
     .meaning = "nearest where not given. fp16, bf16, e4m3, e5m2, bfp: diffused, errors go to neighbours. sweep: of reconstructors, to columns that are solved next."},
};
// clang-format on
enum { SHARED = sizeof shared / sizeof shared[0], KEYS = SHARED + BB_CODEC_SLOTS };

// For codecs that apply `rounding` to columns only.
static const bb_key column_rounding = {.name = "rounding", .choices = column_words};

static bb_key keys[KEYS];
static const char *words[KEYS][WORDS + 1]; // of keys extended by rows
static char meanings[KEYS][MEANING_BYTES]; // of the same keys
static bb_index first_slot[ROWS];
bb_schema bb_codec_schema = {.name = "storage", .bytes = sizeof(bb_codec_config), .keys = keys};

static bb_key *find_key(const char *name)
{
    for (bb_index k = 0; k < bb_codec_schema.key_count; ++k) {
        if (strcmp(keys[k].name, name) == 0) {
            return &keys[k];
        }
    }
    return NULL;
}

static bb_index find_word(const char *const *list, const char *word)
{
    bb_index place = 0;
    while (list[place] != NULL && strcmp(list[place], word) != 0) {
        ++place;
    }
    return place;
}

// Runs before main: a key without a place is an error of the codec's author.
static void require(bool holds, const bb_codec_row *row, const bb_key *key, const char *problem)
{
    if (!holds) {
        (void)fprintf(stderr, "codec %s, key %s: %s\n", row->name, key->name, problem);
        abort();
    }
}

// Extends a key's words and meaning by those of a row's key of the same name.
static void add_words(const bb_codec_row *row, const bb_key *more, bb_key *key)
{
    char meaning[MEANING_BYTES];
    const char **list = words[key - keys];
    require(more->choices != NULL && key->choices != NULL && more->offset == key->offset &&
                more->offset < BB_CODEC_SLOT(0),
            row, more,
            "another codec has a key of this name; move the key to the shared ones of codec.c");
    require(snprintf(meaning, sizeof meaning, "%s %s", key->meaning, more->meaning) < MEANING_BYTES,
            row, more, "the joined meaning is too long; raise MEANING_BYTES of codec.c");
    key->meaning = memcpy(meanings[key - keys], meaning, sizeof meaning);
    const char *const *const sources[] = {key->choices, more->choices};
    for (int i = 0; i < 2; ++i) {
        for (const char *const *word = sources[i]; *word != NULL; ++word) {
            const bb_index place = find_word(list, *word);
            require(place < WORDS, row, more, "too many words; raise WORDS of codec.c");
            list[place] = *word;
        }
    }
    key->choices = list;
}

__attribute__((constructor)) static void put_together(void)
{
    bb_index slots = 0;
    memcpy(keys, shared, sizeof shared);
    bb_codec_schema.key_count = SHARED;
    for (int r = 0; r < (int)ROWS; ++r) {
        const bb_codec_row *row = rows[r];
        names[r] = row->name;
        first_slot[r] = slots;
        for (bb_index k = 0; k < row->key_count; ++k) {
            const bb_key *more = &row->keys[k];
            const bool own = more->offset >= offsetof(bb_codec_config, own);
            bb_key *present = find_key(more->name);
            if (present != NULL) {
                add_words(row, more, present);
                continue;
            }
            require(slots + own <= BB_CODEC_SLOTS && bb_codec_schema.key_count < KEYS, row, more,
                    "too many keys; raise BB_CODEC_SLOTS");
            bb_key *key = &keys[bb_codec_schema.key_count++];
            *key = *more;
            key->offset += own ? (size_t)first_slot[r] * sizeof(bb_codec_slot) : 0;
            slots += own;
        }
    }
}

int bb_codec_count(void)
{
    return ROWS;
}

const char *bb_codec_name(int codec)
{
    return rows[codec]->name;
}

int bb_codec_find(const char *name)
{
    bb_index place = find_word(names, name);
    return place < ROWS ? (int)place : -1;
}

const bb_codec_row *bb_codec_row_of(const bb_codec_config *config)
{
    return rows[config->codec];
}

const bb_codec_slot *bb_codec_own(const bb_codec_config *config)
{
    return config->own + first_slot[config->codec];
}

int bb_codec_own_word(const bb_key *key, int choice)
{
    if (choice < 0) {
        return -1;
    }
    bb_index place = find_word(key->choices, find_key(key->name)->choices[choice]);
    return key->choices[place] == NULL ? -1 : (int)place;
}

static void unset(const bb_key *key, bb_codec_config *config)
{
    void *member = (char *)config + key->offset;
    if (key->kind == BB_KEY_DOUBLE) {
        *(double *)member = NAN;
    } else if (key->kind == BB_KEY_INTEGER) {
        *(bb_index *)member = BB_INTEGER_UNSET;
    } else {
        *(int *)member = -1;
    }
}

static bool is_given(const bb_key *key, const bb_codec_config *config)
{
    const void *member = (const char *)config + key->offset;
    return key->kind == BB_KEY_DOUBLE    ? !isnan(*(const double *)member)
           : key->kind == BB_KEY_INTEGER ? *(const bb_index *)member != BB_INTEGER_UNSET
                                         : *(const int *)member != -1;
}

bb_codec_config bb_codec_plain(bb_format format)
{
    bb_codec_config config = {0};
    for (bb_index k = 0; k < bb_codec_schema.key_count; ++k) {
        unset(&keys[k], &config);
    }
    config.codec = (int)format;
    return config;
}

bool bb_codec_has_key(const bb_codec_config *config, const char *key)
{
    return is_given(find_key(key), config);
}

void bb_codec_complete(bb_codec_config *config, const bb_codec_config *more)
{
    for (bb_index k = 1; k < bb_codec_schema.key_count; ++k) {
        const bb_key *key = &keys[k];
        const size_t bytes = key->kind == BB_KEY_DOUBLE    ? sizeof(double)
                             : key->kind == BB_KEY_INTEGER ? sizeof(bb_index)
                                                           : sizeof(int);
        if (!is_given(key, config)) {
            memcpy((char *)config + key->offset, (const char *)more + key->offset, bytes);
        }
    }
}

// Reads one key, "mode=rate".
static bool read_pair(char *pair, bb_codec_config *out)
{
    char *value = strchr(pair, '=');
    char *end = NULL;
    if (value == NULL) {
        return false;
    }
    *value++ = '\0';
    const bb_key *key = find_key(pair);
    if (key == NULL || key == keys) {
        return false;
    }
    void *member = (char *)out + key->offset;
    if (key->kind == BB_KEY_CHOICE) {
        bb_index place = find_word(key->choices, value);
        *(int *)member = (int)place;
        return key->choices[place] != NULL;
    }
    double number = strtod(value, &end);
    if (key->kind == BB_KEY_DOUBLE) {
        *(double *)member = number;
    } else {
        *(bb_index *)member = (bb_index)number;
    }
    return end != value && *end == '\0';
}

bool bb_codec_read(const char *text, bb_codec_config *out)
{
    char copy[160];
    char *rest = NULL;
    *out = bb_codec_plain(BB_FORMAT_FP64);
    if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy) {
        return false;
    }
    const char *name = strtok_r(copy, " ", &rest);
    out->codec = name == NULL ? -1 : bb_codec_find(name);
    bool known = out->codec >= 0;
    for (char *pair = strtok_r(NULL, " ", &rest); known && pair != NULL;
         pair = strtok_r(NULL, " ", &rest)) {
        known = read_pair(pair, out);
    }
    return known;
}

// Finds the row's own key of a name, NULL if there is none.
static const bb_key *own_key(const bb_codec_row *row, const char *name)
{
    for (bb_index k = 0; k < row->key_count; ++k) {
        if (strcmp(row->keys[k].name, name) == 0) {
            return &row->keys[k];
        }
    }
    return NULL;
}

static bool accepts_word(const bb_key *own, const bb_key *key, const bb_codec_config *config,
                         const bb_codec_row *row, char *sentence, size_t bytes)
{
    const int choice = *(const int *)(const void *)((const char *)config + key->offset);
    int length = 0;
    if (bb_codec_own_word(own, choice) >= 0) {
        return true;
    }
    length = snprintf(sentence, bytes, "%s: %s, codec %s accepts", key->name, key->choices[choice],
                      row->name);
    for (bb_index w = 0; own->choices[w] != NULL && length < (int)bytes; ++w) {
        length += snprintf(sentence + length, bytes - (size_t)length, "%s %s", w == 0 ? "" : ",",
                           own->choices[w]);
    }
    return false;
}

static bool has_shared_key(const bb_codec_row *row, const char *name)
{
    bb_index t = 0;
    while (row->shared_keys != NULL && row->shared_keys[t] != NULL &&
           strcmp(row->shared_keys[t], name) != 0) {
        ++t;
    }
    return row->shared_keys != NULL && row->shared_keys[t] != NULL;
}

// Checks the keys after `codec`: each given key and its word must be supported by the codec.
static bool check_keys(const bb_codec_config *config, char *sentence, size_t bytes)
{
    const bb_codec_row *row = rows[config->codec];
    for (bb_index k = 1; k < bb_codec_schema.key_count; ++k) {
        const bb_key *key = &keys[k];
        const bb_key *own = own_key(row, key->name);
        bool supported = own != NULL;
        if (!supported && has_shared_key(row, key->name)) {
            supported = true;
            own = key->kind == BB_KEY_CHOICE ? &shared[k] : NULL;
        }
        if (!supported && row->ops->round != NULL && strcmp(key->name, "rounding") == 0) {
            supported = true;
            own = &column_rounding;
        }
        if (!is_given(key, config)) {
            continue;
        }
        if (!supported) {
            (void)snprintf(sentence, bytes, "%s: not a parameter of codec %s%s", key->name,
                           row->name,
                           strcmp(key->name, "rounding") == 0 && bb_codec_sweeps(config)
                               ? ", as it cannot round columns one by one"
                               : "");
            return false;
        }
        if (key->kind == BB_KEY_CHOICE && !accepts_word(own, key, config, row, sentence, bytes)) {
            return false;
        }
    }
    return true;
}

static bool has_bits(const bb_codec_config *config, const bb_codec_row *row, char *sentence,
                     size_t bytes)
{
    const double bits = config->bits;
    if (row->bits.most == 0 ||
        (bits >= row->bits.least && bits <= row->bits.most && bits == floor(bits))) {
        return true;
    }
    if (isnan(bits)) {
        (void)snprintf(sentence, bytes, "bits: not given, %s needs it", row->name);
    } else {
        (void)snprintf(sentence, bytes, "bits: %g, %s accepts whole numbers from %d to %d", bits,
                       row->name, row->bits.least, row->bits.most);
    }
    return false;
}

bool bb_codec_check(const bb_codec_config *config, bb_row_scale scale, char *sentence,
                    size_t sentence_bytes)
{
    if (config->codec < 0 || config->codec >= (int)ROWS) {
        (void)snprintf(sentence, sentence_bytes, "codec: number %d, expected 0 to %d",
                       config->codec, (int)ROWS - 1);
        return false;
    }
    if (!check_keys(config, sentence, sentence_bytes)) {
        return false;
    }
    if (config->block != BB_INTEGER_UNSET && config->block != 32) {
        (void)snprintf(sentence, sentence_bytes, "block: %td, expected 32", config->block);
        return false;
    }
    if (scale == BB_ROW_SCALE_ROW && !rows[config->codec]->takes_row_scale) {
        (void)snprintf(sentence, sentence_bytes,
                       "codec: %s with scale: row; its steps and streams depend on the unscaled "
                       "values, expected scale: none",
                       rows[config->codec]->name);
        return false;
    }
    const bb_codec_row *row = rows[config->codec];
    return has_bits(config, row, sentence, sentence_bytes) &&
           (row->ops->check == NULL || row->ops->check(config, sentence, sentence_bytes)) &&
           (!row->tolerances.needed || bb_codec_check_tolerance(config, sentence, sentence_bytes));
}

static void fill_up(bb_index *key, bb_index otherwise)
{
    *key = *key == BB_INTEGER_UNSET && otherwise > 0 ? otherwise : *key;
}

bb_codec_config bb_codec_filled(const bb_codec_config *config)
{
    const bb_codec_defaults *defaults = &rows[config->codec]->defaults;
    bb_codec_config out = *config;
    fill_up(&out.block, defaults->block);
    fill_up(&out.dimensions, defaults->dimensions);
    fill_up(&out.band_lines, defaults->band_lines);
    fill_up(&out.band_columns, defaults->band_columns);
    fill_up(&out.tile_columns, defaults->tile_columns);
    fill_up(&out.tile_rows, defaults->tile_rows);
    return out;
}

void bb_codec_describe(const bb_codec_config *config, char *out, size_t out_bytes)
{
    const bb_codec_row *row = rows[config->codec];
    char number[48] = "";
    char more[96] = "";
    if (row->bits.most > 0) {
        (void)snprintf(number, sizeof number, " %g", config->bits);
    } else if (row->tolerances.needed) {
        number[0] = ' ';
        bb_codec_describe_tolerance(config, number + 1, sizeof number - 1);
    }
    if (row->ops->describe != NULL) {
        row->ops->describe(config, more, sizeof more);
    }
    (void)snprintf(out, out_bytes, "%s%s%s%s%s", row->title == NULL ? row->name : row->title,
                   number, more, bb_codec_diffuses(config) ? " diffused" : "",
                   bb_codec_sweeps(config) ? " in the sweep" : "");
}

const char *bb_codec_rounding(const bb_codec_config *config)
{
    const bb_codec_row *row = rows[config->codec];
    return bb_codec_sweeps(config)      ? "nearest even, in the sweep"
           : bb_codec_diffuses(config)  ? "nearest even, errors diffused over the row's mesh"
           : row->ops->rounding != NULL ? row->ops->rounding(config)
           : row->rounding != NULL      ? row->rounding
                                        : "nearest even";
}

double bb_codec_bound(const bb_codec_config *config, double tolerance, double magnitude,
                      double block_magnitude)
{
    const bb_codec_ops *ops = rows[config->codec]->ops;
    return ops->bound == NULL ? INFINITY
                              : ops->bound(config, tolerance, magnitude, block_magnitude);
}

double bb_codec_bits_per_value(const bb_codec_config *config)
{
    const bb_codec_row *row = rows[config->codec];
    return row->ops->bits_per_value != NULL ? row->ops->bits_per_value(config)
           : row->bits.most > 0             ? config->bits
                                            : NAN;
}

bb_draw_range bb_codec_draw_range(const bb_codec_config *config)
{
    const bb_codec_row *row = rows[config->codec];
    return row->ops->draw_range != NULL ? row->ops->draw_range(config)
           : row->tolerances.needed     ? bb_codec_draw_tolerance()
                                        : (bb_draw_range){1.0, row->takes_row_scale ? 2.0 : 1.0};
}

bool bb_codec_has_draws(const bb_codec_config *config)
{
    const bb_draw_range range = bb_codec_draw_range(config);
    return range.least < range.most;
}

// Log-uniform f on (a, a r) has E[f^-2] = (1 - r^-2) / (2 a^2 log r), which is 1 for this a.
bb_draw_range bb_codec_draw_tolerance(void)
{
    const double ratio = 1.0 / 0.97;
    const double least = sqrt((1.0 - 1.0 / (ratio * ratio)) / (2.0 * log(ratio)));
    return (bb_draw_range){least, least * ratio};
}

bool bb_codec_is_plain(const bb_codec_config *config, bb_format format)
{
    return config->codec == (int)format;
}

bb_codec_form bb_codec_form_of(const bb_codec_config *config)
{
    const bb_codec_row *row = rows[config->codec];
    const bb_codec_form_kind kind = row->ops->form == NULL ? row->form : row->ops->form(config);
    return (bb_codec_form){.kind = kind,
                           .format = kind == BB_FORM_WORDS ? (bb_format)config->codec : 0,
                           .bits = kind == BB_FORM_INTEGERS ? 8
                                   : row->bits.most > 0     ? (int)config->bits
                                                            : 0};
}

const char *bb_codec_absent(const bb_codec_config *config, bb_device_kind device)
{
    if (device == BB_DEVICE_OPENCL && !bb_codec_is_plain(config, BB_FORMAT_FP64) &&
        !bb_codec_is_plain(config, BB_FORMAT_FP32)) {
        return "products on this device need fp64 or fp32 storage; use one of those, or device cpu "
               "or cuda";
    }
    return device != BB_DEVICE_CPU && bb_codec_form_of(config).kind == BB_FORM_PIECES
               ? rows[config->codec]->cpu_only
               : NULL;
}

double bb_codec_scaled_largest(const bb_codec_config *config)
{
    const bb_codec_ops *ops = rows[config->codec]->ops;
    return ops->largest == NULL ? 1.0 : ops->largest(config);
}

bool bb_codec_allows_row_scale(const bb_codec_config *config)
{
    return rows[config->codec]->takes_row_scale;
}

bool bb_codec_needs_copy(const bb_codec_config *config)
{
    return rows[config->codec]->needs_copy;
}

bool bb_codec_sums_in_runs(const bb_codec_config *config)
{
    return rows[config->codec]->sums_in_runs;
}

bool bb_codec_unpacks(const bb_codec_config *config, bb_device_kind device)
{
    return rows[config->codec]->unpacked_on[device];
}

double bb_codec_bytes_per_value(const bb_codec_config *config)
{
    const double bits = bb_codec_bits_per_value(config);
    return isnan(bits) ? rows[config->codec]->most_bytes : bits / 8.0;
}

double bb_codec_seconds_per_value(const bb_codec_config *config)
{
    static const double clip_seconds = 5e-10; // per value, for one more clip
    return bb_codec_diffuses(config) ? 1.3e-8
                                     : rows[config->codec]->seconds +
                                           clip_seconds * (double)(bb_codec_clip_count(config) - 1);
}

double bb_codec_band_rows(const bb_codec_config *config, double row_columns)
{
    const bb_codec_row *row = rows[config->codec];
    const double lines = row->ops->band_lines != NULL   ? row->ops->band_lines(config)
                         : row->defaults.band_lines > 0 ? (double)bb_codec_filled(config).band_lines
                                                        : 0.0;
    return lines == 0.0 ? 1.0 : lines * row_columns;
}

bool bb_codec_sweeps(const bb_codec_config *config)
{
    return config->rounding == (int)BB_ROUNDING_SWEEP;
}

bool bb_codec_rounds_columns(const bb_codec_config *config)
{
    return rows[config->codec]->ops->round != NULL &&
           (config->rounding < 0 || config->rounding == (int)BB_ROUNDING_NEAREST ||
            bb_codec_sweeps(config));
}

bb_index bb_codec_rounding_block(const bb_codec_config *config)
{
    return rows[config->codec]->ops->fix_block == NULL ? 0 : BB_BLOCK;
}

bb_index bb_codec_clip_count(const bb_codec_config *config)
{
    const bb_codec_ops *ops = rows[config->codec]->ops;
    return ops->clip_count == NULL ? 1 : ops->clip_count(config);
}

bb_index bb_codec_norm_width(const bb_codec_config *config)
{
    const bb_codec_ops *ops = rows[config->codec]->ops;
    return ops->norm_width == NULL ? 0 : ops->norm_width(config);
}

bool bb_codec_diffuses(const bb_codec_config *config)
{
    return config->rounding == (int)BB_ROUNDING_DIFFUSED;
}

double bb_codec_fp32_rounding(double magnitude)
{
    return fmax(0x1p-24 * magnitude, 0x1p-150);
}

// Checks the tolerances of a codec: absolute or relative to the range, and within its limits.
static bool fits(bb_codec_tolerances allowed, double tolerance)
{
    return tolerance >= ldexp(1.0, allowed.lowest) && tolerance <= ldexp(1.0, allowed.highest);
}

bool bb_codec_check_tolerance(const bb_codec_config *config, char *sentence, size_t bytes)
{
    const bb_codec_tolerances allowed = bb_codec_row_of(config)->tolerances;
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

bool bb_codec_supports_tolerance(const bb_codec_config *config, double range, bb_outcome *outcome)
{
    const double wanted = config->tolerance_of_range * range;
    const bb_codec_tolerances allowed = bb_codec_row_of(config)->tolerances;
    if (isnan(config->tolerance_of_range) || fits(allowed, wanted)) {
        return true;
    }
    const double minimum = ldexp(1.0, allowed.lowest);
    const double largest = ldexp(1.0, allowed.highest);
    bb_outcome_set(outcome, BB_OUTCOME_NOT_HELD,
                   "tolerance_of_range %g of a matrix of range %g is a tolerance of %g: %s "
                   "supports %.4g to %.4g, the nearest is %.4g",
                   config->tolerance_of_range, range, wanted, bb_codec_row_of(config)->name,
                   minimum, largest, wanted > largest ? largest : minimum);
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
