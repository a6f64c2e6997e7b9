// SPDX-License-Identifier: Apache-2.0
//
// integer: whole numbers of 2 to 16 bits and one step a row.
//
// step = max|row| / top in fp32, top = 2^(bits-1) - 1; a word is value / step, rounded to the
// nearest whole number, ties to even, and clipped to +-top; a value is word * step, exact in fp64,
// one rounding in fp32. A step that would take top * step beyond fp32 is the next one below. A row
// of magnitudes up to 2^-150 top has step 0: its values become zero, and those that were not are
// counted.
//
// Bound: |error| <= step / 2 + top |step - max|row| / top|. The second part is fp32's rounding of
// the step, below 2^-9 of the first but where the step is subnormal: there values may be clipped,
// which is counted.
//
// clip: best takes in the place of max|row| a part of it, out of 1, 0.98, 0.95, 0.92, 0.88, 0.83,
// 0.77, 0.70, 0.62, 0.53, 0.43 and 0.32: the one that leaves the row's least sum of squared errors,
// the larger of two alike; or the one that a caller names who knows another norm. What lies beyond
// is clipped and counted. The ladder is denser towards 1, where rows of many bits have their best:
// of a reconstructor that is rounded in the sweep the median row at 0.45 with 2 bits, 0.6 to 0.8
// with 4, 0.92 to 0.96 with 6, 0.98 to 1 with 8. Twelve parts leave of 4 bits what 81 do but for a
// tenth to a fifth. |error| <= max|row| - top * step(0.32) then, or the above.
//
// A row with a NaN, an infinity or a value beyond fp32 has step NaN and decodes to NaN throughout.
//
// A row is its words in blocks of 32, the last one filled up with zeros. A block is `bits` words of
// 32 bits: the planes of plane_core.h one after the other, the widest first. So 8 bits are bytes in
// order and 16 bits little-endian words. Steps lie beside the rows, four bytes each.
#include "core/memory.h"
#include "core/portable.h"
#include "precision/codec_row.h"
#include "precision/codecs/block_decoder.h"
#include "precision/codecs/plane.h"
#include "precision/format_core.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PIECE = 1024, PIECE_BLOCKS = PIECE / BB_BLOCK, LEAST_BITS = 2, MOST_BITS = 16 };

typedef struct integer_store {
    int bits;
    bb_index blocks; // of a row
    size_t row_bytes;
    unsigned char *rows; // [rows][row_bytes]
    float *steps;        // [rows]
} integer_store;

// The parts of a row's largest magnitude that `clip: best` tries.
static const double clips[] = {1.0,  0.98, 0.95, 0.92, 0.88, 0.83,
                               0.77, 0.70, 0.62, 0.53, 0.43, 0.32};

enum { CLIPS = sizeof clips / sizeof clips[0] };

enum { CLIP };
enum { CLIP_NONE, CLIP_BEST };
static const char *const clip_words[] = {"none", "best", NULL};

// clang-format off
static const bb_key keys[] = {
    [CLIP] = {.name = "clip", .kind = BB_KEY_CHOICE, .offset = BB_CODEC_SLOT(CLIP),
     .choices = clip_words, .optional = true,
     .meaning = "integer: a row's step is of its largest value (none, where not given), or of the part of it that leaves least (best)."},
};
// clang-format on

static bool check(const bb_codec_config *config, char *sentence, size_t bytes)
{
    const double bits = config->bits;
    if (bits >= LEAST_BITS && bits <= MOST_BITS && bits == floor(bits)) {
        return true;
    }
    if (isnan(bits)) {
        (void)snprintf(sentence, bytes, "bits: not given, integer needs it");
    } else {
        (void)snprintf(sentence, bytes, "bits: %g, integer takes whole numbers from %d to %d", bits,
                       (int)LEAST_BITS, (int)MOST_BITS);
    }
    return false;
}

static void describe(const bb_codec_config *config, char *out, size_t bytes)
{
    const char *clip = bb_codec_own(config)[CLIP].choice == CLIP_BEST ? ", best clip" : "";
    (void)snprintf(out, bytes, "integer %g%s", config->bits, clip);
}

static bb_index clip_count(const bb_codec_config *config)
{
    return bb_codec_own(config)[CLIP].choice == CLIP_BEST ? CLIPS : 1;
}

static const char *rounding(const bb_codec_config *config)
{
    (void)config;
    return "nearest even";
}

static double largest_word(int bits)
{
    return (double)((1 << (bits - 1)) - 1);
}

// Of a row whose largest magnitude fp32 holds.
static float step_of(int bits, double largest)
{
    const double top = largest_word(bits);
    const float step = (float)(largest / top);
    return (double)step * top > (double)FLT_MAX ? nextafterf(step, 0.0F) : step;
}

static double bound(const bb_codec_config *config, double tolerance, double magnitude,
                    double block_magnitude)
{
    const int bits = (int)config->bits;
    (void)tolerance;
    (void)magnitude;
    if (!(block_magnitude <= (double)FLT_MAX)) {
        return INFINITY;
    }
    const double step = (double)step_of(bits, block_magnitude);
    const double rest = fabs(largest_word(bits) * step - block_magnitude);
    const double least = (double)step_of(bits, clips[clip_count(config) - 1] * block_magnitude);
    const double beyond = block_magnitude - largest_word(bits) * least;
    return fmax(0.5 * step + rest, beyond) * (1.0 + 0x1p-30);
}

static double bits_per_value(const bb_codec_config *config)
{
    return config->bits;
}

// A step follows its row, whose quotients no factor changes.
static bb_draw_range draw_range(const bb_codec_config *config)
{
    (void)config;
    return (bb_draw_range){1.0, 1.0};
}

static bb_codec_form form(const bb_codec_config *config)
{
    return (bb_codec_form){.kind = BB_FORM_STEPS, .bits = (int)config->bits};
}

static bb_status create(bb_coded_matrix *matrix)
{
    bb_status status = BB_OK;
    integer_store *store = NULL;
    matrix->piece_columns = PIECE;
    BB_TRY(BB_ZEROED(1, &store));
    matrix->store = store;
    store->bits = (int)matrix->config.bits;
    store->blocks = (matrix->layout.columns + BB_BLOCK - 1) / BB_BLOCK;
    store->row_bytes = (size_t)store->blocks * 4 * (size_t)store->bits;
    BB_TRY(bb_memory_zeroed(matrix->layout.rows, store->row_bytes, (void **)&store->rows));
    BB_TRY(BB_ZEROED(matrix->layout.rows, &store->steps));
done:
    return status;
}

static void destroy(bb_coded_matrix *matrix)
{
    integer_store *store = matrix->store;
    if (store != NULL) {
        BB_RELEASE(&store->rows);
        BB_RELEASE(&store->steps);
        BB_RELEASE(&matrix->store);
    }
}

// Largest magnitude of the values that fp32 holds, and how many it does not.
static double largest_held(const double *values, bb_index count, bb_index *bad)
{
    double largest = 0.0;
    for (bb_index j = 0; j < count; ++j) {
        const double magnitude = fabs(values[j]);
        const bool held = magnitude <= (double)FLT_MAX;
        *bad += !held;
        largest = held && magnitude > largest ? magnitude : largest;
    }
    return largest;
}

// Nearest whole number of steps, ties to even, at most one beyond `top`; `divisor` is the step.
BB_PLANE_FUNCTION double steps_of(double value, double divisor, double top)
{
    double quotient = value / divisor;
    quotient = quotient > top + 1.0 ? top + 1.0 : quotient;
    quotient = quotient < -top - 1.0 ? -top - 1.0 : quotient;
    return (quotient + 0x1.8p52) - 0x1.8p52; // leaves no room for fractions
}

BB_PLANE_FUNCTION double clipped(double steps, double top)
{
    return steps > top ? top : steps < -top ? -top : steps;
}

BB_CLONES static void encode_blocks(int bits, double step, const double *values, bb_index count,
                                    unsigned char *out, bb_codec_counts *counts)
{
    const double top = largest_word(bits);
    const double divisor = step > 0.0 ? step : INFINITY; // words of 0
    for (bb_index b = 0; b < count; ++b) {
        int32_t words[BB_BLOCK];
        int lost = 0;
        int over = 0;
        for (int i = 0; i < BB_BLOCK; ++i) {
            const double value = values[b * BB_BLOCK + i];
            const double steps = steps_of(value, divisor, top);
            over += fabs(steps) > top;
            lost += step == 0.0 && value != 0.0;
            words[i] = (int32_t)clipped(steps, top);
        }
        counts->saturated += over;
        counts->underflowed += lost;
        out = bb_plane_pack_block(words, bits, out);
    }
}

static unsigned char *row_at(const bb_coded_matrix *matrix, bb_index row)
{
    const integer_store *store = matrix->store;
    return store->rows + (size_t)row * store->row_bytes;
}

// Sums of squared errors of `count` blocks, place by place.
BB_CLONES static void add_squares(int bits, double step, const double *values, bb_index count,
                                  double sums[BB_BLOCK])
{
    const double top = largest_word(bits);
    const double divisor = step > 0.0 ? step : INFINITY;
    for (bb_index b = 0; b < count; ++b) {
        for (int i = 0; i < BB_BLOCK; ++i) {
            const double value = values[b * BB_BLOCK + i];
            const double error = clipped(steps_of(value, divisor, top), top) * step - value;
            sums[i] += error * error;
        }
    }
}

static double squares_of(int bits, double step, const double *values, bb_index columns)
{
    const bb_index full = columns / BB_BLOCK;
    double sums[BB_BLOCK] = {0.0};
    double last[BB_BLOCK] = {0.0};
    double sum = 0.0;
    memcpy(last, values + full * BB_BLOCK, (size_t)(columns % BB_BLOCK) * sizeof *last);
    add_squares(bits, step, values, full, sums);
    add_squares(bits, step, last, 1, sums);
    for (int i = 0; i < BB_BLOCK; ++i) {
        sum += sums[i];
    }
    return sum;
}

// The step of a row of finite values, `largest` the largest that fp32 holds.
static float choose_step(const bb_coded_matrix *matrix, const double *values, double largest)
{
    const int bits = (int)matrix->config.bits;
    const bb_index count = clip_count(&matrix->config);
    float best = step_of(bits, largest);
    double least = INFINITY;
    for (bb_index clip = 0; count > 1 && clip < count; ++clip) {
        const float step = step_of(bits, clips[clip] * largest);
        const double squares = squares_of(bits, (double)step, values, matrix->layout.columns);
        if (squares < least) {
            least = squares;
            best = step;
        }
    }
    return best;
}

// The words of a row whose step stands.
static void encode_words(const bb_coded_matrix *matrix, bb_index row, const double *values,
                         bb_codec_counts *counts)
{
    const integer_store *store = matrix->store;
    const double step = (double)store->steps[row];
    const bb_index full = matrix->layout.columns / BB_BLOCK;
    const bb_index rest = matrix->layout.columns % BB_BLOCK;
    unsigned char *out = row_at(matrix, row);
    if (isnan(step)) {
        memset(out, 0, store->row_bytes);
        return;
    }
    encode_blocks(store->bits, step, values, full, out, counts);
    if (rest != 0) {
        double last[BB_BLOCK] = {0.0};
        memcpy(last, values + full * BB_BLOCK, (size_t)rest * sizeof *last);
        encode_blocks(store->bits, step, last, 1, out + full * 4 * store->bits, counts);
    }
}

// Of finite values: the largest that fp32 holds where one lies beyond it.
static double largest_fixed(const bb_coded_matrix *matrix, const double *values)
{
    bb_index bad = 0;
    const double largest = largest_held(values, matrix->layout.columns, &bad);
    return bad > 0 ? (double)FLT_MAX : largest;
}

static void fix_row(bb_coded_matrix *matrix, bb_index row, const double *values)
{
    const integer_store *store = matrix->store;
    store->steps[row] = choose_step(matrix, values, largest_fixed(matrix, values));
}

static void clip_row(bb_coded_matrix *matrix, bb_index row, bb_index clip, const double *values)
{
    const integer_store *store = matrix->store;
    store->steps[row] = step_of(store->bits, clips[clip] * largest_fixed(matrix, values));
}

static double round_one(const bb_coded_matrix *matrix, bb_index row, bb_index column, double scaled)
{
    const integer_store *store = matrix->store;
    const double step = (double)store->steps[row];
    const double top = largest_word(store->bits);
    (void)column;
    return step > 0.0 ? clipped(steps_of(scaled, step, top), top) * step : 0.0;
}

static bb_status encode_fixed(bb_coded_matrix *matrix, bb_index row, bb_view panel)
{
    bb_codec_counts counts = {0};
    encode_words(matrix, row, bb_view_row(panel, 0), &counts);
    bb_coded_matrix_count(matrix, counts);
    return BB_OK;
}

static bb_status encode(bb_coded_matrix *matrix, bb_index row, bb_view panel)
{
    integer_store *store = matrix->store;
    bb_codec_counts counts = {0};
    for (bb_index i = 0; i < panel.shape[0]; ++i) {
        const double *values = bb_view_row(panel, i);
        bb_index bad = 0;
        const double largest = largest_held(values, matrix->layout.columns, &bad);
        store->steps[row + i] = bad > 0 ? NAN : choose_step(matrix, values, largest);
        counts.non_finite += bad;
        encode_words(matrix, row + i, values, &counts);
    }
    bb_coded_matrix_count(matrix, counts);
    return BB_OK;
}

BB_CLONES static void decode_blocks_f32(const unsigned char *source, int bits, float step,
                                        bb_index count, float *out)
{
    for (bb_index b = 0; b < count; ++b, source += 4 * bits) {
        int32_t words[BB_BLOCK];
        if (bits == 8) { // no planes to put together
            for (int i = 0; i < BB_BLOCK; ++i) {
                *out++ = (float)(signed char)source[i] * step;
            }
            continue;
        }
        (void)bb_plane_unpack_block(source, bits, words);
        for (int i = 0; i < BB_BLOCK; ++i) {
            *out++ = (float)words[i] * step;
        }
    }
}

BB_CLONES static void decode_blocks_f64(const unsigned char *source, int bits, double step,
                                        bb_index count, double *out)
{
    for (bb_index b = 0; b < count; ++b, source += 4 * bits) {
        int32_t words[BB_BLOCK];
        (void)bb_plane_unpack_block(source, bits, words);
        for (int i = 0; i < BB_BLOCK; ++i) {
            *out++ = (double)words[i] * step;
        }
    }
}

static void decode_f32(const bb_coded_matrix *matrix, bb_index group, bb_index piece, float *out)
{
    const integer_store *store = matrix->store;
    const bb_index count = bb_coded_matrix_piece_count(matrix, piece);
    const bb_index full = count / BB_BLOCK;
    const int bits = store->bits;
    const unsigned char *source = row_at(matrix, group) + piece * PIECE_BLOCKS * 4 * bits;
    decode_blocks_f32(source, bits, store->steps[group], full, out);
    if (count % BB_BLOCK != 0) {
        float last[BB_BLOCK];
        decode_blocks_f32(source + full * 4 * bits, bits, store->steps[group], 1, last);
        memcpy(out + full * BB_BLOCK, last, (size_t)(count % BB_BLOCK) * sizeof *last);
    }
}

static void decode_blocks(const bb_coded_matrix *matrix, bb_index row, bb_index block,
                          bb_index count, double *out)
{
    const integer_store *store = matrix->store;
    decode_blocks_f64(row_at(matrix, row) + block * 4 * store->bits, store->bits,
                      (double)store->steps[row], count, out);
}

static void decode(const bb_coded_matrix *matrix, bb_index row, bb_index column, bb_index count,
                   double *out)
{
    bb_block_decoder_apply(decode_blocks, matrix, row, column, count, out);
}

static void decode_f64(const bb_coded_matrix *matrix, bb_index group, bb_index piece, double *out)
{
    decode(matrix, group, piece * PIECE, bb_coded_matrix_piece_count(matrix, piece), out);
}

static size_t bytes(const bb_coded_matrix *matrix)
{
    const integer_store *store = matrix->store;
    return (size_t)matrix->layout.rows * (store->row_bytes + sizeof *store->steps);
}

static const bb_codec_ops operations = {
    .check = check,
    .describe = describe,
    .rounding = rounding,
    .bound = bound,
    .bits_per_value = bits_per_value,
    .draw_range = draw_range,
    .form = form,
    .create = create,
    .destroy = destroy,
    .encode = encode,
    .decode_f32 = decode_f32,
    .decode_f64 = decode_f64,
    .decode = decode,
    .bytes = bytes,
    .fix_row = fix_row,
    .clip_count = clip_count,
    .clip_row = clip_row,
    .round = round_one,
    .encode_fixed = encode_fixed,
};

void bb_coded_matrix_whole_steps(const bb_coded_matrix *matrix, bb_index row, bb_index block,
                                 int32_t out[BB_BLOCK])
{
    const integer_store *store = matrix->store;
    (void)bb_plane_unpack_block(row_at(matrix, row) + block * 4 * store->bits, store->bits, out);
}

float bb_coded_matrix_row_step(const bb_coded_matrix *matrix, bb_index row)
{
    const integer_store *store = matrix->store;
    return store->steps[row];
}

static const char *const taken[] = {"bits", NULL};

const bb_codec_row bb_integer_row = {
    .name = "integer",
    .takes = taken,
    .keys = keys,
    .key_count = sizeof keys / sizeof keys[0],
    .sums_in_runs = true,
    .seconds = 8e-9,
    .ladders = {{"bits", "", LEAST_BITS, MOST_BITS - LEAST_BITS + 1, false}},
    .ops = &operations,
};
