// SPDX-License-Identifier: Apache-2.0
#include "sim/input/axis_name.h"

#include <ctype.h>
#include <string.h>

int bb_axis_name_find(const char *text)
{
    int found = -1;
    unsigned char before = ' ';
    // What stands behind "of pipeline" or ", pipeline" is a name, "y" perhaps.
    const char *name = strstr(text, "of pipeline ");
    name = name != NULL ? name : strstr(text, ", pipeline ");
    const char *end = name != NULL ? name : text + strlen(text);
    for (const char *next = text; next < end; ++next) {
        const unsigned char after = (unsigned char)next[1];
        const int axis = tolower((unsigned char)*next) - 'x';
        if (axis >= 0 && axis < 3 && !isalnum(before) && !isalnum(after)) {
            if (found >= 0 && found != axis) {
                return -1;
            }
            found = axis;
        }
        before = (unsigned char)*next;
    }
    return found;
}
