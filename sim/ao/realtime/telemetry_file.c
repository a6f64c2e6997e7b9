// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/realtime/telemetry_file.h"

#include "core/log.h"
#include "core/memory.h"
#include "sim/input/fits_image.h"
#include "sim/input/map_file.h"
#include "sim/input/unit.h"
#include "sim/study.h"

static const double slowest_value_s = 4e-8; // as of influence functions

static bb_map_request request_of(const bb_telemetry_config *config)
{
    return (bb_map_request){.file = config->file,
                            .dataset =
                                config->dataset == NULL ? BB_TELEMETRY_DATASET : config->dataset,
                            .longest = BB_TELEMETRY_FILE_VALUES};
}

static bb_status hold_shape(const bb_telemetry_config *config, bb_index slopes, bb_index rows,
                            bb_index columns)
{
    bb_status status = BB_OK;
    const char *part = config->dataset != NULL                  ? config->dataset
                       : bb_fits_image_recognised(config->file) ? "first image"
                                                                : BB_TELEMETRY_DATASET;
    BB_REQUIRE(columns == slopes, BB_INVALID,
               "'%s', '%s': %td frames of %td slopes, expected %td slopes a frame%s", config->file,
               part, rows, columns, slopes, rows == slopes ? ": is it transposed?" : "");
    BB_REQUIRE((double)rows * (double)columns <= (double)BB_TELEMETRY_FILE_VALUES, BB_INVALID,
               "'%s', '%s': %td frames of %td slopes, expected at most %td frames of them: %d "
               "values are held",
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
        bb_log_detail("slopes have no unit: taken to be in %s", name);
    }
    BB_TRY(BB_ALLOCATE(count, &out->values));
    for (bb_index i = 0; i < count; ++i) {
        out->values[i] = (float)(factor * values[i]);
    }
done:
    return status;
}

static bb_status load_image(const bb_telemetry_config *config, bb_index slopes,
                            bb_telemetry_file *out)
{
    bb_status status = BB_OK;
    bb_fits_image image = {0};
    const bb_index frames = (bb_index)BB_TELEMETRY_FILE_VALUES / slopes;
    BB_TRY(bb_fits_image_load(config->file, config->dataset, frames > slopes ? frames : slopes,
                              &image));
    BB_TRY(hold_shape(config, slopes, image.rows, image.columns));
    out->frames = image.rows;
    out->slopes = image.columns;
    BB_TRY(convert(image.unit, image.values, out));
done:
    BB_RELEASE(&image.values);
    return status;
}

static bb_status load_dataset(const bb_telemetry_config *config, bb_index slopes,
                              bb_telemetry_file *out)
{
    bb_status status = BB_OK;
    const bb_map_request request = request_of(config);
    bb_map_file map = {0};
    BB_TRY(bb_map_file_inspect(&request, &map));
    BB_TRY(hold_shape(config, slopes, map.rows, map.columns));
    BB_TRY(bb_map_file_read(&request, &map));
    BB_TRY(hold_shape(config, slopes, map.rows, map.columns));
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
    const bb_status status =
        bb_study_name_failure((bb_fits_image_recognised(config->file) ? load_image : load_dataset)(
                                  config, slopes, &telemetry),
                              "%s", key);
    if (status != BB_OK) {
        bb_telemetry_file_release(&telemetry);
    }
    *out = telemetry;
    return status;
}

static bb_status inspect_dataset(const bb_telemetry_config *config, bb_index slopes,
                                 bb_index *frames)
{
    bb_status status = BB_OK;
    const bb_map_request request = request_of(config);
    const char *name = NULL;
    double factor;
    bb_map_file map = {0};
    BB_TRY(bb_map_file_inspect(&request, &map));
    BB_TRY(hold_shape(config, slopes, map.rows, map.columns));
    BB_TRY(bb_unit_find(BB_QUANTITY_ANGLE, map.unit, &name, &factor));
    *frames = map.rows;
done:
    bb_map_file_release(&map);
    return status;
}

bb_status bb_telemetry_file_inspect(const bb_telemetry_config *config, bb_index slopes,
                                    bb_index *frames)
{
    bb_status status = BB_OK;
    bb_telemetry_file telemetry = {0};
    *frames = 0;
    if (!bb_fits_image_recognised(config->file)) {
        return bb_study_name_failure(inspect_dataset(config, slopes, frames), "%s", key);
    }
    BB_TRY(bb_telemetry_file_load(config, slopes, &telemetry));
    *frames = telemetry.frames;
done:
    bb_telemetry_file_release(&telemetry);
    return status;
}

void bb_telemetry_file_release(bb_telemetry_file *telemetry)
{
    BB_RELEASE(&telemetry->values);
}

// Of an image there are two copies.
bb_need bb_telemetry_file_need(const bb_telemetry_config *config, double values)
{
    const bool given = config->file != NULL;
    const double copies = !given ? 0.0 : bb_fits_image_recognised(config->file) ? 2.0 : 1.0;
    return (bb_need){.host_bytes = copies * sizeof(double) * values,
                     .seconds = given ? slowest_value_s * values : 0.0};
}
