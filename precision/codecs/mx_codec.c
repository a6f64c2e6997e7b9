// SPDX-License-Identifier: Apache-2.0
//
// mx: narrow elements with a scale per block, the OCP Microscaling formats (MX v1.0, 2023) and
// NVFP4.
//
// e8m0: blocks of 32 along a row share 2^s, s = floor(log2 M) - emax with M the block's largest
// magnitude and 2^emax the largest power of two of the element, s limited to [-127, 127] and stored
// as s + 127; 255 marks a poisoned block. Elements are value / 2^s, rounded to nearest even and
// saturated: M / 2^s may exceed the largest element, which is counted. int8 is two's complement in
// units of 2^-6, -128 unused. Decoding is exact in fp32.
//
// nvfp4: e2m1 in blocks of 16. Every row has a scale r = max(M of the row / (6 448), 2^-126) in
// fp32 (NVIDIA uses one per tensor; here a row can be encoded before the next is known), every
// block b = M / (6 r) in e4m3, and a value is element b r, rounded once, to fp32. A poisoned block
// has the NaN of e4m3.
//
// Poisoned: a block with a NaN, an infinity or a value of 2^128 or more; it decodes to NaN.
//
// Bound, e8m0: |error| <= max(u |v|, 2^s t / 2) with t the element's smallest magnitude and u the
// larger of its unit roundoff and the saturation error of values below 2^(emax + 1). nvfp4, M of
// the row: max(|v| / 4, (17/16) M / 24) + 6 r / 2^10 (blocks whose b is subnormal) and the rounding
// to fp32.
//
// A row: its elements in units of 32 columns, cut into planes (plane_core.h, the widest first), the
// scales of its blocks, and r. The last unit is zero-padded.
#include "core/portable.h"
#include "precision/codec_row.h"
#include "precision/codecs/mx_core.h"
#include "precision/codecs/plane.h"
#include "precision/format_core.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// In the order of the words of mx.
static const bb_mx_element bb_mx_elements[] = {
    {8, 3, -6, 8, 448.0, false},     // e4m3
    {8, 2, -14, 15, 57344.0, false}, // e5m2
    {6, 2, -2, 4, 28.0, false},      // e3m2
    {6, 3, 0, 2, 7.5, false},        // e2m3
    {4, 1, 0, 2, 6.0, false},        // e2m1
    BB_MX_INT8,                      // int8
};

// Returns the value of a code; codes of e4m3 and e5m2 beyond the largest value are never stored.
static inline double mx_element_value(const bb_mx_element *kind, int code)
{
    const int sign = code >> (kind->bits - 1);
    const int rest = code & ((1 << (kind->bits - 1)) - 1);
    const int exponent = rest >> kind->fraction;
    const int fraction = rest & ((1 << kind->fraction) - 1);
    if (kind->is_integer) {
        return ldexp((double)bb_plane_signed((uint32_t)code, kind->bits), -kind->fraction);
    }
    const double magnitude = exponent == 0
                                 ? ldexp(fraction, kind->least_exponent - kind->fraction)
                                 : ldexp((1 << kind->fraction) + fraction,
                                         kind->least_exponent - kind->fraction + exponent - 1);
    return sign != 0 ? -magnitude : magnitude;
}

enum { CODES = 256, MOST_BITS = 8 };
enum { NAN_SCALE = 0x7f, NV_BLOCK = 16, NV_BLOCKS = BB_BLOCK / NV_BLOCK };

static const double nv_range = 6.0 * 448.0;

static const char *const element_words[] = {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "int8", NULL};
static const char *const scale_words[] = {"e8m0", "nvfp4", NULL};
enum { ELEMENT, BLOCK_SCALE };
enum { E8M0, NVFP4 };
enum { E2M1 = 4 }; // index of the element

// clang-format off
static const bb_key keys[] = {
    [ELEMENT] = {.name = "element", .kind = BB_KEY_CHOICE, .offset = BB_CODEC_SLOT(ELEMENT),
     .choices = element_words, .optional = true, .meaning = "mx: element format."},
    [BLOCK_SCALE] = {.name = "block_scale", .kind = BB_KEY_CHOICE,
     .offset = BB_CODEC_SLOT(BLOCK_SCALE), .choices = scale_words, .optional = true,
     .meaning = "mx: e8m0 (default): per 32 values; nvfp4: e4m3 per 16 and fp32 per row."},
};
// clang-format on

typedef struct mx_store {
    bb_mx_element kind;
    bool nv;
    int blocks;          // per unit
    size_t scales;       // offset in a row
    size_t row_bytes;    // including nvfp4's row scale at the end
    float values[CODES]; // by code
    float nv_scales[CODES];
} mx_store;

static bool is_nv(const bb_codec_config *config)
{
    return bb_codec_own(config)[BLOCK_SCALE].choice == NVFP4;
}

static const bb_mx_element *element_of(const bb_codec_config *config)
{
    return &bb_mx_elements[bb_codec_own(config)[ELEMENT].choice];
}

static bool check(const bb_codec_config *config, char *sentence, size_t bytes)
{
    const int chosen = bb_codec_own(config)[ELEMENT].choice;
    if (chosen < 0) {
        (void)snprintf(sentence, bytes,
                       "element: not given, mx needs e4m3, e5m2, e3m2, e2m3, e2m1 or int8");
        return false;
    }
    if (is_nv(config) && chosen != E2M1) {
        (void)snprintf(sentence, bytes, "element: %s, block_scale nvfp4 needs e2m1",
                       element_words[chosen]);
        return false;
    }
    return true;
}

static void describe(const bb_codec_config *config, char *out, size_t bytes)
{
    if (is_nv(config)) {
        (void)snprintf(out, bytes, "nvfp4");
    } else {
        (void)snprintf(out, bytes, "mx %s", element_words[bb_codec_own(config)[ELEMENT].choice]);
    }
}

static double nv_row_scale(double largest)
{
    return fmax((double)(float)(largest / nv_range), 0x1p-126);
}

static double bound(const bb_codec_config *config, double tolerance, double magnitude,
                    double block_magnitude)
{
    const bb_mx_element *kind = element_of(config);
    (void)tolerance;
    if (!bb_mx_in_range(block_magnitude)) {
        return INFINITY;
    }
    if (is_nv(config)) {
        return (fmax(0.25 * magnitude, 17.0 / 16.0 / 24.0 * block_magnitude) +
                6.0 * 0x1p-10 * nv_row_scale(block_magnitude)) *
                   (1.0 + 0x1p-20) +
               bb_codec_fp32_rounding(2.0 * magnitude);
    }
    const double saturation = 1.0 - kind->largest / ldexp(2.0, kind->emax);
    return fmax(fmax(ldexp(0.5, -kind->fraction), saturation) * magnitude,
                ldexp(0.5 * bb_mx_least(kind), bb_mx_scale(kind, block_magnitude)));
}

static double bits_per_value(const bb_codec_config *config)
{
    return element_of(config)->bits + 8.0 / (is_nv(config) ? NV_BLOCK : BB_BLOCK);
}

// nvfp4's scale follows its row, so no factor changes the quotients.
static bb_draw_range draw_range(const bb_codec_config *config)
{
    return (bb_draw_range){1.0, is_nv(config) ? 1.0 : 2.0};
}

static bb_codec_form_kind form(const bb_codec_config *config)
{
    return element_of(config)->is_integer ? BB_FORM_INTEGERS : BB_FORM_PIECES;
}

static bb_status create(bb_coded_matrix *matrix)
{
    mx_store *store = matrix->store;
    const bb_index units = (matrix->layout.columns + BB_BLOCK - 1) / BB_BLOCK;
    store->kind = *element_of(&matrix->config);
    store->nv = is_nv(&matrix->config);
    store->blocks = store->nv ? NV_BLOCKS : 1;
    store->scales = (size_t)(units * 4 * store->kind.bits);
    store->row_bytes =
        store->scales + (size_t)(units * store->blocks) + (store->nv ? sizeof(float) : 0);
    for (int code = 0; code < CODES; ++code) {
        store->values[code] =
            (float)mx_element_value(&store->kind, code & ((1 << store->kind.bits) - 1));
        store->nv_scales[code] = bb_format_decode_e4m3((uint8_t)code);
    }
    matrix->row_bytes = store->row_bytes;
    return BB_OK;
}

// Finds the largest representable magnitude of `count` values, and counts those that are not
// representable.
static double largest_held(const double *values, int count, bb_index *bad)
{
    double maximum = 0.0;
    for (int i = 0; i < count; ++i) {
        const double magnitude = fabs(values[i]);
        const bool held = bb_mx_in_range(magnitude);
        *bad += !held;
        maximum = held && magnitude > maximum ? magnitude : maximum;
    }
    return maximum;
}

// Returns the scale word of a block with this largest magnitude.
static unsigned char scale_word(const mx_store *store, double largest, double row_scale)
{
    unsigned char word = 0;
    if (store->nv) {
        const double wanted = largest / (6.0 * row_scale);
        (void)bb_format_encode(BB_FORMAT_E4M3, &wanted, 1, &word);
        return word;
    }
    return (unsigned char)(bb_mx_scale(&store->kind, largest) + 127);
}

static double scale_of(const mx_store *store, unsigned char word, double row_scale)
{
    return store->nv ? (double)store->nv_scales[word] * row_scale : ldexp(1.0, (int)word - 127);
}

// Encodes a block under a scale; for a poisoned block, no codes and the word that marks it.
static unsigned char encode_block(const mx_store *store, const double *values, int count,
                                  const unsigned char *fixed, double row_scale, int32_t *codes,
                                  bb_codec_counts *counts)
{
    const double minimum = bb_mx_least(&store->kind);
    bb_index bad = 0;
    const double largest = largest_held(values, count, &bad);
    const unsigned char word = fixed != NULL ? *fixed : scale_word(store, largest, row_scale);
    const double scale = scale_of(store, word, row_scale);
    counts->non_finite += bad;
    for (int i = 0; i < count; ++i) {
        codes[i] = 0;
        if (bad == 0 && scale > 0.0) {
            const bb_mx_code code = bb_mx_code_of(&store->kind, values[i] / scale, minimum);
            counts->saturated += code.saturated;
            counts->underflowed += code.underflowed;
            codes[i] = code.word;
        } else if (bad == 0) {
            counts->underflowed += values[i] != 0.0;
        }
    }
    return bad == 0 ? word : store->nv ? NAN_SCALE : BB_MX_NOT_HELD;
}

static void encode_unit(const mx_store *store, const double values[BB_BLOCK], double row_scale,
                        bool fixed, bb_index unit, unsigned char *row, bb_codec_counts *counts)
{
    const int bits = store->kind.bits;
    const int blocks = store->blocks;
    const int length = BB_BLOCK / blocks;
    int32_t codes[BB_BLOCK] = {0};
    unsigned char *words = row + (size_t)unit * 4 * (size_t)bits;
    for (int b = 0; b < blocks; ++b) {
        unsigned char *word = row + store->scales + (size_t)(unit * blocks + b);
        *word = encode_block(store, values + b * length, length, fixed ? word : NULL, row_scale,
                             codes + b * length, counts);
    }
    (void)bb_plane_pack_block(codes, bits, words);
}

// Returns the row scale of nvfp4; 1 for the others.
static float row_scale_at(const mx_store *store, const unsigned char *row)
{
    float stored = 1.0F;
    if (store->nv) {
        memcpy(&stored, row + store->row_bytes - sizeof stored, sizeof stored);
    }
    return stored;
}

// Sets nvfp4's scale of a row.
static void fix_row(bb_coded_matrix *matrix, bb_index row, bb_index clip, const double *values,
                    bb_codec_counts *counts)
{
    const mx_store *store = matrix->store;
    const double scale = bb_coded_matrix_row_scale(matrix, row);
    double largest = 0.0;
    (void)clip;
    (void)counts; // counted per block
    for (bb_index j = 0; store->nv && j < matrix->layout.columns; ++j) {
        const double magnitude = fabs(scale * values[j]);
        largest = bb_mx_in_range(magnitude) && magnitude > largest ? magnitude : largest;
    }
    if (store->nv) {
        const float stored = (float)nv_row_scale(largest);
        memcpy(bb_coded_matrix_row(matrix, row + 1) - sizeof stored, &stored, sizeof stored);
    }
}

static void encode_blocks(const bb_coded_matrix *matrix, bb_index row, bb_index unit,
                          bb_index count, const double *values, double scale, bool fixed,
                          bb_codec_counts *counts)
{
    unsigned char *out = bb_coded_matrix_row(matrix, row);
    const double row_scale = (double)row_scale_at(matrix->store, out);
    for (bb_index end = unit + count; unit < end; ++unit, values += BB_BLOCK) {
        double scaled[BB_BLOCK];
        for (int i = 0; i < BB_BLOCK; ++i) {
            scaled[i] = scale * values[i];
        }
        encode_unit(matrix->store, scaled, row_scale, fixed, unit, out, counts);
    }
}

// Sets the scales of a unit's blocks, the largest one for a block with an unrepresentable value.
static void fix_block(bb_coded_matrix *matrix, bb_index row, bb_index unit,
                      const double scaled[BB_BLOCK])
{
    const mx_store *store = matrix->store;
    unsigned char *out = bb_coded_matrix_row(matrix, row);
    const int length = BB_BLOCK / store->blocks;
    for (int b = 0; b < store->blocks; ++b) {
        bb_index bad = 0;
        double largest = largest_held(scaled + b * length, length, &bad);
        largest = bad > 0 ? 0x1.fffffffffffffp127 : largest;
        out[store->scales + (size_t)(unit * store->blocks + b)] =
            scale_word(store, largest, (double)row_scale_at(store, out));
    }
}

// Returns the scale of block `b` of a unit.
static inline float scale_at(const mx_store *store, const unsigned char *row, bb_index unit, int b)
{
    if (store->nv) {
        return store->nv_scales[row[store->scales + (size_t)(unit * NV_BLOCKS + b)]];
    }
    const int word = row[store->scales + (size_t)unit];
    return word == BB_MX_NOT_HELD ? NAN
           : word == 0            ? 0x1p-127F
                                  : bb_format_f32_of_bits((uint32_t)word << 23);
}

BB_CLONES static void decode_units(const mx_store *store, const unsigned char *row, bb_index first,
                                   bb_index count, float *out)
{
    const int bits = store->kind.bits;
    const int length = store->nv ? NV_BLOCK : BB_BLOCK;
    const float row_scale = row_scale_at(store, row);
    for (bb_index i = 0; i < count; ++i) {
        const bb_index unit = first + i;
        uint32_t codes[BB_BLOCK] = {0};
        const unsigned char *words = row + (size_t)unit * 4 * (size_t)bits;
        bb_plane_unpack(words, bits == MOST_BITS ? 8 : 4, codes);
        if (bits == 6) {
            bb_plane_unpack(words + 16, 2, codes);
        }
        for (int b = 0; b < BB_BLOCK / length; ++b) {
            const float scale = scale_at(store, row, unit, b);
            for (int k = b * length; k < (b + 1) * length; ++k) {
                *out++ = store->values[codes[k]] * scale * row_scale;
            }
        }
    }
}

static double round_one(const bb_coded_matrix *matrix, bb_index row, bb_index column, double scaled)
{
    const mx_store *store = matrix->store;
    const unsigned char *source = bb_coded_matrix_row(matrix, row);
    const float row_scale = row_scale_at(store, source);
    const bb_index unit = column / BB_BLOCK;
    const int b = (int)(column % BB_BLOCK * store->blocks / BB_BLOCK);
    const bb_index block = unit * store->blocks + b;
    const double scale = scale_of(store, source[store->scales + (size_t)block], (double)row_scale);
    if (scale == 0.0) {
        return 0.0;
    }
    const int32_t code =
        bb_mx_code_of(&store->kind, scaled / scale, bb_mx_least(&store->kind)).word;
    return (double)(store->values[code & (CODES - 1)] * scale_at(store, source, unit, b) *
                    row_scale);
}

static void decode_f32(const bb_coded_matrix *matrix, bb_index row, bb_index unit, bb_index count,
                       float *out)
{
    decode_units(matrix->store, bb_coded_matrix_row(matrix, row), unit, count, out);
}

static const bb_codec_ops operations = {
    .check = check,
    .describe = describe,
    .bound = bound,
    .bits_per_value = bits_per_value,
    .draw_range = draw_range,
    .form = form,
    .create = create,
    .fix_row = fix_row,
    .fix_block = fix_block,
    .encode_blocks = encode_blocks,
    .decode_f32 = decode_f32,
    .round = round_one,
};

const bb_codec_row bb_mx_row = {
    .name = "mx",
    .title = "",
    .keys = keys,
    .key_count = sizeof keys / sizeof keys[0],
    .cpu_only = "codec mx has products on a GPU for int8 only, use device cpu",
    .unit = BB_BLOCK,
    .store_bytes = sizeof(mx_store),
    .takes_row_scale = true,
    .sums_in_runs = true,
    .seconds = 2e-8,
    .ops = &operations,
};

bool bb_coded_matrix_integers(const bb_coded_matrix *matrix, bb_index row, bb_index block,
                              int32_t out[32], int *exponent)
{
    const mx_store *store = matrix->store;
    const unsigned char *source = bb_coded_matrix_row(matrix, row);
    const int word = source[store->scales + (size_t)block];
    for (int i = 0; i < BB_BLOCK; ++i) {
        out[i] = bb_plane_signed(source[block * BB_BLOCK + i], MOST_BITS);
    }
    *exponent = word - 127 - store->kind.fraction;
    return word != BB_MX_NOT_HELD;
}
