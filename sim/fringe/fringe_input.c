// SPDX-License-Identifier: Apache-2.0
#include "core/log.h"
#include "core/memory.h"
#include "physics/fringe/detection.h"
#include "sim/fringe/fringe_work.h"
#include "sim/input/map_file.h"

#include <math.h>
#include <string.h>

enum { CARRE_FRAMES = 4, MOST_BITS = 32 };

static const double RANGE_SLACK_RAD = 1e-3; // accepts pi rounded to 3.142

static bb_map_request request_data(const bb_fringe_input_config *keys)
{
    return (bb_map_request){.file = keys->file, .dataset = keys->dataset, .steps = true};
}

static bb_map_request request_mask(const bb_fringe_input_config *keys)
{
    return (bb_map_request){.file = keys->file, .dataset = keys->mask, .mask = true};
}

static bb_map_request request_truth(const bb_fringe_input_config *keys)
{
    return (bb_map_request){.file = keys->file, .dataset = keys->truth, .unit = "rad"};
}

static bb_status check_steps(const bb_fringe_study *study, bb_index steps)
{
    bb_status status = BB_OK;
    const bb_fringe_input_config *keys = &study->input;
    const int algorithm = study->physics.detection.algorithm;
    const bb_index given = keys->steps_rad.count;
    BB_REQUIRE(
        algorithm != BB_DETECTION_NONE, BB_INVALID,
        "detection.algorithm none: '%s', dataset '%s' has %td frames, expected steps or carre",
        keys->file, keys->dataset, steps);
    BB_REQUIRE(algorithm != BB_DETECTION_CARRE || steps == CARRE_FRAMES, BB_INVALID,
               "input.file: '%s', dataset '%s' has %td frames, expected 4 for Carre's formula",
               keys->file, keys->dataset, steps);
    BB_REQUIRE(algorithm != BB_DETECTION_CARRIER || steps == 1, BB_INVALID,
               "input.file: '%s', dataset '%s' has %td frames, expected 1 with a carrier",
               keys->file, keys->dataset, steps);
    BB_REQUIRE(algorithm != BB_DETECTION_STEPS || given > 0, BB_INVALID,
               "input.steps_rad is missing: '%s', dataset '%s' has %td frames; give the phase "
               "shift of each",
               keys->file, keys->dataset, steps);
    BB_REQUIRE(algorithm != BB_DETECTION_STEPS || given == steps, BB_INVALID,
               "input.steps_rad has %td steps, but '%s', dataset '%s' has %td frames", given,
               keys->file, keys->dataset, steps);
done:
    return status;
}

// Checks a file with a wrapped phase: floats in rad, and no keys that need frames.
static bb_status check_phase(const bb_fringe_study *study)
{
    bb_status status = BB_OK;
    const bb_fringe_input_config *keys = &study->input;
    const bb_fringe_pipeline *pipelines = study->pipelines.items;
    bb_map_request request = request_data(keys);
    bb_map_file map;
    request.unit = "rad";
    BB_TRY(bb_status_prefix(bb_map_file_inspect(&request, &map), "input.file"));
    BB_REQUIRE(map.is_float, BB_INVALID,
               "input.file: '%s', dataset '%s' has integers, expected a phase in rad as floats, "
               "or frames [step][rows][columns]",
               keys->file, keys->dataset);
    BB_REQUIRE(keys->steps_rad.count == 0, BB_INVALID,
               "input.steps_rad: '%s', dataset '%s' has two axes, expected frames "
               "[step][rows][columns]",
               keys->file, keys->dataset);
    BB_REQUIRE(isnan(keys->full_scale), BB_INVALID,
               "input.full_scale = %g: '%s', dataset '%s' has no frames; remove the key",
               keys->full_scale, keys->file, keys->dataset);
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        BB_REQUIRE(pipelines[p].bits == BB_INTEGER_UNSET, BB_INVALID,
                   "pipelines.%td.bits = %td: '%s', dataset '%s' has no frames to store", p,
                   pipelines[p].bits, keys->file, keys->dataset);
    }
done:
    return status;
}

// Checks that another map of the input has the size of the data.
static bb_status check_map_size(const bb_map_request *request, const bb_fringe_input *input)
{
    bb_status status = BB_OK;
    bb_map_file map;
    if (request->dataset != NULL) {
        BB_TRY(bb_map_file_inspect(request, &map));
        BB_REQUIRE(map.rows == input->rows && map.columns == input->columns, BB_INVALID,
                   "'%s', dataset '%s': %td rows and %td columns, expected %td and %td as in the "
                   "data",
                   request->file, request->dataset, map.rows, map.columns, input->rows,
                   input->columns);
    }
done:
    return status;
}

bb_status bb_fringe_input_inspect(const bb_fringe_study *study, bb_fringe_input *out)
{
    bb_status status = BB_OK;
    const bb_map_request data = request_data(&study->input);
    const bb_map_request mask = request_mask(&study->input);
    const bb_map_request truth = request_truth(&study->input);
    bb_map_file map;
    *out = (bb_fringe_input){.has_truth = study->input.truth != NULL};
    if (study->input.file == NULL) {
        goto done;
    }
    BB_TRY(bb_status_prefix(bb_map_file_inspect(&data, &map), "input.file"));
    out->rows = map.rows;
    out->columns = map.columns;
    out->steps = map.steps;
    if (map.steps > 0) {
        BB_TRY(check_steps(study, map.steps));
    } else {
        BB_TRY(check_phase(study));
    }
    BB_TRY(bb_status_prefix(check_map_size(&mask, out), "input.mask"));
    BB_TRY(bb_status_prefix(check_map_size(&truth, out), "input.truth"));
done:
    return status;
}

// Full scale of the frames: from the study, else derived from the values within the mask.
static double find_full_scale(const bb_map_file *map, const unsigned char *mask)
{
    double largest = 0.0;
    const bb_index points = map->rows * map->columns;
    for (bb_index i = 0; i < map->steps * points; ++i) {
        largest = mask[i % points] != 0 ? fmax(largest, map->values[i]) : largest;
    }
    if (map->is_float) {
        return fmax(largest, 1.0);
    }
    int bits = 1;
    while (bits < MOST_BITS && ldexp(1.0, bits) - 1.0 < largest) {
        ++bits;
    }
    return fmax(ldexp(1.0, bits) - 1.0, largest);
}

static bb_status store_frames(const bb_fringe_study *study, const bb_map_file *map,
                              bb_fringe_input *out)
{
    bb_status status = BB_OK;
    const bb_index points = map->rows * map->columns;
    const double *given = study->input.steps_rad.items;
    const double step = bb_fringe_config_step_rad(&study->physics.detection);
    out->full_scale = isnan(study->input.full_scale) ? find_full_scale(map, out->scene->mask)
                                                     : study->input.full_scale;
    BB_TRY(BB_ZEROED(1, &out->frames));
    out->frames->steps = map->steps;
    out->frames->rows = map->rows;
    out->frames->columns = map->columns;
    BB_TRY(BB_ALLOCATE(map->steps, &out->frames->steps_rad));
    BB_TRY(BB_ALLOCATE(map->steps * points, &out->frames->intensity));
    for (bb_index n = 0; n < map->steps; ++n) { // Carre's phase steps are centred on 0
        out->frames->steps_rad[n] =
            study->input.steps_rad.count > 0 ? given[n] : ((double)n - 1.5) * step;
    }
    for (bb_index i = 0; i < map->steps * points; ++i) { // no window may average a masked point
        out->frames->intensity[i] =
            out->scene->mask[i % points] != 0 ? map->values[i] / out->full_scale : (double)NAN;
    }
    bb_log_detail("'%s', dataset '%s': %td frames of %s, full scale %g", study->input.file,
                  study->input.dataset, map->steps, map->is_float ? "floats" : "integers",
                  out->full_scale);
done:
    return status;
}

// Checks that the phase within the mask is wrapped: from -pi to pi, or from 0 to 2 pi.
static bb_status check_range(const bb_fringe_study *study, const bb_map_file *map,
                             const unsigned char *mask)
{
    bb_status status = BB_OK;
    double least = INFINITY, most = -INFINITY;
    for (bb_index p = 0; p < map->rows * map->columns; ++p) {
        least = mask[p] != 0 ? fmin(least, map->values[p]) : least;
        most = mask[p] != 0 ? fmax(most, map->values[p]) : most;
    }
    BB_REQUIRE((least >= -M_PI - RANGE_SLACK_RAD && most <= M_PI + RANGE_SLACK_RAD) ||
                   (least >= -RANGE_SLACK_RAD && most <= 2.0 * M_PI + RANGE_SLACK_RAD),
               BB_INVALID,
               "input.file: '%s', dataset '%s': values from %.4g to %.4g, expected a wrapped "
               "phase, from -pi to "
               "pi or from 0 to 2 pi: is it unwrapped already, or not in rad?",
               study->input.file, study->input.dataset, least, most);
done:
    return status;
}

static bb_status store_phase(const bb_fringe_study *study, const bb_map_file *map,
                             bb_fringe_input *out)
{
    bb_status status = BB_OK;
    const bb_index points = map->rows * map->columns;
    BB_TRY(check_range(study, map, out->scene->mask));
    BB_TRY(BB_ALLOCATE(points, &out->wrapped));
    for (bb_index p = 0; p < points; ++p) {
        out->wrapped[p] =
            out->scene->mask[p] != 0 ? bb_detection_wrap(map->values[p]) : (double)NAN;
    }
done:
    return status;
}

// True if a point has a finite phase, or finite values in all frames.
static bool is_measured(const bb_map_file *map, bb_index point)
{
    const bb_index points = map->rows * map->columns;
    const bb_index count = map->steps > 0 ? map->steps * points : points;
    bool measured = true;
    for (bb_index i = point; i < count && measured; i += points) {
        measured = isfinite(map->values[i]);
    }
    return measured;
}

// Reads a map whose size has been checked.
static bb_status read_map(const bb_map_request *request, const bb_fringe_input *input,
                          bb_map_file *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_map_file_read(request, out));
    BB_REQUIRE(out->rows == input->rows && out->columns == input->columns &&
                   (!request->steps || out->steps == input->steps),
               BB_IO, "'%s', dataset '%s': the file changed after it was checked", request->file,
               request->dataset);
done:
    return status;
}

// Reads the data and keeps only points with finite values in the mask.
static bb_status read_data(const bb_fringe_study *study, bb_map_file *map, bb_fringe_input *out)
{
    bb_status status = BB_OK;
    const bb_map_request request = request_data(&study->input);
    const bb_index points = out->rows * out->columns;
    BB_TRY(read_map(&request, out, map));
    BB_TRY(BB_ZEROED(1, &out->scene));
    out->scene->rows = out->rows;
    out->scene->columns = out->columns;
    BB_TRY(BB_ALLOCATE(points, &out->scene->mask));
    BB_TRY(BB_ALLOCATE(points, &out->scene->phase));
    for (bb_index p = 0; p < points; ++p) {
        out->scene->mask[p] = is_measured(map, p);
        out->scene->phase[p] = NAN;
    }
done:
    return status;
}

static bb_status read_mask(const bb_fringe_study *study, bb_fringe_input *out)
{
    bb_status status = BB_OK;
    const bb_map_request request = request_mask(&study->input);
    const bb_index points = out->rows * out->columns;
    bb_map_file map = {0};
    bb_index measured = 0;
    BB_TRY(request.dataset != NULL ? read_map(&request, out, &map) : BB_OK);
    for (bb_index p = 0; p < points; ++p) {
        out->scene->mask[p] =
            out->scene->mask[p] != 0 &&
            (map.values == NULL || (isfinite(map.values[p]) && map.values[p] != 0.0));
        measured += out->scene->mask[p];
    }
    BB_REQUIRE(measured > 0, BB_INVALID,
               "'%s', dataset '%s': no finite value%s%s%s: there is no phase to unwrap",
               request.file, study->input.dataset, request.dataset == NULL ? "" : " where '",
               request.dataset == NULL ? "" : request.dataset,
               request.dataset == NULL ? "" : "' is not 0");
done:
    bb_map_file_release(&map);
    return status;
}

static bb_status read_truth(const bb_fringe_study *study, bb_fringe_input *out)
{
    bb_status status = BB_OK;
    const bb_map_request request = request_truth(&study->input);
    const bb_index points = out->rows * out->columns;
    bb_map_file map = {0};
    bb_index known = 0;
    if (request.dataset == NULL) {
        goto done;
    }
    BB_TRY(read_map(&request, out, &map));
    for (bb_index p = 0; p < points; ++p) {
        const bool is_known = out->scene->mask[p] != 0 && isfinite(map.values[p]);
        out->scene->phase[p] = is_known ? map.values[p] : (double)NAN;
        known += is_known;
    }
    BB_REQUIRE(known > 0, BB_INVALID,
               "'%s', dataset '%s': the true phase is not finite at a point with data",
               request.file, request.dataset);
done:
    bb_map_file_release(&map);
    return status;
}

bb_status bb_fringe_input_open(const bb_fringe_study *study, bb_fringe_input *out)
{
    bb_status status = BB_OK;
    bb_map_file map = {0};
    BB_TRY(bb_fringe_input_inspect(study, out));
    if (out->columns > 0) {
        BB_TRY(bb_status_prefix(read_data(study, &map, out), "input.file"));
        BB_TRY(bb_status_prefix(read_mask(study, out), "input.%s",
                                study->input.mask != NULL ? "mask" : "file"));
        BB_TRY((out->steps > 0 ? store_frames : store_phase)(study, &map, out));
        bb_map_file_release(&map);
        BB_TRY(bb_status_prefix(read_truth(study, out), "input.truth"));
        bb_log_detail("input: size, surface, pupil and noise of the study have no effect");
    }
done:
    bb_map_file_release(&map);
    return status;
}

void bb_fringe_input_release(bb_fringe_input *input)
{
    bb_scene_destroy(&input->scene);
    bb_frames_destroy(&input->frames);
    BB_RELEASE(&input->wrapped);
}

bb_fringe_study bb_fringe_input_study(const bb_fringe_study *study, const bb_fringe_input *input)
{
    bb_fringe_study out = *study;
    if (input->columns > 0) {
        bb_fringe_detection_config *detection = &out.physics.detection;
        out.physics.size = (bb_fringe_size_config){input->columns, input->rows};
        detection->algorithm = input->steps > 0 ? detection->algorithm : BB_DETECTION_NONE;
        detection->steps = input->steps > 0 ? input->steps : detection->steps;
    }
    return out;
}

bb_need bb_fringe_input_need(const bb_fringe_input *input)
{
    const double points = (double)input->columns * (double)input->rows;
    const double maps = input->steps > 0 ? (double)input->steps : 1.0;
    return (bb_need){.host_bytes = 16.0 * points * maps + 17.0 * points,
                     .seconds = 4e-8 * points * (maps + 2.0)};
}

// Checks the rules between keys of `input:`; the file itself is read later.
static bb_status check(const void *all, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_fringe_study *study = all;
    const bb_fringe_input_config *input = &study->input;
    const bool has_steps = input->steps_rad.count > 0;
    bb_status_record record;
    if (input->file == NULL) {
        BB_TRY(bb_study_refuse(
            input->mask != NULL || input->truth != NULL || has_steps || !isnan(input->full_scale),
            config, problems, "input.file is missing: the other keys of input need it"));
        goto done;
    }
    BB_TRY(bb_study_refuse(has_steps && study->physics.detection.algorithm != BB_DETECTION_STEPS,
                           config, problems, "input.steps_rad: needs detection.algorithm steps"));
    if (has_steps &&
        bb_detection_steps_check(input->steps_rad.count, input->steps_rad.items) != BB_OK) {
        bb_status_save(&record);
        BB_TRY(bb_study_refuse(true, config, problems, "input.steps_rad: %s", record.message));
    }
done:
    return status;
}

static bool wanted(const void *study)
{
    return ((const bb_fringe_study *)study)->input.file != NULL;
}

static bb_status plan_lines(const void *all, const void *extent, bb_plan *plan)
{
    const bb_fringe_input_config *input = &((const bb_fringe_study *)all)->input;
    const bool has_frames = ((const bb_fringe_extent *)extent)->input.steps > 0;
    return bb_plan_add(plan, "input", "'%s', dataset '%s': %s", input->file, input->dataset,
                       has_frames ? "frames" : "a wrapped phase");
}

const bb_part bb_fringe_input_part = {
    .name = "input", .wanted = wanted, .check = check, .plan_lines = plan_lines};
