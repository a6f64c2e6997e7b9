// SPDX-License-Identifier: Apache-2.0
#include "sim/plan.h"

#include <stdarg.h>
#include <stdio.h>

enum { VALUE_BYTES = 512 };

bb_status bb_plan_add(bb_plan *plan, const char *what, const char *format, ...)
{
    char value[VALUE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    return bb_text_add(&plan->lines, "  %-28s %s\n", what, value);
}

void bb_plan_release(bb_plan *plan)
{
    bb_text_release(&plan->lines);
}
