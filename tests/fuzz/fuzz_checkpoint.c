// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: arbitrary bytes as a checkpoint. They form the whole file, or follow a valid
// header of 24 bytes or everything before the pieces. A correct checksum can be added, to reach the
// code behind it. A checkpoint is refused, or returns its pieces.
//
// Input: layout and requested sizes, then the bytes.
#include "core/digest.h"
#include "sim/output/checkpoint.h"
#include "tests/fuzz/fuzz_input.h"

enum { FIRST_BYTES = 24, SUM_BYTES = 32, MOST_BYTES = 1 << 16, PIECE_BYTES = 300 };

static const char SUBJECT[] = "experiment: wafer\nmesh:\n  spacing_mm: 6.0\nscan:\n  fields: [0]\n";
static uint8_t *head;
static size_t head_bytes;
static char path[300];

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    (void)snprintf(path, sizeof path, "%s", fuzz_path(".state"));
    fuzz_demand(bb_store_write(path, "checkpoint", SUBJECT, NULL, 0) == BB_OK, "a checkpoint");
    head_bytes = fuzz_read(path, &head) - SUM_BYTES;
    return 0;
}

static void write_file(const fuzz_input *in, size_t used, bool summed)
{
    static uint8_t bytes[2 * MOST_BYTES];
    memcpy(bytes, head, used);
    const size_t more = in->size < MOST_BYTES ? in->size : MOST_BYTES;
    memcpy(bytes + used, in->data, more);
    used += more;
    if (summed) {
        bb_digest_of(bytes, used, (char *)bytes + used);
        used += SUM_BYTES;
    }
    fuzz_write(path, bytes, used);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    const uint8_t how = fuzz_take(&in);
    bb_index sizes[4];
    bb_store *checkpoint = NULL;
    uint8_t piece[PIECE_BYTES];
    for (int i = 0; i < 4; ++i) {
        sizes[i] = fuzz_take(&in);
    }
    const size_t starts[4] = {0, FIRST_BYTES, FIRST_BYTES, head_bytes};
    write_file(&in, starts[how % 4], how % 4 > 1);
    bb_status status = bb_checkpoint_open(path, SUBJECT, &checkpoint);
    fuzz_demand((status == BB_OK) == (checkpoint != NULL), "a checkpoint where it is taken");
    for (int i = 0; status == BB_OK && i < 4; ++i) {
        void *taken = NULL;
        bb_index bytes = 0;
        status = i % 2 == 0 ? bb_store_read(checkpoint, piece, sizes[i])
                            : bb_store_read_new(checkpoint, &taken, &bytes);
        BB_RELEASE(&taken);
    }
    bb_store_close(&checkpoint);
    fuzz_settle(status);
    return 0;
}
