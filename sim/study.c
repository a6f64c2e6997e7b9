// SPDX-License-Identifier: Apache-2.0
#include "sim/study.h"

#include <stdio.h>
#include <string.h>

enum { NAME_LENGTH = 60, PATH_BYTES = 64 };

static const bb_key keys[] = {BB_MACHINE_PRICE_KEYS(bb_machine_price_config)};
const bb_schema bb_machine_price_schema = BB_SCHEMA("machine", bb_machine_price_config, keys);

bb_index bb_study_reference(const bb_pipeline_facts *pipelines, bb_index count)
{
    for (bb_index i = 0; i < count; ++i) {
        if (strcmp(pipelines[i].name, "reference") == 0) {
            return i;
        }
    }
    return 0;
}

static bool printable(const char *name)
{
    size_t length = strlen(name);
    for (const char *c = name; *c != '\0'; ++c) {
        if ((unsigned char)*c < ' ' || *c == 0x7f) {
            return false;
        }
    }
    return length > 0 && length <= NAME_LENGTH;
}

bb_status bb_study_check_pipelines(const bb_pipeline_facts *pipelines, bb_index count,
                                   const char *rule, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    char path[PATH_BYTES];
    for (bb_index i = 0; i < count; ++i) {
        const char *name = pipelines[i].name;
        (void)snprintf(path, sizeof path, "pipelines.%td.name", i);
        if (!printable(name)) {
            BB_TRY(bb_problems_add(problems, bb_config_place(config, path),
                                   "%s = \"%s\": expected 1 to %d printable characters", path, name,
                                   NAME_LENGTH));
        }
        for (bb_index j = 0; j < i; ++j) {
            if (strcmp(name, pipelines[j].name) == 0) {
                BB_TRY(bb_problems_add(problems, bb_config_place(config, path),
                                       "%s = %s: pipeline %td has this name too", path, name, j));
                break;
            }
        }
    }
    bb_index reference = bb_study_reference(pipelines, count);
    if (count > 0 && !pipelines[reference].full_precision) {
        (void)snprintf(path, sizeof path, "pipelines.%td", reference);
        BB_TRY(bb_problems_add(problems, bb_config_place(config, path),
                               "%s: the reference (the pipeline called reference, else the first) "
                               "must have %s",
                               path, rule));
    }
done:
    return status;
}
