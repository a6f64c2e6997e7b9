// SPDX-License-Identifier: Apache-2.0
//
// Stands in for zfp_decoder_cuda.cu in a build without CUDA, where no cuda device opens.
#include "precision/codecs/zfp/zfp_decoder.h"

bb_status bb_zfp_decoding_cuda(void *stream, bb_index items, void *arguments)
{
    (void)stream;
    (void)items;
    (void)arguments;
    return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__, "zfp: this build has no CUDA");
}
