// SPDX-License-Identifier: Apache-2.0
#include "sim/run/dump.h"

#include <string.h>

static bool listed(const char *list, const char *name, size_t length)
{
    for (const char *cursor = list; *cursor != '\0';) {
        size_t found = strcspn(cursor, ",");
        if (found == length && strncmp(cursor, name, length) == 0) {
            return true;
        }
        cursor += found;
        cursor += *cursor == ',';
    }
    return false;
}

bb_status bb_dump_check(const char *names, const char *offered)
{
    bb_status status = BB_OK;
    for (const char *cursor = names; cursor != NULL && *cursor != '\0';) {
        size_t length = strcspn(cursor, ",");
        BB_REQUIRE(offered != NULL && length > 0 && listed(offered, cursor, length), BB_INVALID,
                   "--dump %s: '%.*s' is not one of the operators of this experiment: %s", names,
                   (int)length, cursor, offered == NULL ? "none" : offered);
        cursor += length;
        cursor += *cursor == ',';
    }
done:
    return status;
}

bool bb_dump_wanted(const char *names, const char *name)
{
    return names != NULL && listed(names, name, strlen(name));
}
