// SPDX-License-Identifier: Apache-2.0
#include "sim/dump.h"

#include <string.h>

static bool listed(const char *list, const char *name, size_t length)
{
    for (const char *at = list; *at != '\0';) {
        size_t found = strcspn(at, ",");
        if (found == length && strncmp(at, name, length) == 0) {
            return true;
        }
        at += found;
        at += *at == ',';
    }
    return false;
}

bb_status bb_dump_check(const char *names, const char *offered)
{
    bb_status status = BB_OK;
    for (const char *at = names; at != NULL && *at != '\0';) {
        size_t length = strcspn(at, ",");
        BB_REQUIRE(offered != NULL && length > 0 && listed(offered, at, length), BB_INVALID,
                   "--dump %s: '%.*s' is not one of the operators of this experiment: %s", names,
                   (int)length, at, offered == NULL ? "it has none" : offered);
        at += length;
        at += *at == ',';
    }
done:
    return status;
}

bool bb_dump_wanted(const char *names, const char *name)
{
    return names != NULL && listed(names, name, strlen(name));
}
