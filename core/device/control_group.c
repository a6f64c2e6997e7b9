// SPDX-License-Identifier: Apache-2.0
#include "core/device/control_group.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096, LINE_BYTES = 4096 };

// "max" or no file: no limit. For no limit v1 has 2^63 less a page, more than any machine has.
static double read_limit(const char *path)
{
    char line[64] = "";
    FILE *file = fopen(path, "re");
    const bool is_read = file != NULL && fgets(line, sizeof line, file) != NULL;
    if (file != NULL) {
        (void)fclose(file);
    }
    char *end = line;
    const double bytes = is_read ? strtod(line, &end) : INFINITY;
    return end != line && bytes > 0.0 && bytes < 0x1p62 ? bytes : INFINITY;
}

// Finds the smallest limit of a group and its ancestors, up to the root of the tree (the
// container's own group if the path is the host's).
static double read_limits(const char *tree, char *group, const char *name)
{
    char path[PATH_BYTES + LINE_BYTES];
    double least = INFINITY;
    for (;;) {
        (void)snprintf(path, sizeof path, "%s%s/%s", tree, group, name);
        least = fmin(least, read_limit(path));
        char *slash = strrchr(group, '/');
        if (slash == NULL) {
            return least;
        }
        *slash = '\0';
    }
}

// Returns whether a list "a,b,memory" contains `memory`.
static bool has_memory(const char *controllers)
{
    for (const char *name = controllers; *name != '\0';) {
        const size_t length = strcspn(name, ",");
        if (length == 6 && strncmp(name, "memory", 6) == 0) {
            return true;
        }
        name += length + (name[length] == ',');
    }
    return false;
}

double bb_control_group_memory(const char *membership, const char *root)
{
    char line[LINE_BYTES];
    char tree[PATH_BYTES];
    double least = INFINITY;
    FILE *file = fopen(membership, "re");
    // A line has the form NUMBER:CONTROLLERS:PATH; v2 has no controllers.
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (group == NULL) {
            continue;
        }
        *controllers++ = '\0';
        *group++ = '\0';
        if (controllers[0] == '\0') {
            (void)snprintf(tree, sizeof tree, "%s", root);
            least = fmin(least, read_limits(tree, group, "memory.max"));
        } else if (has_memory(controllers)) {
            (void)snprintf(tree, sizeof tree, "%s/memory", root);
            least = fmin(least, read_limits(tree, group, "memory.limit_in_bytes"));
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return least;
}
