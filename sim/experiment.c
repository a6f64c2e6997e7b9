// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment.h"

#include "sim/ao/ao_experiment.h"
#include "sim/product/product_experiment.h"
#include "sim/reconstructor/reconstructor_experiment.h"
#include "sim/wafer/wafer_experiment.h"

#include <string.h>

enum { MAXIMUM_EXPERIMENTS = 16 };

static const bb_experiment *const rows[] = {
    &bb_wafer_experiment,
    &bb_ao_experiment,
    &bb_product_experiment,
    &bb_reconstructor_experiment,
};

const bb_experiment_table bb_experiments = {rows, (bb_index)(sizeof rows / sizeof rows[0])};

const bb_experiment *bb_experiment_find(const bb_experiment_table *table, const char *name)
{
    for (bb_index i = 0; i < table->count; ++i) {
        if (strcmp(table->rows[i]->name, name) == 0) {
            return table->rows[i];
        }
    }
    return NULL;
}

bb_status bb_experiment_load(const bb_experiment_table *table, const char *path,
                             const char *const *overrides, bb_index override_count,
                             bb_problems *problems, bb_config **out)
{
    return bb_experiment_load_text(table, path, NULL, overrides, override_count, problems, out);
}

bb_status bb_experiment_load_text(const bb_experiment_table *table, const char *path,
                                  const char *text, const char *const *overrides,
                                  bb_index override_count, bb_problems *problems, bb_config **out)
{
    bb_status status = BB_OK;
    bb_config *config = NULL;
    const bb_schema *schemas[MAXIMUM_EXPERIMENTS] = {NULL};
    bb_config_request request = {path, text, overrides, override_count, schemas, table->count};
    BB_REQUIRE(table->count <= MAXIMUM_EXPERIMENTS, BB_INTERNAL, "%td experiments, expected %d",
               table->count, MAXIMUM_EXPERIMENTS);
    for (bb_index i = 0; i < table->count; ++i) {
        schemas[i] = table->rows[i]->schema;
    }
    BB_TRY(bb_config_load(&request, problems, &config));
    const bb_experiment *experiment = bb_experiment_find(table, bb_config_schema(config)->name);
    BB_TRY(experiment->check(bb_config_study(config), config, problems));
    BB_REQUIRE(problems->count == 0, BB_INVALID, "%s: %td problem%s", path, problems->count,
               problems->count == 1 ? "" : "s");
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
