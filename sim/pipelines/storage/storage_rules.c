// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/storage/storage_rules.h"

#include "sim/pipelines/storage/column_scale.h"
#include "sim/pipelines/storage/factor_storage.h"
#include "sim/pipelines/storage/promised_storage.h"

#include <stdio.h>

enum { LEAST_VALUES = 64 }; // of a matrix that is laid out for a check

// A key that says how something is stored where nothing is; NULL: none.
static const char *idle_key(const bb_factor_pipeline *pipeline)
{
    return pipeline->row_scale != (int)BB_ROW_SCALE_NONE         ? "scale"
           : pipeline->stored != (int)BB_STORED_SLOPES           ? "operator"
           : pipeline->column_scale != (int)BB_COLUMN_SCALE_NONE ? "column_scale"
           : pipeline->filter != (int)BB_SLOPE_FILTER_NONE       ? "filter"
           : bb_promised_storage_is_given(pipeline)              ? "promise"
                                                                 : NULL;
}

// Whether a codec takes rows that are no grid of columns that are no mesh; it says so where it lays
// a matrix out.
static bb_status check_layout(const bb_factor_pipeline *asked, bb_index index,
                              const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline pipeline = bb_promised_storage_widest(asked);
    const bb_matrix_layout layout = {.rows = LEAST_VALUES, .columns = LEAST_VALUES, .range = 1.0};
    bb_coded_matrix *matrix = NULL;
    char path[64];
    status = bb_coded_matrix_create(&pipeline.storage, (bb_row_scale)pipeline.row_scale, &layout,
                                    &matrix);
    if (status == BB_INVALID) {
        (void)snprintf(path, sizeof path, "pipelines.%td.storage", index);
        status = bb_problems_add(problems, bb_config_place(config, path),
                                 "pipelines[%td].storage: %s", index, bb_status_message());
        bb_status_clear();
    }
    bb_coded_matrix_destroy(&matrix);
    return status;
}

bb_status bb_storage_rules_check(const bb_factor_pipeline *pipeline, bb_index index,
                                 const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    char path[64];
    char sentence[200];
    (void)snprintf(path, sizeof path, "pipelines.%td.storage", index);
    if (!bb_factor_storage_is_given(pipeline)) {
        const char *const idle = idle_key(pipeline);
        if (idle != NULL) {
            (void)snprintf(path, sizeof path, "pipelines.%td.%s", index, idle);
            BB_TRY(bb_problems_add(problems, bb_config_place(config, path),
                                   "pipelines[%td].%s: of no effect without storage", index, idle));
        }
        goto done;
    }
    if (bb_column_scale_needs_factor((bb_column_scale)pipeline->column_scale) &&
        !bb_codec_sweeps(&pipeline->storage)) {
        (void)snprintf(path, sizeof path, "pipelines.%td.column_scale", index);
        BB_TRY(
            bb_problems_add(problems, bb_config_place(config, path),
                            "pipelines[%td].column_scale: %s goes with rounding: sweep, expected "
                            "none or deviation",
                            index, bb_column_scale_names[pipeline->column_scale]));
        (void)snprintf(path, sizeof path, "pipelines.%td.storage", index);
    }
    if (bb_policy_describe(&pipeline->policy)->is_search) {
        BB_TRY(bb_problems_add(problems, bb_config_place(config, path),
                               "pipelines[%td].storage: not beside policy promise, whose trials "
                               "hold what is solved",
                               index));
    }
    const bb_index before = problems->count;
    if (bb_promised_storage_is_given(pipeline)) {
        BB_TRY(bb_promised_storage_check(pipeline, index, config, problems));
    } else if (!bb_codec_check(&pipeline->storage, (bb_row_scale)pipeline->row_scale, sentence,
                               sizeof sentence)) {
        BB_TRY(bb_problems_add(problems, bb_config_place(config, path), "pipelines[%td].storage.%s",
                               index, sentence));
    }
    if (problems->count == before) { // the keys that it needs are there
        BB_TRY(check_layout(pipeline, index, config, problems));
    }
done:
    return status;
}
