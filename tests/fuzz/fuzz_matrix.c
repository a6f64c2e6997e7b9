// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: an edited file of operators as a user's matrix: dense or on meshes, symmetric
// or not, in any unit. If only the digest is wrong, it is corrected. The matrix is refused, or has
// finite values, which are the same when read whole and in blocks.
//
// Input: open mode, then the edits of BB_FUZZ_SEEDS/matrix.h5.
#include "sim/input/hdf5_library.h"
#include "sim/input/matrix_file.h"
#include "tests/fuzz/hdf5_edit.h"
#include "tests/fuzz/reader_here.h"

#include <math.h>

enum { MOST_VALUES = 1 << 14 };

static uint8_t *seed;
static size_t seed_bytes;
static char path[300];

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    fuzz_demand(bb_hdf5_library_start() == BB_OK, "HDF5");
    (void)setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);
    (void)snprintf(path, sizeof path, "%s", fuzz_path(".h5"));
    seed_bytes = fuzz_read(BB_FUZZ_SEEDS "/matrix.h5", &seed);
    return 0;
}

static bb_status read_blocks(const bb_matrix_source *source, bool mirrored)
{
    bb_status status = BB_OK;
    double *contents = NULL;
    double *block = NULL;
    const bb_index rows = source->rows;
    const bb_index columns = source->columns;
    BB_TRY(BB_ALLOCATE(rows * columns, &contents));
    BB_TRY(BB_ALLOCATE(rows * columns, &block));
    BB_TRY(bb_matrix_source_fill(source, 0, 0, bb_view_matrix(contents, rows, columns)));
    const bb_index row = rows / 2;
    const bb_index column = columns / 3;
    BB_TRY(bb_matrix_source_fill(source, row, column,
                                 bb_view_matrix(block, rows - row, columns - column)));
    for (bb_index i = row; i < rows; ++i) {
        for (bb_index j = column; j < columns; ++j) {
            const double value = block[(i - row) * (columns - column) + j - column];
            fuzz_demand(isfinite(value) && value == contents[i * columns + j],
                        "the same in blocks");
            fuzz_demand(!mirrored || value == contents[j * columns + i], "a symmetric matrix");
        }
    }
done:
    BB_RELEASE(&contents);
    BB_RELEASE(&block);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"/operators/Cmm", "/operators/Ctm_0",
                                        "/operators/Cmm_weights", "/results/operator_bytes"};
    fuzz_input in = {data, size};
    const uint8_t how = fuzz_take(&in);
    const bool symmetric = how / 4 % 2 == 1;
    const bb_matrix_place place = {path, names[how % 4]};
    bb_matrix_file *file = NULL;
    fuzz_write(path, seed, seed_bytes);
    edit_file(path, &in);
    bb_status status = bb_matrix_file_open(&place, symmetric, "A", &file);
    if (status != BB_OK && edit_mend(path, place.dataset, "digest")) {
        bb_status_clear();
        status = bb_matrix_file_open(&place, symmetric, "A", &file);
    }
    if (status == BB_OK && how / 8 % 2 == 1) {
        status = bb_matrix_file_expect(file, (bb_quantity)(how / 16 % 4));
    }
    const bb_matrix_source *source = file == NULL ? NULL : bb_matrix_file_source(file);
    if (status == BB_OK && source->rows * source->columns <= MOST_VALUES) {
        status = read_blocks(source, symmetric);
    }
    bb_matrix_file_close(&file);
    fuzz_demand(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL) == 0, "everything closed");
    fuzz_settle(status);
    return 0;
}
