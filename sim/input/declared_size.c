// SPDX-License-Identifier: Apache-2.0
#include "sim/input/declared_size.h"

#include "core/address_space.h"
#include "core/need.h"
#include "sim/input/hdf5_library.h"

#include <hdf5.h>
#include <math.h>
#include <unistd.h>

// Lower bound per value: the reference has every value of a matrix in fp64, and half of the values
// of a covariance.
static const double LEAST_BYTES = 4.0;

bb_status bb_declared_size_check(int64_t dataset, double values, double file_bytes)
{
    bb_status status = BB_OK;
    hid_t list = -1;
    hid_t type = -1;
    BB_REQUIRE((list = H5Dget_create_plist(dataset)) >= 0 && (type = H5Dget_type(dataset)) >= 0,
               BB_IO, "cannot read: %s", bb_hdf5_library_error());
    const H5D_layout_t layout = H5Pget_layout(list);
    if (layout == H5D_CONTIGUOUS && H5Pget_external_count(list) == 0) {
        const double bytes = values * (double)H5Tget_size(type);
        BB_REQUIRE(
            bytes <= file_bytes, BB_IO,
            "declares %.0f bytes of values in a file of %.0f: damaged, truncated or never written",
            bytes, file_bytes);
    }
    if (layout == H5D_CHUNKED) {
        const double bytes = (double)H5Dget_storage_size(dataset);
        BB_REQUIRE(bytes > 0.0, BB_IO, "declares %.0f values but none was ever written", values);
        BB_REQUIRE(bytes <= file_bytes, BB_IO,
                   "declares %.0f bytes of chunks in a file of %.0f: damaged or truncated", bytes,
                   file_bytes);
    }
done:
    if (type >= 0) {
        (void)H5Tclose(type);
    }
    if (list >= 0) {
        (void)H5Pclose(list);
    }
    return status;
}

static double machine_bytes(void)
{
    return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

bb_status bb_declared_size_fits(bb_index rows, bb_index columns)
{
    bb_status status = BB_OK;
    const double bytes = 8.0 * (double)rows * (double)columns;
    const double machine = machine_bytes();
    const double rest = bb_address_space_left();
    BB_REQUIRE(bytes <= machine, BB_MEMORY,
               "%td x %td values are %.1f GB in memory, this machine has %.1f", rows, columns,
               1e-9 * bytes, 1e-9 * machine);
    BB_REQUIRE(bytes <= rest, BB_MEMORY,
               "%td x %td values are %.1f MB in memory, the limit of this process (ulimit -v) "
               "leaves %.1f",
               rows, columns, 1e-6 * bytes, 1e-6 * rest);
done:
    return status;
}

bb_status bb_declared_size_plans(bb_index rows, bb_index columns)
{
    bb_status status = BB_OK;
    const double bytes = LEAST_BYTES * (double)rows * (double)columns;
    const double maximum = fmin(BB_NEED_HOPELESS * machine_bytes(), bb_address_space_left());
    BB_REQUIRE(bytes <= maximum, BB_MEMORY,
               "%td x %td values need %.1f GB or more, the limit of a run on this machine is %.1f",
               rows, columns, 1e-9 * bytes, 1e-9 * maximum);
done:
    return status;
}
