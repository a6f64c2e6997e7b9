// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/updated_source.h"

bb_need bb_updated_source_need(bb_index rows, bb_index columns, bb_index rank)
{
    const double factors = (double)rank * ((double)rows + (double)columns);
    return (bb_need){
        .host_bytes = sizeof(double) * (double)rank * (double)columns, // W^T
        .device_bytes = sizeof(double) * (factors + (double)BB_UPDATED_SOURCE_ITEMS),
    };
}
