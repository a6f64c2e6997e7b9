// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment.h"

#include "core/device/device.h"
#include "sim/ao/ao_experiment.h"
#include "sim/ao/ao_plan.h"
#include "sim/ao/ao_study.h"
#include "sim/product/product_experiment.h"
#include "sim/product/product_study.h"
#include "sim/reconstructor/reconstructor_experiment.h"
#include "sim/reconstructor/reconstructor_study.h"
#include "sim/wafer/realtime/wafer_realtime.h"
#include "sim/wafer/wafer_convergence.h"
#include "sim/wafer/wafer_experiment.h"
#include "sim/wafer/wafer_plan.h"
#include "sim/wafer/wafer_study.h"
#include "sim/wafer/wafer_view.h"

#include <string.h>

enum { MAXIMUM_EXPERIMENTS = 16 };

static const bb_column wafer_columns[] = {
    {"overlay_error_x_nm",  "overlay x [nm]", 1.0 },
    {"overlay_error_y_nm",  "overlay y [nm]", 1.0 },
    {"overlay_residual_nm", "residual [nm]",  1.0 },
    {"qoi_relative_error",  "relative error", 1.0 },
    {"operator_bytes",      "operator [MB]",  1e-6},
    {"compression_ratio",   "ratio to fp32",  1.0 },
    {"solve_time_s",        "solve [ms]",     1e3 },
    {"encode_time_s",       "encode [ms]",    1e3 },
    {"energy_j",            "energy [J]",     1.0 },
};
static const char *const wafer_prices[] = {"overlay_error_x_nm", "overlay_error_y_nm",
                                           "overlay_residual_nm"};

static const bb_column ao_columns[] = {
    {"strehl",             "strehl",         1.0 },
    {"strehl_loss",        "strehl loss",    1.0 },
    {"residual_rms_nm",    "residual [nm]",  1.0 },
    {"qoi_relative_error", "relative error", 1.0 },
    {"operator_bytes",     "operator [MB]",  1e-6},
    {"compression_ratio",  "ratio to fp32",  1.0 },
    {"solve_time_s",       "solve [ms]",     1e3 },
    {"encode_time_s",      "encode [ms]",    1e3 },
    {"energy_j",           "energy [J]",     1.0 },
};
static const bb_column product_columns[] = {
    {"qoi_relative_error",   "relative error", 1.0 },
    {"worst_relative_error", "worst vector",   1.0 },
    {"operator_bytes",       "operator [MB]",  1e-6},
    {"compression_ratio",    "ratio to fp32",  1.0 },
    {"solve_time_s",         "solve [ms]",     1e3 },
    {"encode_time_s",        "encode [ms]",    1e3 },
};
static const char *const product_prices[] = {"qoi_relative_error"};

static const bb_column reconstructor_columns[] = {
    {"variance_loss",      "variance loss",  1.0 },
    {"qoi_relative_error", "relative error", 1.0 },
    {"operator_bytes",     "operator [MB]",  1e-6},
    {"compression_ratio",  "ratio to fp32",  1.0 },
    {"solve_time_s",       "solve [ms]",     1e3 },
    {"encode_time_s",      "encode [ms]",    1e3 },
};
static const char *const reconstructor_prices[] = {"variance_loss"};

static const char *const ao_prices[] = {"strehl_loss"};

// clang-format off
static const bb_experiment rows[] = {
    {.name = "wafer", .schema = &bb_wafer_study_schema,
     .starter = bb_wafer_study_starter,
     .check = bb_wafer_study_check, .plan = bb_wafer_plan,
     .run = bb_wafer_experiment_run, .converge = bb_wafer_converge,
     .realtime = BB_CUDA_TWIN(bb_wafer_realtime_run),
     .realtime_absent = "a control loop runs on a cuda device: this build has no CUDA",
     .columns = wafer_columns, .column_count = sizeof wafer_columns / sizeof wafer_columns[0],
     .prices = wafer_prices, .price_count = sizeof wafer_prices / sizeof wafer_prices[0],
     .price_name = "overlay error [nm]", .restarts = true, .sheet = "probes",
     .has_sheet = bb_wafer_study_has_probes,
     .operators = "rows inputs", .describe = bb_wafer_view_describe},
    {.name = "ao", .schema = &bb_ao_study_schema,
     .starter = bb_ao_study_starter,
     .check = bb_ao_study_check, .plan = bb_ao_plan, .run = bb_ao_experiment_run,
     .columns = ao_columns, .column_count = sizeof ao_columns / sizeof ao_columns[0],
     .prices = ao_prices, .price_count = sizeof ao_prices / sizeof ao_prices[0],
     .price_name = "strehl loss", .restarts = true,
     .operators = "Cmm Cmm_core Ctm Ctt R pupil"},
    {.name = "product", .schema = &bb_product_study_schema,
     .starter = bb_product_study_starter,
     .check = bb_product_study_check, .plan = bb_product_plan, .run = bb_product_experiment_run,
     .columns = product_columns,
     .column_count = sizeof product_columns / sizeof product_columns[0],
     .prices = product_prices, .price_count = sizeof product_prices / sizeof product_prices[0],
     .price_name = "relative error", .operators = "Y C"},
    {.name = "reconstructor", .schema = &bb_reconstructor_study_schema,
     .starter = bb_reconstructor_study_starter,
     .check = bb_reconstructor_study_check, .plan = bb_reconstructor_plan,
     .run = bb_reconstructor_experiment_run,
     .columns = reconstructor_columns,
     .column_count = sizeof reconstructor_columns / sizeof reconstructor_columns[0],
     .prices = reconstructor_prices,
     .price_count = sizeof reconstructor_prices / sizeof reconstructor_prices[0],
     .price_name = "variance loss", .operators = "R"},
};
// clang-format on

const bb_experiment_table bb_experiments = {rows, (bb_index)(sizeof rows / sizeof rows[0])};

const bb_experiment *bb_experiment_find(const bb_experiment_table *table, const char *name)
{
    for (bb_index i = 0; i < table->count; ++i) {
        if (strcmp(table->rows[i].name, name) == 0) {
            return &table->rows[i];
        }
    }
    return NULL;
}

bb_status bb_experiment_load(const bb_experiment_table *table, const char *path,
                             const char *const *overrides, bb_index override_count,
                             bb_problems *problems, bb_config **out)
{
    bb_status status = BB_OK;
    bb_config *config = NULL;
    const bb_schema *schemas[MAXIMUM_EXPERIMENTS] = {NULL};
    bb_config_request request = {path, overrides, override_count, schemas, table->count};
    BB_REQUIRE(table->count <= MAXIMUM_EXPERIMENTS, BB_INTERNAL, "%td experiments, expected %d",
               table->count, MAXIMUM_EXPERIMENTS);
    for (bb_index i = 0; i < table->count; ++i) {
        schemas[i] = table->rows[i].schema;
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
