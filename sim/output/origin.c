// SPDX-License-Identifier: Apache-2.0
#include "sim/output/origin.h"

#include "sim/hdf5_library.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

static const struct {
    const char *name;
    size_t offset;
} sizes[] = {
    {"mesh_columns", offsetof(bb_origin, mesh_columns)},
    {"mesh_rows",    offsetof(bb_origin, mesh_rows)   },
    {"row_columns",  offsetof(bb_origin, row_columns) },
    {"row_rows",     offsetof(bb_origin, row_rows)    },
};
enum { SIZES = sizeof sizes / sizeof *sizes };

void bb_origin_say(bb_origin *origin, const char *yaml)
{
    const size_t length = strlen(yaml);
    if (length < sizeof origin->made_for) {
        memcpy(origin->made_for, yaml, length + 1);
        return;
    }
    XXH128_hash_t hash = XXH3_128bits(yaml, length);
    (void)snprintf(origin->made_for, sizeof origin->made_for, "digest: %016llx%016llx\n",
                   (unsigned long long)hash.high64, (unsigned long long)hash.low64);
}

bb_status bb_origin_write(int64_t dataset, const bb_origin *origin)
{
    bb_status status = BB_OK;
    for (int i = 0; i < SIZES; ++i) {
        const double size = *(const double *)((const char *)origin + sizes[i].offset);
        if (size != 0.0) {
            BB_TRY(bb_hdf5_write_attribute(dataset, sizes[i].name, NULL, size));
        }
    }
    if (origin->axis[0] != '\0') {
        BB_TRY(bb_hdf5_write_attribute(dataset, "axis", origin->axis, NAN));
    }
    if (origin->made_for[0] != '\0') {
        BB_TRY(bb_hdf5_write_attribute(dataset, "made_for", origin->made_for, NAN));
    }
done:
    return status;
}

bb_status bb_origin_read(int64_t dataset, bb_origin *out)
{
    bb_status status = BB_OK;
    *out = (bb_origin){0};
    for (int i = 0; i < SIZES; ++i) {
        BB_TRY(
            bb_hdf5_read_number(dataset, sizes[i].name, (double *)((char *)out + sizes[i].offset)));
    }
    BB_TRY(bb_hdf5_read_text(dataset, "made_for", out->made_for, sizeof out->made_for));
done:
    return status;
}
