// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: arbitrary bytes as a FITS file. The file is refused, or is a matrix of finite
// values that can be read completely. If opened as symmetric, both halves are equal.
//
// Input: requested part and read mode, then the file.
#include "sim/input/hdf5_library.h"
#include "sim/input/matrix_file.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/reader_here.h"

#include <math.h>

enum { MOST_VALUES = 1 << 16 };

static char path[300];

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    fuzz_demand(bb_hdf5_library_start() == BB_OK, "HDF5");
    (void)snprintf(path, sizeof path, "%s", fuzz_path(".fits"));
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const parts[] = {"1", "2", "A", "0", "-1", "99999999999"};
    fuzz_input in = {data, size};
    const uint8_t how = fuzz_take(&in);
    const bb_matrix_place place = {path, parts[how % 6]};
    bb_matrix_file *file = NULL;
    double *values = NULL;
    fuzz_write(path, in.data, in.size);
    bb_status status = bb_matrix_file_open(&place, how / 6 % 2 == 1, "A", &file);
    if (status == BB_OK) {
        status = bb_matrix_file_expect(file, (bb_quantity)(how / 12 % 4));
    }
    const bb_matrix_source *source = file == NULL ? NULL : bb_matrix_file_source(file);
    if (status == BB_OK && source->rows * source->columns <= MOST_VALUES) {
        fuzz_demand(BB_ALLOCATE(source->rows * source->columns, &values) == BB_OK, "memory");
        status = bb_matrix_source_fill(source, 0, 0,
                                       bb_view_matrix(values, source->rows, source->columns));
        for (bb_index i = 0; status == BB_OK && i < source->rows * source->columns; ++i) {
            fuzz_demand(isfinite(values[i]), "finite values");
        }
    }
    BB_RELEASE(&values);
    bb_matrix_file_close(&file);
    fuzz_settle(status);
    return 0;
}
