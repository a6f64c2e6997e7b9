// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/realtime/telemetry_file.h"

#include "core/log.h"
#include "core/memory.h"
#include "sim/input/fits_image.h"
#include "sim/input/map_file.h"
#include "sim/input/unit.h"
#include "sim/run/study.h"

static const double slowest_value_s = 4e-8; // as for influence functions

static bb_map_request request_of(const bb_telemetry_config *config)
{
    return (bb_map_request){.file = config->file,
                            .dataset =
                                config->dataset == NULL ? BB_TELEMETRY_DATASET : config->dataset,
                            .longest = BB_TELEMETRY_FILE_VALUES};
}

static bb_status check_shape(const bb_telemetry_config *config, bb_index slopes, bb_index rows,
                             bb_index columns)
{
    bb_status status = BB_OK;
    const char *part = request_of(config).dataset;
    part = bb_fits_image_recognised(config->file) && bb_fits_image_part(part) == NULL
               ? "first image"
               : part;
    BB_REQUIRE(columns == slopes, BB_INVALID,
               "'%s', '%s': %td frames of %td slopes, expected %td slopes per frame%s",
               config->file, part, rows, columns, slopes,
               rows == slopes ? ": is it transposed?" : "");
    BB_REQUIRE(
        (double)rows * (double)columns <= (double)BB_TELEMETRY_FILE_VALUES, BB_INVALID,
        "'%s', '%s': %td frames of %td slopes, expected at most %td frames (limit: %d values)",
        config->file, part, rows, columns, (bb_index)BB_TELEMETRY_FILE_VALUES / columns,
        BB_TELEMETRY_FILE_VALUES);
done:
    return status;
}

static bb_status convert(const char *unit, const double *values, bb_telemetry_file *out)
{
    bb_status status = BB_OK;
    const char *name = NULL;
    double factor = 1.0;
    const bb_index count = out->frames * out->slopes;
    BB_TRY(bb_unit_find(BB_QUANTITY_ANGLE, unit, &name, &factor));
    if (unit[0] == '\0') {
        bb_log_detail("slopes have no unit: assuming %s", name);
    }
    BB_TRY(BB_ALLOCATE(count, &out->values));
    for (bb_index i = 0; i < count; ++i) {
        out->values[i] = (float)(factor * values[i]);
    }
done:
    return status;
}

static bb_status load(const bb_telemetry_config *config, bb_index slopes, bb_telemetry_file *out)
{
    bb_status status = BB_OK;
    const bb_map_request request = request_of(config);
    bb_map_file map = {0};
    BB_TRY(bb_map_file_inspect(&request, &map));
    BB_TRY(check_shape(config, slopes, map.rows, map.columns));
    BB_TRY(bb_map_file_read(&request, &map));
    BB_TRY(check_shape(config, slopes, map.rows, map.columns));
    out->frames = map.rows;
    out->slopes = map.columns;
    BB_TRY(convert(map.unit, map.values, out));
done:
    bb_map_file_release(&map);
    return status;
}

static const char key[] = "realtime.telemetry";

bb_status bb_telemetry_file_load(const bb_telemetry_config *config, bb_index slopes,
                                 bb_telemetry_file *out)
{
    bb_telemetry_file telemetry = {0};
    const bb_status status = bb_status_prefix(load(config, slopes, &telemetry), "%s", key);
    if (status != BB_OK) {
        bb_telemetry_file_release(&telemetry);
    }
    *out = telemetry;
    return status;
}

static bb_status inspect(const bb_telemetry_config *config, bb_index slopes, bb_index *frames)
{
    bb_status status = BB_OK;
    const bb_map_request request = request_of(config);
    const char *name = NULL;
    double factor;
    bb_map_file map = {0};
    BB_TRY(bb_map_file_inspect(&request, &map));
    BB_TRY(check_shape(config, slopes, map.rows, map.columns));
    BB_TRY(bb_unit_find(BB_QUANTITY_ANGLE, map.unit, &name, &factor));
    *frames = map.rows;
done:
    bb_map_file_release(&map);
    return status;
}

bb_status bb_telemetry_file_inspect(const bb_telemetry_config *config, bb_index slopes,
                                    bb_index *frames)
{
    *frames = 0;
    return bb_status_prefix(inspect(config, slopes, frames), "%s", key);
}

void bb_telemetry_file_release(bb_telemetry_file *telemetry)
{
    BB_RELEASE(&telemetry->values);
}

bb_need bb_telemetry_file_need(const bb_telemetry_config *config, double values)
{
    const double read = config->file != NULL ? values : 0.0;
    return (bb_need){.host_bytes = sizeof(double) * read, .seconds = slowest_value_s * read};
}
