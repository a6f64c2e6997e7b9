// SPDX-License-Identifier: Apache-2.0
#include "sim/output/fits_export.h"

#include "core/log.h"
#include "core/memory.h"
#include "sim/input/hdf5_library.h"
#include "sim/input/matrix_file.h"
#include "sim/output/fits_header.h"
#include "sim/output/grid.h"
#include "sim/run/dump.h"

#include <hdf5.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 64 };

static const char all_parts[] = "R,psf,pupil";

static const bb_dataset *find_pipelines(const bb_fits_export *wanted)
{
    return bb_results_find(wanted->results, "results/pipeline");
}

// Number of directions of the study; one for matrices without directions.
static bb_index count_targets(const bb_fits_export *wanted)
{
    return bb_fits_header_count(wanted, "results/target", 1);
}

// Number of reconstructors of a pipeline: one for each target, or a single R_p_0 for all targets.
static bb_index count_per_pipeline(const bb_fits_export *wanted)
{
    return bb_fits_header_is_shared(wanted) ? 1 : count_targets(wanted);
}

static bool is_chosen(const bb_fits_export *wanted, const char *pipeline)
{
    return wanted->pipelines == NULL || strcmp(wanted->pipelines, pipeline) == 0 ||
           bb_dump_wanted(wanted->pipelines, pipeline);
}

static bool has_images(const bb_fits_export *wanted)
{
    return bb_results_find(wanted->results, "results/psf") != NULL;
}

// True if files of the experiment can have a part.
static bool is_offered(const bb_fits_export *wanted, const char *part)
{
    return strcmp(part, "psf") == 0 ? has_images(wanted) : bb_dump_wanted(wanted->offered, part);
}

static bool is_wanted(const bb_fits_export *wanted, const char *part)
{
    return is_offered(wanted, part) &&
           (wanted->parts == NULL || bb_dump_wanted(wanted->parts, part));
}

// Checks whether the file has an operator of that name.
static bb_status has_operator(const bb_fits_export *wanted, const char *name, bool *out)
{
    bb_status status = BB_OK;
    hid_t file = -1;
    char path[NAME_BYTES + 16];
    (void)snprintf(path, sizeof path, "operators/%s", name);
    file = H5Fopen(wanted->file, H5F_ACC_RDONLY, H5P_DEFAULT);
    BB_REQUIRE(file >= 0, BB_IO, "cannot read '%s': %s", wanted->file, bb_hdf5_library_error());
    *out = H5Lexists(file, "operators", H5P_DEFAULT) > 0 && H5Lexists(file, path, H5P_DEFAULT) > 0;
done:
    (void)H5Fclose(file);
    return status;
}

static bool has_finished(const bb_fits_export *wanted, bb_index pipeline)
{
    const bb_dataset *outcome = bb_results_find(wanted->results, "results/status");
    return outcome != NULL && outcome->is_text && pipeline < outcome->count &&
           strcmp(outcome->texts[pipeline], "ok") == 0;
}

// Counts the reconstructors of the chosen pipelines in the file, and the chosen pipelines with
// status `ok`.
static bb_status count_reconstructors(const bb_fits_export *wanted, bb_index *found,
                                      bb_index *finished)
{
    bb_status status = BB_OK;
    const bb_dataset *pipelines = find_pipelines(wanted);
    *found = 0;
    *finished = 0;
    for (bb_index p = 0; p < pipelines->count; ++p) {
        *finished += is_chosen(wanted, pipelines->texts[p]) && has_finished(wanted, p);
        for (bb_index t = 0; t < count_per_pipeline(wanted); ++t) {
            char name[NAME_BYTES];
            bool is_there = false;
            (void)snprintf(name, sizeof name, "R_%td_%td", p, t);
            BB_TRY(has_operator(wanted, name, &is_there));
            *found += is_there && is_chosen(wanted, pipelines->texts[p]);
        }
    }
done:
    return status;
}

static bb_status check_parts(const bb_fits_export *wanted)
{
    bb_status status = BB_OK;
    for (const char *item = wanted->parts; item != NULL;) {
        const size_t length = strcspn(item, ",");
        char name[8];
        (void)snprintf(name, sizeof name, "%.*s", (int)(length < 8 ? length : 7), item);
        BB_REQUIRE(bb_dump_wanted(all_parts, name) && length < sizeof name, BB_INVALID,
                   "--parts %s: unknown part '%.*s', expected parts of %s", wanted->parts,
                   (int)length, item, all_parts);
        BB_REQUIRE(is_offered(wanted, name), BB_INVALID,
                   "--parts %s: studies of this experiment have no %s", wanted->parts, name);
        item = item[length] == ',' ? item + length + 1 : NULL;
    }
done:
    return status;
}

// Reports a missing operator and the command that creates it.
static bb_status refuse_missing(const bb_fits_export *wanted, const char *what)
{
    const bool pupil = bb_dump_wanted(wanted->offered, "pupil");
    return bb_status_set(
        BB_INVALID, __FILE__, __LINE__,
        "'%s' has no %s; 'bitbudget rerun %s --dump R%s -o NEW.h5' writes a file with it%s",
        wanted->file, what, wanted->file, pupil ? ",pupil" : "",
        has_images(wanted) ? "; --parts psf exports only the images" : "");
}

bb_status bb_fits_export_check(const bb_fits_export *wanted)
{
    bb_status status = BB_OK;
    bb_index found = 0;
    bb_index finished = 0;
    bool is_there = false;
    const char *experiment = bb_results_note_text(wanted->results, "", "experiment");
    const bb_dataset *pipelines = find_pipelines(wanted);
    BB_REQUIRE(bb_results_note_text(wanted->results, "", "sweep_plan") == NULL, BB_INVALID,
               "'%s' is the file of a sweep: export needs the file of one run", wanted->file);
    BB_REQUIRE(pipelines != NULL && pipelines->is_text &&
                   (has_images(wanted) || is_offered(wanted, "R")),
               BB_INVALID,
               "'%s' is a result of %s, which has no reconstructors, images or pupil to export",
               wanted->file, experiment);
    BB_TRY(check_parts(wanted));
    if (wanted->pipelines != NULL) {
        const bb_grid_source source = {.results = wanted->results};
        BB_TRY(bb_grid_check_names(wanted->pipelines, &source, 1));
    }
    BB_REQUIRE(bb_results_find(wanted->results, "study/pipeline") != NULL, BB_INVALID,
               "'%s' has no /study, because an older bitbudget wrote it; recreate it with "
               "'bitbudget rerun'",
               wanted->file);
    const bb_dataset *named = bb_results_find(wanted->results, "study/pipeline");
    BB_REQUIRE(named->count == pipelines->count, BB_IO,
               "'%s': %td pipelines in /study, %td results", wanted->file, named->count,
               pipelines->count);
    if (is_wanted(wanted, "R")) {
        BB_TRY(count_reconstructors(wanted, &found, &finished));
        BB_REQUIRE(found > 0 || finished > 0, BB_INVALID,
                   "'%s': all chosen pipelines failed, so that there is no reconstructor",
                   wanted->file);
        BB_TRY(found > 0 ? BB_OK : refuse_missing(wanted, "reconstructor"));
    }
    if (is_wanted(wanted, "pupil")) {
        BB_TRY(has_operator(wanted, "pupil", &is_there));
        BB_TRY(is_there ? BB_OK : refuse_missing(wanted, "pupil"));
    }
done:
    return status;
}

// Skips a missing part of a pipeline that failed; for any other pipeline it is an error.
static bb_status skip_part(const bb_fits_export *wanted, const char *part, bb_index pipeline)
{
    bb_status status = BB_OK;
    const char *name = find_pipelines(wanted)->texts[pipeline];
    BB_REQUIRE(!has_finished(wanted, pipeline), BB_INVALID,
               "'%s' has no %s, although its pipeline %s is ok: another program changed the file; "
               "recreate it with 'bitbudget rerun'",
               wanted->file, part, name);
    bb_log_info("skipping %s of pipeline %s, status %s", part, name,
                bb_fits_header_text(wanted, "results/status", pipeline));
done:
    return status;
}

// Opens the operator in the result file, with its digest, before its image is written.
typedef struct exported_operator {
    bb_matrix_file *file;
    char digest[BB_DIGEST_BYTES];
} exported_operator;

static bb_status digest_of(const bb_matrix_source *source, char out[BB_DIGEST_BYTES])
{
    bb_status status = BB_OK;
    bb_digest *digest = NULL;
    double *row = NULL; // [columns]
    BB_TRY(bb_digest_create(&digest));
    BB_TRY(BB_ALLOCATE(source->columns, &row));
    for (bb_index r = 0; r < source->rows; ++r) {
        BB_TRY(bb_matrix_source_fill(source, r, 0, bb_view_matrix(row, 1, source->columns)));
        bb_digest_add_values(digest, row, source->columns);
    }
    bb_digest_text(digest, out);
done:
    BB_RELEASE(&row);
    bb_digest_destroy(&digest);
    return status;
}

static bb_status open_operator(const bb_fits_export *wanted, const char *name,
                               exported_operator *out)
{
    bb_status status = BB_OK;
    char dataset[NAME_BYTES + 16];
    (void)snprintf(dataset, sizeof dataset, "/operators/%s", name);
    const bb_matrix_place place = {wanted->file, dataset};
    BB_TRY(bb_matrix_file_open(&place, false, name, &out->file));
    BB_TRY(digest_of(bb_matrix_file_source(out->file), out->digest));
done:
    return status;
}

// Begins the image of an operator with the keywords common to all.
static bb_status begin_operator(bb_fits_writer *writer, const bb_fits_export *wanted,
                                const char *name, const exported_operator *matrix)
{
    bb_status status = BB_OK;
    const bb_matrix_source *source = bb_matrix_file_source(matrix->file);
    BB_TRY(bb_fits_writer_image(writer, name, source->rows, source->columns));
    BB_TRY(bb_fits_writer_words(writer,
                                "64-bit IEEE floats, bit-identical to those of the result file."));
    BB_TRY(bb_fits_writer_text(writer, "OPDIGEST", matrix->digest, "XXH3-128, row by row"));
    BB_TRY(bb_fits_header_origin(writer, wanted));
done:
    return status;
}

// Numbers of rows and columns of the reconstructors of a target; 0: not written.
typedef struct axis_sizes {
    bb_index measurements, truths, commands;
} axis_sizes;

static bb_status write_axes(bb_fits_writer *writer, const bb_fits_export *wanted, bb_index target,
                            const bb_matrix_source *source, axis_sizes *sizes)
{
    bb_status status = BB_OK;
    const bool is_pure = strcmp(source->unit, "1") == 0;
    const bool is_of_slopes = bb_results_find(wanted->results, "slopes/star") != NULL;
    const bool is_of_commands = strcmp(source->unit, "V/arcsec") == 0;
    sizes->measurements = source->columns;
    *(is_of_commands ? &sizes->commands : &sizes->truths) = source->rows;
    BB_TRY(bb_fits_writer_text(writer, "BUNIT",
                               !is_pure       ? source->unit
                               : is_of_slopes ? "arcsec/arcsec"
                                              : "",
                               "unit of a row over that of a column"));
    BB_TRY(bb_fits_writer_text(writer, "CTYPE1", "MEASUREMENT", "kind of the columns"));
    BB_TRY(bb_fits_writer_text(writer, "CTYPE2", is_of_commands ? "COMMAND" : "TRUTH",
                               "kind of the rows"));
    BB_TRY(bb_fits_writer_integer(writer, "NMEAS", source->columns, "measurements"));
    BB_TRY(is_of_commands ? bb_fits_writer_integer(writer, "NCOMMAND", source->rows,
                                                   "number of actuator commands")
                          : bb_fits_writer_integer(writer, "NTRUTH", source->rows,
                                                   "number of estimated truth slopes"));
    BB_TRY(bb_fits_header_slopes(writer, wanted, target, is_of_commands));
done:
    return status;
}

static bb_status write_reconstructor(bb_fits_writer *writer, const bb_fits_export *wanted,
                                     bb_index pipeline, bb_index target, axis_sizes *sizes)
{
    bb_status status = BB_OK;
    exported_operator matrix = {NULL, ""};
    char name[NAME_BYTES];
    bool is_there = false;
    (void)snprintf(name, sizeof name, "R_%td_%td", pipeline, target);
    BB_TRY(has_operator(wanted, name, &is_there));
    if (!is_there) {
        BB_TRY(skip_part(wanted, name, pipeline));
        goto done;
    }
    BB_TRY(open_operator(wanted, name, &matrix));
    const bb_matrix_source *source = bb_matrix_file_source(matrix.file);
    BB_TRY(begin_operator(writer, wanted, name, &matrix));
    BB_TRY(write_axes(writer, wanted, target, source, sizes));
    BB_TRY(bb_fits_header_correction(writer, wanted, target));
    BB_TRY(bb_fits_header_stars(writer, wanted));
    BB_TRY(bb_fits_header_pipeline(writer, wanted, pipeline));
    BB_TRY(bb_fits_writer_pixels(writer, source));
done:
    bb_matrix_file_close(&matrix.file);
    return status;
}

enum { PLACE_COLUMNS = 4 };

// Positions of rows or columns of R: a group of the results as a table.
typedef struct place_table {
    const char *group, *name; // followed by the index of a target
    const char *members[PLACE_COLUMNS], *titles[PLACE_COLUMNS], *units[PLACE_COLUMNS];
    const char *words;
} place_table;

static const char slope_words[] =
    "One row for each slope, in the order of the axis of R. STAR from 0; X and Y: centre of its "
    "subaperture in the pupil, relative to the telescope axis.";

// clang-format off
static const place_table measured = {
    "slopes", "SLOPES", {"star", "axis", "x_m", "y_m"}, {"STAR", "AXIS", "X", "Y"},
    {NULL, NULL, "m", "m"}, slope_words};
static const place_table truths = {
    "truth_slopes", "TRUTH_SLOPES", {"star", "axis", "x_m", "y_m"},
    {"STAR", "AXIS", "X", "Y"}, {NULL, NULL, "m", "m"}, slope_words};
static const place_table actuators = {
    "actuators", "ACTUATORS", {"mirror", "height_m", "x_m", "y_m"},
    {"MIRROR", "HEIGHT", "X", "Y"}, {NULL, "m", "m", "m"},
    "One row for each actuator, in the order of axis 2 of R. MIRROR from 0; HEIGHT of its "
    "conjugate; X and Y on the conjugate, relative to the telescope axis."};
// clang-format on

// Writes the positions of rows or columns; nothing if the results lack a column or have another
// number of rows than R.
static bb_status write_places(bb_fits_writer *writer, const bb_fits_export *wanted,
                              const place_table *table, const char *index, bb_index rows)
{
    bb_status status = BB_OK;
    bb_fits_column columns[PLACE_COLUMNS];
    char group[NAME_BYTES];
    char name[NAME_BYTES];
    (void)snprintf(group, sizeof group, "%s%s", table->group, index);
    (void)snprintf(name, sizeof name, "%s%s", table->name, index);
    for (int c = 0; c < PLACE_COLUMNS; ++c) {
        char path[2 * NAME_BYTES];
        (void)snprintf(path, sizeof path, "%s/%s", group, table->members[c]);
        const bb_dataset *dataset = bb_results_find(wanted->results, path);
        if (dataset == NULL || dataset->rank != 1 || dataset->count != rows ||
            dataset->is_text != (strcmp(table->members[c], "axis") == 0)) {
            goto done;
        }
        columns[c] = (bb_fits_column){table->titles[c], table->units[c], dataset->numbers,
                                      (const char *const *)dataset->texts};
    }
    BB_TRY(bb_fits_writer_table(writer, name, rows, columns, PLACE_COLUMNS));
    BB_TRY(bb_fits_writer_words(writer, table->words));
done:
    return status;
}

static bb_status write_reconstructors(bb_fits_writer *writer, const bb_fits_export *wanted)
{
    bb_status status = BB_OK;
    const bb_dataset *pipelines = find_pipelines(wanted);
    const bb_index targets = count_per_pipeline(wanted);
    axis_sizes *sizes = NULL; // [targets]
    bb_index columns = 0;
    BB_TRY(BB_ZEROED(targets, &sizes));
    for (bb_index p = 0; p < pipelines->count; ++p) {
        for (bb_index t = 0; is_chosen(wanted, pipelines->texts[p]) && t < targets; ++t) {
            BB_TRY(write_reconstructor(writer, wanted, p, t, &sizes[t]));
        }
    }
    for (bb_index t = 0; t < targets; ++t) {
        columns = sizes[t].measurements > 0 ? sizes[t].measurements : columns;
    }
    BB_TRY(write_places(writer, wanted, &measured, "", columns));
    for (bb_index t = 0; t < targets; ++t) {
        char index[24];
        (void)snprintf(index, sizeof index, "_%td", t);
        BB_TRY(write_places(writer, wanted, &truths, index, sizes[t].truths));
        BB_TRY(write_places(writer, wanted, &actuators, index, sizes[t].commands));
    }
done:
    BB_RELEASE(&sizes);
    return status;
}

// Image of a pipeline in a direction, at a wavelength.
typedef struct picture {
    const double *pixels; // [rows][columns]
    bb_index rows, columns, pipeline, target, wavelength;
    double step_mas; // pixel size
} picture;

// Pixel on the optical axis, from 1, for an even number of pixels.
static double middle_of(bb_index edge)
{
    return 0.5 * (double)edge + 1.0;
}

static bb_status write_picture(bb_fits_writer *writer, const bb_fits_export *wanted,
                               const picture *image)
{
    bb_status status = BB_OK;
    char name[NAME_BYTES];
    const bb_index wavelengths = bb_fits_header_count(wanted, "results/wavelength", 1);
    const bb_index place =
        (image->pipeline * count_targets(wanted) + image->target) * wavelengths + image->wavelength;
    const bb_view view =
        bb_view_matrix((double *)(uintptr_t)image->pixels, image->rows, image->columns);
    const bb_matrix_source source = bb_matrix_source_dense(&view, "psf", "1");
    (void)snprintf(name, sizeof name, "PSF_%td_%td_%td", image->pipeline, image->target,
                   image->wavelength);
    if (isnan(image->pixels[0])) {
        BB_TRY(skip_part(wanted, name, image->pipeline));
        goto done;
    }
    BB_TRY(bb_fits_writer_image(writer, name, image->rows, image->columns));
    BB_TRY(bb_fits_writer_words(writer, "64-bit IEEE floats: long-exposure point spread, 1 at the "
                                        "diffraction-limited peak. Axis 1, the fastest, is x."));
    BB_TRY(bb_fits_writer_text(writer, "BUNIT", "", "1 is the diffraction-limited peak"));
    BB_TRY(bb_fits_header_coordinate(writer, 1, middle_of(image->columns), image->step_mas, "mas"));
    BB_TRY(bb_fits_header_coordinate(writer, 2, middle_of(image->rows), image->step_mas, "mas"));
    BB_TRY(bb_fits_writer_number(
        writer, "WAVELEN", bb_fits_header_number(wanted, "results/wavelength", image->wavelength),
        "[um] wavelength"));
    BB_TRY(bb_fits_writer_number(writer, "STREHL",
                                 bb_fits_header_number(wanted, "results/strehl_by", place),
                                 "Strehl ratio"));
    BB_TRY(bb_fits_writer_number(writer, "FWHM",
                                 bb_fits_header_number(wanted, "results/fwhm_by_mas", place),
                                 "[mas] full width at half maximum"));
    BB_TRY(bb_fits_header_target(writer, wanted, image->target));
    BB_TRY(bb_fits_header_origin(writer, wanted));
    BB_TRY(bb_fits_header_pipeline(writer, wanted, image->pipeline));
    BB_TRY(bb_fits_writer_pixels(writer, &source));
done:
    return status;
}

// Writes the image of the first target and wavelength, which is in every file.
static bb_status write_first_picture(bb_fits_writer *writer, const bb_fits_export *wanted,
                                     bb_index pipeline)
{
    bb_status status = BB_OK;
    const bb_dataset *images = bb_results_find(wanted->results, "results/psf");
    const bb_dataset *offsets = bb_results_find(wanted->results, "results/psf_x");
    BB_REQUIRE(images != NULL && !images->is_text && images->rank == 3 &&
                   pipeline < images->shape[0] && offsets != NULL && !offsets->is_text &&
                   offsets->count > 1,
               BB_IO, "'%s': /results/psf does not have bitbudget's layout", wanted->file);
    // A difference of two offsets would have a larger rounding error.
    const double step = -offsets->numbers[0] / (0.5 * (double)offsets->count);
    const bb_index pixels = images->shape[1] * images->shape[2];
    BB_TRY(write_picture(writer, wanted,
                         &(picture){.pixels = images->numbers + pipeline * pixels,
                                    .rows = images->shape[1],
                                    .columns = images->shape[2],
                                    .pipeline = pipeline,
                                    .step_mas = step}));
done:
    return status;
}

// Writes the images of a target at all wavelengths, for a study with `images: all`.
static bb_status write_target_pictures(bb_fits_writer *writer, const bb_fits_export *wanted,
                                       bb_index pipeline, bb_index target)
{
    bb_status status = BB_OK;
    char path[NAME_BYTES];
    (void)snprintf(path, sizeof path, "results/psf_target_%td", target);
    const bb_dataset *images = bb_results_find(wanted->results, path);
    BB_REQUIRE(images != NULL && !images->is_text && images->rank == 4 &&
                   pipeline < images->shape[0],
               BB_IO, "'%s': /%s does not have bitbudget's layout", wanted->file, path);
    const bb_index wavelengths = images->shape[1];
    const bb_index pixels = images->shape[2] * images->shape[3];
    for (bb_index w = 0; w < wavelengths; ++w) {
        const picture image = {.pixels = images->numbers + (pipeline * wavelengths + w) * pixels,
                               .rows = images->shape[2],
                               .columns = images->shape[3],
                               .pipeline = pipeline,
                               .target = target,
                               .wavelength = w,
                               .step_mas = bb_fits_header_number(wanted, "results/psf_pixel_mas",
                                                                 target * wavelengths + w)};
        BB_TRY(write_picture(writer, wanted, &image));
    }
done:
    return status;
}

static bb_status write_pictures(bb_fits_writer *writer, const bb_fits_export *wanted)
{
    bb_status status = BB_OK;
    const bb_dataset *pipelines = find_pipelines(wanted);
    const bool is_every = bb_results_find(wanted->results, "results/psf_target_0") != NULL;
    for (bb_index p = 0; p < pipelines->count; ++p) {
        if (!is_chosen(wanted, pipelines->texts[p])) {
            continue;
        }
        for (bb_index t = 0; is_every && t < count_targets(wanted); ++t) {
            BB_TRY(write_target_pictures(writer, wanted, p, t));
        }
        BB_TRY(is_every ? BB_OK : write_first_picture(writer, wanted, p));
    }
done:
    return status;
}

static bb_status write_pupil(bb_fits_writer *writer, const bb_fits_export *wanted)
{
    bb_status status = BB_OK;
    exported_operator matrix = {NULL, ""};
    BB_TRY(open_operator(wanted, "pupil", &matrix));
    const bb_matrix_source *source = bb_matrix_file_source(matrix.file);
    const double origin = 0.5 * (double)(source->rows + 1);
    const double step = bb_fits_header_number(wanted, "system/pupil_pixel_m", 0);
    BB_TRY(begin_operator(writer, wanted, "PUPIL", &matrix));
    BB_TRY(bb_fits_writer_text(writer, "BUNIT", "", "transmission, from 0 to 1"));
    BB_TRY(bb_fits_header_coordinate(writer, 1, origin, step, "m"));
    BB_TRY(bb_fits_header_coordinate(writer, 2, origin, step, "m"));
    BB_TRY(bb_fits_writer_words(writer, "Transmission of the pupil on the points of the first "
                                        "target's grid. Axis 1, the fastest, is x."));
    BB_TRY(bb_fits_writer_pixels(writer, source));
done:
    bb_matrix_file_close(&matrix.file);
    return status;
}

bb_status bb_fits_export_write(const char *path, void *wanted)
{
    bb_status status = BB_OK;
    const bb_fits_export *export = wanted;
    bb_fits_writer *writer = NULL;
    BB_TRY(bb_fits_writer_open(path, &writer));
    BB_TRY(bb_fits_header_origin(writer, export));
    BB_TRY(is_wanted(export, "R") ? write_reconstructors(writer, export) : BB_OK);
    BB_TRY(is_wanted(export, "psf") ? write_pictures(writer, export) : BB_OK);
    BB_TRY(is_wanted(export, "pupil") ? write_pupil(writer, export) : BB_OK);
    BB_TRY(bb_fits_writer_close(&writer));
done:
    bb_fits_writer_destroy(&writer);
    return status;
}
