// SPDX-License-Identifier: Apache-2.0
#include "sim/run/study.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAME_LENGTH = 60, PATH_BYTES = 64, MESSAGE_BYTES = 4096 };

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
        BB_TRY(bb_study_refuse(!printable(name), config, problems,
                               "%s = \"%s\": expected 1 to %d printable characters", path, name,
                               NAME_LENGTH));
        for (bb_index j = 0; j < i; ++j) {
            if (strcmp(name, pipelines[j].name) == 0) {
                BB_TRY(bb_study_refuse(true, config, problems,
                                       "%s = %s: pipeline %td has the same name", path, name, j));
                break;
            }
        }
    }
    bb_index reference = bb_study_reference(pipelines, count);
    BB_TRY(bb_study_refuse(
        count > 0 && !pipelines[reference].full_precision, config, problems,
        "pipelines.%td: the reference (the pipeline called reference, else the first) must have %s",
        reference, rule));
done:
    return status;
}

// Place of the key whose path starts a message, as in "guide_stars[3].magnitude is missing".
static bb_place place_of_message(const bb_config *config, const char *message)
{
    char path[128];
    size_t length = 0;
    for (const char *c = message; *c != '\0' && length + 1 < sizeof path; ++c) {
        if (strchr(" :=", *c) != NULL) {
            break;
        }
        if (*c != ']') {
            path[length++] = *c;
        }
        if (*c == '[') {
            path[length - 1] = '.';
        }
    }
    path[length] = '\0';
    return bb_config_place(config, path);
}

bb_status bb_study_refuse(bool refused, const bb_config *config, bb_problems *problems,
                          const char *format, ...)
{
    char message[MESSAGE_BYTES];
    va_list arguments;
    if (!refused) {
        return BB_OK;
    }
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return bb_problems_add(problems, place_of_message(config, message), "%s", message);
}

// True if a message starts with the path of a key of the study.
static bool begins_with_key(const bb_schema *schema, const char *message)
{
    const size_t length = strcspn(message, " :=.[");
    bb_index k = 0;
    while (k < schema->key_count && (strlen(schema->keys[k].name) != length ||
                                     strncmp(schema->keys[k].name, message, length) != 0)) {
        ++k;
    }
    return k < schema->key_count && message[length] != ' ';
}

bb_status bb_study_place_failure(bb_status failure, const bb_config *config)
{
    bb_status status = BB_OK;
    bb_status_record record;
    bb_problems problems = {0};
    if ((failure != BB_INVALID && failure != BB_IO) ||
        !begins_with_key(bb_config_schema(config), bb_status_message())) {
        return failure;
    }
    bb_status_save(&record);
    BB_TRY(
        bb_problems_add(&problems, place_of_message(config, record.message), "%s", record.message));
    const char *line = bb_text_string(&problems.lines);
    status = bb_status_set(failure, __FILE__, __LINE__, "%.*s", (int)strcspn(line, "\n"), line);
done:
    bb_problems_release(&problems);
    return status;
}

bb_status bb_study_check_rules(bb_status rules, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    if (rules == BB_INVALID) {
        const char *message = bb_status_message();
        BB_TRY(bb_problems_add(problems, place_of_message(config, message), "%s", message));
    } else {
        BB_TRY(rules);
    }
done:
    return status;
}
