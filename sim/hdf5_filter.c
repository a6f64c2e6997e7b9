// SPDX-License-Identifier: Apache-2.0
#include "sim/hdf5_filter.h"

#include "sim/hdf5_library.h"

#include <hdf5.h>
#include <string.h>

enum { ZFP_FILTER = 32013, ACCURACY = 3, VALUES = 4 };

bool bb_hdf5_filter_zfp_is_present(void)
{
    return H5Zfilter_avail(ZFP_FILTER) > 0;
}

bb_status bb_hdf5_filter_zfp_require(void)
{
    bb_status status = BB_OK;
    BB_REQUIRE(bb_hdf5_filter_zfp_is_present(), BB_IO,
               "zfp as an HDF5 filter (%d) is not present: install Debian's "
               "hdf5-filter-plugin-zfp-serial, or name the plugin's folder in HDF5_PLUGIN_PATH",
               (int)ZFP_FILTER);
done:
    return status;
}

bb_status bb_hdf5_filter_zfp_add(int64_t list, double tolerance)
{
    bb_status status = BB_OK;
    unsigned values[VALUES] = {ACCURACY, 0, 0, 0};
    BB_TRY(bb_hdf5_filter_zfp_require());
    memcpy(&values[2], &tolerance, sizeof tolerance);
    BB_REQUIRE(H5Pset_filter(list, ZFP_FILTER, H5Z_FLAG_MANDATORY, VALUES, values) >= 0, BB_IO,
               "HDF5 refused its zfp filter: %s", bb_hdf5_library_error());
done:
    return status;
}

bb_status bb_hdf5_filters_require(int64_t dataset)
{
    bb_status status = BB_OK;
    hid_t list = -1;
    BB_REQUIRE((list = H5Dget_create_plist(dataset)) >= 0, BB_IO, "cannot read: %s",
               bb_hdf5_library_error());
    int count = H5Pget_nfilters(list);
    for (int i = 0; i < count; ++i) {
        unsigned flags = 0;
        unsigned settings = 0;
        size_t none = 0;
        H5Z_filter_t filter =
            H5Pget_filter2(list, (unsigned)i, &flags, &none, NULL, 0, NULL, &settings);
        if (filter == ZFP_FILTER) {
            BB_TRY(bb_hdf5_filter_zfp_require());
        }
        BB_REQUIRE(filter >= 0 && H5Zfilter_avail(filter) > 0, BB_IO,
                   "stored with HDF5 filter %d, which is not present", (int)filter);
    }
done:
    (void)H5Pclose(list);
    return status;
}
