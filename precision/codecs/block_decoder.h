// SPDX-License-Identifier: Apache-2.0
//
// Any columns of a row of codecs whose rows are blocks of BB_BLOCK values.
#ifndef BB_PRECISION_CODECS_BLOCK_DECODER_H
#define BB_PRECISION_CODECS_BLOCK_DECODER_H

#include "precision/codec_row.h"
#include "precision/codecs/plane_core.h"

#include <string.h>

/// Decodes `count` whole blocks of a row into `out` [count][BB_BLOCK], from one on.
typedef void bb_block_decoder(const bb_coded_matrix *matrix, bb_index row, bb_index block,
                              bb_index count, double *out);

/// Columns [column, column + count) into `out`.
static inline void bb_block_decoder_apply(bb_block_decoder *decode_blocks,
                                          const bb_coded_matrix *matrix, bb_index row,
                                          bb_index column, bb_index count, double *out)
{
    while (count > 0) {
        const bb_index skip = column % BB_BLOCK;
        bb_index take = BB_BLOCK - skip < count ? BB_BLOCK - skip : count;
        if (skip == 0 && count >= BB_BLOCK) {
            take = count / BB_BLOCK * BB_BLOCK;
            decode_blocks(matrix, row, column / BB_BLOCK, take / BB_BLOCK, out);
        } else {
            double block[BB_BLOCK];
            decode_blocks(matrix, row, column / BB_BLOCK, 1, block);
            memcpy(out, block + skip, (size_t)take * sizeof *out);
        }
        column += take;
        count -= take;
        out += take;
    }
}

#endif
