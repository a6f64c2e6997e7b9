// SPDX-License-Identifier: Apache-2.0
#include "sim/config/shipped_folder.h"

#include "build_info.h"
#include "core/memory.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The folder that shipped files lie in; "" where the program does not know where it stands.
static bb_status find_share(char **out)
{
    const char *named = getenv("BITBUDGET_SHARE");
    char program[PATH_MAX];
    if (named != NULL && named[0] != '\0') {
        return bb_memory_text(named, out);
    }
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length < 0 ? 0 : length] = '\0';
    char *slash = strrchr(program, '/');
    if (slash == NULL) {
        return bb_memory_text("", out);
    }
    *slash = '\0';
    return bb_memory_printf(out, "%s/" BB_SHARE_FROM_PROGRAM, program);
}

bb_status bb_shipped_folder_find(char *out[BB_SHIPPED_FOLDERS])
{
    bb_status status = BB_OK;
    char *share = NULL;
    char resolved[PATH_MAX];
    BB_TRY(find_share(&share));
    const char *plain = realpath(share, resolved); // without the ".." of bin/../share
    BB_TRY(bb_memory_text("configs/", &out[0]));
    BB_TRY(bb_memory_printf(&out[1], "%s/configs/", plain == NULL ? share : plain));
done:
    BB_RELEASE(&share);
    return status;
}
