// SPDX-License-Identifier: Apache-2.0
#include "sim/run/experiment.h"

#include "sim/run/part.h"

#include <string.h>

enum { MAXIMUM_EXPERIMENTS = 16 };

static const bb_experiment *const rows[] = {
    &bb_wafer_experiment,         &bb_ao_experiment,     &bb_product_experiment,
    &bb_reconstructor_experiment, &bb_fringe_experiment,
};

const bb_experiment_table bb_experiments = {rows, (bb_index)(sizeof rows / sizeof rows[0])};

const bb_output_table *bb_experiment_output(const bb_experiment *experiment, bb_index index)
{
    return experiment->parts == NULL ? NULL : bb_parts_output(experiment->parts, index);
}

const bb_experiment *bb_experiment_find(const bb_experiment_table *table, const char *name)
{
    for (bb_index i = 0; i < table->count; ++i) {
        if (strcmp(table->rows[i]->name, name) == 0) {
            return table->rows[i];
        }
    }
    return NULL;
}

static bb_status check_study(const bb_experiment_table *table, const bb_config *config,
                             bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_experiment *experiment = bb_experiment_find(table, bb_config_schema(config)->name);
    BB_TRY(experiment->check(bb_config_study(config), config, problems));
    BB_REQUIRE(problems->count == 0, BB_INVALID, "%s: %td problem%s",
               bb_config_file_at(config, 0).name, problems->count, problems->count == 1 ? "" : "s");
done:
    return status;
}

// Collects the schemas of the table's experiments.
static bb_status collect_schemas(const bb_experiment_table *table,
                                 const bb_schema *schemas[MAXIMUM_EXPERIMENTS])
{
    bb_status status = BB_OK;
    BB_REQUIRE(table->count <= MAXIMUM_EXPERIMENTS, BB_INTERNAL, "%td experiments, expected %d",
               table->count, MAXIMUM_EXPERIMENTS);
    for (bb_index i = 0; i < table->count; ++i) {
        schemas[i] = table->rows[i]->schema;
    }
done:
    return status;
}

bb_status bb_experiment_load_by(const bb_experiment_table *table, bb_config_request request,
                                bb_problems *problems, bb_config **out)
{
    bb_status status = BB_OK;
    bb_config *config = NULL;
    const bb_schema *schemas[MAXIMUM_EXPERIMENTS] = {NULL};
    BB_TRY(collect_schemas(table, schemas));
    request.schemas = schemas;
    request.schema_count = table->count;
    BB_TRY(bb_config_load(&request, problems, &config));
    BB_TRY(check_study(table, config, problems));
    *out = config;
    config = NULL;
done:
    bb_config_destroy(&config);
    return status;
}

bb_status bb_experiment_load(const bb_experiment_table *table, const char *path,
                             const char *const *overrides, bb_index override_count,
                             bb_problems *problems, bb_config **out)
{
    const bb_config_request request = {
        .path = path, .overrides = overrides, .override_count = override_count};
    return bb_experiment_load_by(table, request, problems, out);
}

bb_status bb_experiment_load_text(const bb_experiment_table *table, const bb_config_file *file,
                                  const char *const *overrides, bb_index override_count,
                                  bb_problems *problems, bb_config **out)
{
    const bb_config_request request = {.path = file->name,
                                       .overrides = overrides,
                                       .override_count = override_count,
                                       .files = file,
                                       .file_count = 1,
                                       .ignores_folders = true};
    return bb_experiment_load_by(table, request, problems, out);
}

bb_status bb_experiment_base_read(const bb_experiment_table *table, bb_config_request request,
                                  bb_problems *problems, bb_config_base **out)
{
    bb_status status = BB_OK;
    const bb_schema *schemas[MAXIMUM_EXPERIMENTS] = {NULL};
    BB_TRY(collect_schemas(table, schemas));
    request.schemas = schemas;
    request.schema_count = table->count;
    BB_TRY(bb_config_base_read(&request, problems, out));
done:
    return status;
}

bb_status bb_experiment_base_bind(const bb_experiment_table *table, const bb_config_base *base,
                                  const char *const *overrides, bb_index count,
                                  bb_problems *problems, bb_config **out)
{
    bb_status status = BB_OK;
    bb_config *config = NULL;
    BB_TRY(bb_config_base_bind(base, overrides, count, problems, &config));
    BB_TRY(check_study(table, config, problems));
    *out = config;
    config = NULL;
done:
    bb_config_destroy(&config);
    return status;
}

bb_status bb_experiment_list(const bb_experiment_table *table, bb_experiment_text text,
                             bb_text *out)
{
    bb_status status = BB_OK;
    const char *between = "";
    for (bb_index i = 0; i < table->count; ++i) {
        if (text(table->rows[i]) != NULL) {
            BB_TRY(bb_text_add(out, "%s%s", between, table->rows[i]->name));
            between = ", ";
        }
    }
done:
    return status;
}
