// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: arbitrary bytes as a zfp stream, decoded sequentially and with a valid or wrong
// index. The decoder stays inside the stream and the array. If the stream decodes, decoding with
// its index gives the same values.
//
// Input: type, shape, settings, index, then the stream.
#include "precision/codecs/zfp/zfp_decoder.h"
#include "tests/fuzz/fuzz_input.h"

static bb_zfp_settings draw_settings(fuzz_input *in)
{
    bb_zfp_settings settings;
    settings.minimum_bits = fuzz_take(in);
    settings.maximum_bits = settings.minimum_bits + fuzz_take(in) * (1u << fuzz_take(in) % 7);
    settings.maximum_precision = 1 + fuzz_take(in) % 64u;
    settings.minimum_exponent = fuzz_take(in) % 4 == 0 ? -1075 : (int)fuzz_take(in) - 128;
    return settings;
}

static void decode_with_index(bb_device *cpu, const bb_zfp_stream *stream, bb_zfp_index *index,
                              const void *expected, size_t bytes)
{
    bb_zfp_decoder *decoder = NULL;
    void *out = fuzz_zeroed((bb_index)bytes, 1);
    if (bb_zfp_decoder_create(cpu, stream, index, 1, &decoder) == BB_OK) {
        bb_status status = bb_zfp_decoder_run(decoder, out, NULL);
        fuzz_demand(expected == NULL || (status == BB_OK && memcmp(out, expected, bytes) == 0),
                    "the same values by its index");
    }
    bb_zfp_decoder_destroy(&decoder);
    bb_memory_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    bb_device *cpu = NULL;
    bb_zfp_index index = {0};
    bb_zfp_stream stream = {.type = fuzz_take(&in) % 2 == 0 ? BB_F32 : BB_F64};
    bb_zfp_shape shape = {1 + fuzz_take(&in) % 4, 1 + fuzz_take(&in) % 40, 1, 1, 1};
    uint8_t y = fuzz_take(&in), z = fuzz_take(&in), run = fuzz_take(&in);
    shape.ny = shape.dimensions > 1 ? 1 + y % 13 : 1;
    shape.nz = shape.dimensions > 2 ? 1 + z % 9 : 1;
    shape.nw = shape.dimensions > 3 ? 1 + z / 9 % 6 : 1;
    stream.shape = shape;
    stream.settings = draw_settings(&in);
    uint8_t wrong = fuzz_take(&in);
    // A separate allocation, so that sanitizers detect reads past its end.
    unsigned char *copy = fuzz_zeroed((bb_index)in.size + 1, 1);
    memcpy(copy, in.data, in.size);
    stream.bytes = copy;
    stream.size = in.size;
    stream.bits = 8 * (uint64_t)in.size;
    if (bb_zfp_stream_check(&stream) == BB_OK && bb_device_open(BB_DEVICE_CPU, 0, &cpu) == BB_OK) {
        size_t bytes = (size_t)bb_zfp_stream_values(&stream) * bb_type_bytes(stream.type);
        void *out = fuzz_zeroed((bb_index)bytes, 1);
        bool good = bb_zfp_stream_decode(&stream, out) == BB_OK;
        bool indexed = bb_zfp_index_create(&stream, 1 + run % 9, &index) == BB_OK;
        fuzz_demand(good == indexed, "an index of a stream that decodes");
        if (indexed) {
            decode_with_index(cpu, &stream, &index, out, bytes);
        }
        if (indexed && index.lengths != NULL) {
            index.lengths[wrong % index.runs] ^= (uint16_t)(wrong * 257u);
            index.bases[0] ^= (uint64_t)wrong << (wrong % 57);
            decode_with_index(cpu, &stream, &index, NULL, bytes);
        }
        bb_zfp_index_release(&index);
        bb_memory_release(&out);
        bb_device_close(&cpu);
    }
    bb_memory_release((void **)&copy);
    fuzz_demand(bb_memory_blocks() == 0, "no memory kept");
    return 0;
}
