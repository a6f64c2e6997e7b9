// SPDX-License-Identifier: Apache-2.0
//
// Decoder of zfp streams with their indexes on the cpu and on a cuda device: the same bits.
#ifndef BB_PRECISION_CODECS_ZFP_ZFP_DECODER_H
#define BB_PRECISION_CODECS_ZFP_ZFP_DECODER_H

#include "core/device/device.h"
#include "precision/codecs/zfp/zfp_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Streams with their indexes on a device: arrays of one type, shape and settings, such as the rows
/// of a matrix.
typedef struct bb_zfp_decoder bb_zfp_decoder;

/// Copies `count` streams and indexes to the device. Errors: BB_MEMORY, BB_INVALID
/// (bb_zfp_stream_check; an index that does not match its array; streams or runs that differ). The
/// device must outlive the decoder.
BB_CHECKED bb_status bb_zfp_decoder_create(bb_device *device, const bb_zfp_stream *streams,
                                           const bb_zfp_index *indexes, bb_index count,
                                           bb_zfp_decoder **out);
void bb_zfp_decoder_destroy(bb_zfp_decoder **decoder);

/// Decodes to out [count][values] of the streams' type in device memory, aligned to 16 bytes, and
/// waits; `seconds` (may be NULL) is the decoding time measured on the device. The bits do not
/// depend on the device. Errors: BB_INVALID (the first run that does not end at the index's offset;
/// `out` is then undefined), BB_DEVICE.
BB_CHECKED bb_status bb_zfp_decoder_run(bb_zfp_decoder *decoder, void *out, double *seconds);

/// Internal: arguments of both versions. Items are groups of 32 runs, over all arrays; an array has
/// `groups` of them.
typedef struct bb_zfp_decoding {
    bb_zfp_words words;
    bb_type type;
    bb_zfp_shape shape;
    bb_zfp_settings settings;
    bb_index arrays;
    bb_index values, blocks, run_blocks, runs, groups; ///< of one array
    const uint64_t *places;                            ///< [arrays][2] first bit, and last + 1
    const uint64_t *bases;   ///< [arrays][groups] first bit of a group in its array
    const uint16_t *lengths; ///< [arrays][groups][32], 0 after the last run; NULL: fixed rate
    void *out;
    uint64_t *broken; ///< lowest array * runs + run that does not end at its offset, or all ones
} bb_zfp_decoding;

bb_status bb_zfp_decoding_cuda(bb_queue *stream, bb_index begin, bb_index items, void *arguments);

/// Arrays of a decoder, for products with their own decoding; they do not use `out`.
const bb_zfp_decoding *bb_zfp_decoder_decoding(const bb_zfp_decoder *decoder);

#ifdef __cplusplus
}
#endif

#endif
