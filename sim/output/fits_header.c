// SPDX-License-Identifier: Apache-2.0
#include "sim/output/fits_header.h"

#include "build_info.h"
#include "core/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 64, WORDS_BYTES = 240, STARS_NUMBERED = 100 };

bb_index bb_fits_header_count(const bb_fits_export *wanted, const char *path, bb_index otherwise)
{
    const bb_dataset *axis = bb_results_find(wanted->results, path);
    return axis == NULL ? otherwise : axis->count;
}

double bb_fits_header_number(const bb_fits_export *wanted, const char *path, bb_index item)
{
    const bb_dataset *dataset = bb_results_find(wanted->results, path);
    return dataset == NULL || dataset->is_text || item >= dataset->count ? NAN
                                                                         : dataset->numbers[item];
}

const char *bb_fits_header_text(const bb_fits_export *wanted, const char *path, bb_index item)
{
    const bb_dataset *dataset = bb_results_find(wanted->results, path);
    return dataset == NULL || !dataset->is_text || item >= dataset->count ? ""
                                                                          : dataset->texts[item];
}

typedef struct keyword {
    const char *name, *path, *comment;
    bool is_count;
} keyword;

// Writes a keyword with a number of the results, if present.
static bb_status write_number(bb_fits_writer *writer, const bb_fits_export *wanted,
                              const keyword *key, const char *name, bb_index item)
{
    const double number = bb_fits_header_number(wanted, key->path, item);
    return key->is_count && isfinite(number)
               ? bb_fits_writer_integer(writer, name, (bb_index)number, key->comment)
               : bb_fits_writer_number(writer, name, number, key->comment);
}

// Keywords of telescope and sensors.
static const keyword system_keywords[] = {
    {"TELDIAM", "study/telescope_diameter_m", "[m] diameter of the pupil", false},
    {"TELOBSTR", "study/telescope_obstruction", "central obstruction over diameter", false},
    {"ZENITH", "study/telescope_zenith_angle_deg", "[deg] zenith angle", false},
    {"NLENSLET", "study/sensors_lenslets", "lenslets across the pupil", true},
    {"FRAMETIM", "study/sensors_frame_ms", "[ms] time of a frame", false},
    {"R0", "system/r0_m", "[m] at 500 nm, along the line of sight", false},
};

bb_status bb_fits_header_origin(bb_fits_writer *writer, const bb_fits_export *wanted)
{
    bb_status status = BB_OK;
    static const char *const notes[][4] = {
        {"TITLE", "", "title", "title of the study"},
        {"EXPERIM", "", "experiment", "experiment"},
        {"VERSION", "provenance", "version", "version of bitbudget that computed it"},
        {"COMMIT", "provenance", "commit", "commit of its source"},
        {"DATE-RUN", "provenance", "start_utc", "UTC start of the run"},
        {"DIGEST", "", "reproducible_digest", "digest of all results except times"},
    };
    const char *slash = strrchr(wanted->file, '/');
    BB_TRY(bb_fits_writer_text(writer, "CREATOR", "bitbudget " BB_VERSION,
                               "program that wrote this file"));
    for (size_t i = 0; i < sizeof notes / sizeof *notes; ++i) {
        const char *text = bb_results_note_text(wanted->results, notes[i][1], notes[i][2]);
        BB_TRY(text == NULL ? BB_OK : bb_fits_writer_text(writer, notes[i][0], text, notes[i][3]));
    }
    BB_TRY(bb_fits_writer_text(writer, "RESFILE", slash == NULL ? wanted->file : slash + 1,
                               "result file from which this was exported"));
    for (size_t i = 0; i < sizeof system_keywords / sizeof *system_keywords; ++i) {
        const keyword *key = &system_keywords[i];
        BB_TRY(write_number(writer, wanted, key, key->name, 0));
    }
    const bb_index stars = bb_fits_header_count(wanted, "study/guide_star", 0);
    if (stars > 0) {
        BB_TRY(bb_fits_writer_integer(writer, "NGSTARS", stars, "number of guide stars"));
    }
done:
    return status;
}

bb_status bb_fits_header_pipeline(bb_fits_writer *writer, const bb_fits_export *wanted,
                                  bb_index pipeline)
{
    bb_status status = BB_OK;
    static const char prefix[] = "pipeline_";
    static const keyword tile = {"TILE", "results/tile_size", "rows and columns of a tile", true};
    static const keyword written = {"TILE", "study/solver_tile", "rows and columns of a tile",
                                    true};
    char *words = NULL;
    const char *arithmetic = bb_fits_header_text(wanted, "study/pipeline_arithmetic", pipeline);
    const char *policy = bb_fits_header_text(wanted, "study/pipeline_policy_kind", pipeline);
    BB_TRY(bb_fits_writer_text(writer, "PIPELINE",
                               bb_fits_header_text(wanted, "results/pipeline", pipeline),
                               "name of the pipeline"));
    BB_TRY(bb_fits_writer_integer(writer, "PIPEIDX", pipeline, "index of the pipeline, from 0"));
    BB_TRY(bb_fits_writer_text(writer, "STATUS",
                               bb_fits_header_text(wanted, "results/status", pipeline),
                               "status of the pipeline"));
    BB_TRY(bb_fits_writer_text(writer, "ARITH", arithmetic, "arithmetic of the factorization"));
    BB_TRY(bb_fits_writer_text(writer, "POLICY", policy, "selection of tiles with it"));
    const bool has_tile = isfinite(bb_fits_header_number(wanted, tile.path, pipeline));
    BB_TRY(has_tile ? write_number(writer, wanted, &tile, tile.name, pipeline)
                    : write_number(writer, wanted, &written, written.name, 0));
    BB_TRY(bb_fits_writer_words(writer, "Keys of the pipeline:"));
    for (bb_index i = 0; i < bb_results_count(wanted->results); ++i) {
        const bb_dataset *key = bb_results_dataset(wanted->results, i);
        if (strcmp(key->group, "study") != 0 || key->is_axis || key->rank != 1 ||
            pipeline >= key->count || strncmp(key->name, prefix, sizeof prefix - 1) != 0) {
            continue;
        }
        const char *name = key->name + sizeof prefix - 1;
        BB_RELEASE(&words);
        if (key->is_text && key->texts[pipeline][0] != '\0') {
            BB_TRY(bb_memory_printf(&words, "  %s = %s", name, key->texts[pipeline]));
            BB_TRY(bb_fits_writer_words(writer, words));
        } else if (!key->is_text && !isnan(key->numbers[pipeline])) {
            BB_TRY(bb_memory_printf(&words, "  %s = %.15g", name, key->numbers[pipeline]));
            BB_TRY(bb_fits_writer_words(writer, words));
        }
    }
done:
    BB_RELEASE(&words);
    return status;
}

bb_status bb_fits_header_target(bb_fits_writer *writer, const bb_fits_export *wanted,
                                bb_index target)
{
    bb_status status = BB_OK;
    const double x = bb_fits_header_number(wanted, "results/target_x_arcsec", target);
    const double y = bb_fits_header_number(wanted, "results/target_y_arcsec", target);
    BB_TRY(bb_fits_writer_integer(writer, "TARGET", target, "index of the target, from 0"));
    BB_TRY(bb_fits_writer_number(writer, "TARGETX", x, "[arcsec] direction of the target"));
    BB_TRY(bb_fits_writer_number(writer, "TARGETY", y, "[arcsec] direction of the target"));
done:
    return status;
}

bool bb_fits_header_is_shared(const bb_fits_export *wanted)
{
    const char *correction = bb_fits_header_text(wanted, "study/correction", 0);
    return correction[0] != '\0' && strcmp(correction, "moao") != 0;
}

bb_status bb_fits_header_correction(bb_fits_writer *writer, const bb_fits_export *wanted,
                                    bb_index target)
{
    bb_status status = BB_OK;
    const char *correction = bb_fits_header_text(wanted, "study/correction", 0);
    if (correction[0] != '\0') {
        BB_TRY(bb_fits_writer_text(writer, "CORRECT", correction, "moao, ltao, glao or mcao"));
    }
    if (bb_fits_header_is_shared(wanted)) {
        BB_TRY(bb_fits_writer_integer(writer, "NTARGETS",
                                      bb_fits_header_count(wanted, "results/target", 1),
                                      "number of targets that this R corrects"));
    }
    if (strcmp(correction, "glao") != 0 && strcmp(correction, "mcao") != 0) {
        BB_TRY(bb_fits_header_target(writer, wanted, target));
    }
done:
    return status;
}

// Altitude of a star at zenith, its own or that of its kind; NaN for a natural star.
static double find_altitude(const bb_fits_export *wanted, bb_index star)
{
    char path[NAME_BYTES];
    const double own = bb_fits_header_number(wanted, "study/guide_star_altitude_km", star);
    (void)snprintf(path, sizeof path, "study/sensors_%.16s_altitude_km",
                   bb_fits_header_text(wanted, "study/guide_star_kind", star));
    return isnan(own) ? bb_fits_header_number(wanted, path, 0) : own;
}

bb_status bb_fits_header_stars(bb_fits_writer *writer, const bb_fits_export *wanted)
{
    bb_status status = BB_OK;
    static const keyword numbers[] = {
        {"GSX", "study/guide_star_x_arcsec", "[arcsec] direction of the guide star", false},
        {"GSY", "study/guide_star_y_arcsec", "[arcsec] direction of the guide star", false},
        {"GSSUB", "system/subapertures", "valid subapertures of its sensor", true},
    };
    char name[NAME_BYTES];
    const bb_index count = bb_fits_header_count(wanted, "study/guide_star", 0);
    for (bb_index s = 0; s < count && s < STARS_NUMBERED; ++s) {
        (void)snprintf(name, sizeof name, "GSKIND%td", s);
        BB_TRY(bb_fits_writer_text(writer, name,
                                   bb_fits_header_text(wanted, "study/guide_star_kind", s),
                                   "kind of the guide star"));
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
            (void)snprintf(name, sizeof name, "%s%td", numbers[i].name, s);
            BB_TRY(write_number(writer, wanted, &numbers[i], name, s));
        }
        (void)snprintf(name, sizeof name, "GSALT%td", s);
        BB_TRY(bb_fits_writer_number(writer, name, find_altitude(wanted, s),
                                     "[km] altitude at zenith; absent for a natural star"));
    }
done:
    return status;
}

// True if slopes are ordered by star and, within a star, all x before all y, as the header states.
static bool is_x_before_y(const bb_fits_export *wanted, const char *group)
{
    char paths[2][NAME_BYTES];
    (void)snprintf(paths[0], NAME_BYTES, "%s/star", group);
    (void)snprintf(paths[1], NAME_BYTES, "%s/axis", group);
    const bb_dataset *star = bb_results_find(wanted->results, paths[0]);
    const bb_dataset *axis = bb_results_find(wanted->results, paths[1]);
    if (star == NULL || axis == NULL || star->is_text || !axis->is_text ||
        star->count != axis->count) {
        return false;
    }
    for (bb_index begin = 0; begin < star->count;) {
        bb_index end = begin;
        while (end < star->count && star->numbers[end] == star->numbers[begin]) {
            ++end;
        }
        for (bb_index i = begin; i < end; ++i) {
            if (strcmp(axis->texts[i], 2 * (i - begin) < end - begin ? "x" : "y") != 0) {
                return false;
            }
        }
        begin = end;
    }
    return true;
}

// Describes the rows of R: slopes of a truth sensor, or commands.
static bb_status write_row_words(bb_fits_writer *writer, const bb_fits_export *wanted,
                                 bb_index target, bool is_of_commands)
{
    bb_status status = BB_OK;
    char words[WORDS_BYTES];
    char path[NAME_BYTES];
    (void)snprintf(path, sizeof path, "actuators_%td/mirror", target);
    if (!is_of_commands) {
        (void)snprintf(words, sizeof words,
                       "Axis 2: slopes of a truth sensor, x of its valid subapertures, then y. "
                       "Table TRUTH_SLOPES_%td has axis and position of each.",
                       target);
        BB_TRY(bb_fits_writer_words(writer, words));
        BB_TRY(bb_fits_writer_words(writer, "Slopes of the truth sensor = R times measured slopes; "
                                            "these are not actuator commands."));
        goto done;
    }
    if (bb_results_find(wanted->results, path) != NULL) {
        (void)snprintf(words, sizeof words,
                       "Axis 2: actuators. Table ACTUATORS_%td has mirror and position of each.",
                       target);
        BB_TRY(bb_fits_writer_words(writer, words));
    }
    BB_TRY(bb_fits_writer_words(writer, "Commands of actuators in V = R times measured slopes."));
done:
    return status;
}

bb_status bb_fits_header_slopes(bb_fits_writer *writer, const bb_fits_export *wanted,
                                bb_index target, bool is_of_commands)
{
    bb_status status = BB_OK;
    if (!is_x_before_y(wanted, "slopes")) {
        goto done;
    }
    BB_TRY(
        bb_fits_writer_text(writer, "SLPORDER", "X THEN Y", "slopes of a star: all x, then all y"));
    BB_TRY(bb_fits_writer_text(writer, "SLPUNIT", "arcsec", "unit of slopes"));
    BB_TRY(bb_fits_writer_words(writer,
                                "Axis 1, the fastest: measured slopes, star after star as numbered "
                                "by GSKINDn; for a star x of its valid subapertures, then y of the "
                                "same. Table SLOPES has star, axis and position of each."));
    BB_TRY(write_row_words(writer, wanted, target, is_of_commands));
done:
    return status;
}

bb_status bb_fits_header_coordinate(bb_fits_writer *writer, int axis, double origin, double step,
                                    const char *unit)
{
    bb_status status = BB_OK;
    static const char *const types[] = {"X", "Y"};
    char name[9];
    (void)snprintf(name, sizeof name, "CTYPE%d", axis);
    BB_TRY(bb_fits_writer_text(writer, name, types[axis - 1], "offset from the optical axis"));
    (void)snprintf(name, sizeof name, "CUNIT%d", axis);
    BB_TRY(bb_fits_writer_text(writer, name, unit, "unit of CDELT and CRVAL"));
    (void)snprintf(name, sizeof name, "CRPIX%d", axis);
    BB_TRY(bb_fits_writer_number(writer, name, origin, "pixel on the optical axis, from 1"));
    (void)snprintf(name, sizeof name, "CRVAL%d", axis);
    BB_TRY(bb_fits_writer_number(writer, name, 0.0, "offset of that pixel"));
    (void)snprintf(name, sizeof name, "CDELT%d", axis);
    BB_TRY(bb_fits_writer_number(writer, name, step, "pixel spacing"));
done:
    return status;
}
