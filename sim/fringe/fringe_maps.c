// SPDX-License-Identifier: Apache-2.0
//
// Maps of the first draw, thinned to at most BB_FRINGE_MAPS_EDGE points a side, and the parts of
// the pupil; full-size maps for --dump.
//
// Thinning keeps every stride-th column and row from the first on, with the same stride along both
// axes.
#include "core/memory.h"
#include "physics/fringe/cycles.h"
#include "sim/fringe/fringe_work.h"
#include "sim/run/dump.h"
#include "solvers/unwrap/unwrap_quality.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Values written to /maps.
typedef struct map_record {
    double stride;
    double *interferogram, *wrapped, *truth, *parts, *quality; // [rows][columns], NULL if absent
    double *unwrapped, *error;                                 // [pipeline][rows][columns]
} map_record;

typedef struct part_record {
    double *points, *piston; // [part]
} part_record;

enum { MAPS = BB_STUDY_PIPELINES + 5, NAME_BYTES = 96 };

// Full-size maps for --dump. `phase`: unwrapped phase of every pipeline, wrapped phase of the
// reference, and the truth. `maps`: quality of the reference's phase, parts of the pupil, and the
// first frame. The results own this object and its arrays.
typedef struct whole_maps {
    bb_results *results; // borrowed; the results own this object
    bool phases, sight;  // requested by --dump: `phase`, `maps`
    bb_index count;
    char names[MAPS][NAME_BYTES];
    double *values[MAPS]; // [rows][columns]
    bb_view views[MAPS];
    bb_matrix_source sources[MAPS];
} whole_maps;

static void release_whole(void *object)
{
    whole_maps *dump = object;
    for (bb_index i = 0; i < dump->count; ++i) {
        BB_RELEASE(&dump->values[i]);
    }
    BB_RELEASE(&dump);
}

static bb_status create_whole(bb_results *results, const char *names, whole_maps **out)
{
    bb_status status = BB_OK;
    const bool phases = bb_dump_wanted(names, "phase");
    const bool sight = bb_dump_wanted(names, "maps");
    *out = NULL;
    if (phases || sight) {
        BB_TRY(BB_ZEROED(1, out));
        (*out)->results = results;
        (*out)->phases = phases;
        (*out)->sight = sight;
        BB_TRY(bb_results_own(results, *out, release_whole));
    }
done:
    return status;
}

static bool is_name_used(const whole_maps *dump, const char *name)
{
    bool taken = false;
    for (bb_index i = 0; i < dump->count && !taken; ++i) {
        taken = strcmp(dump->names[i], name) == 0;
    }
    return taken;
}

static void name_map(const whole_maps *dump, const char *pipeline, bb_index index,
                     char out[NAME_BYTES])
{
    (void)snprintf(out, NAME_BYTES, "phase_%.70s", pipeline);
    for (char *c = out; *c != '\0'; ++c) {
        *c = (char)(isalnum((unsigned char)*c) ? *c : '_');
    }
    if (is_name_used(dump, out)) {
        const size_t length = strlen(out);
        (void)snprintf(out + length, NAME_BYTES - length, "_%td", index);
    }
}

// Adds a map whose values already are the last entry of dump->values.
static bb_status add_last(whole_maps *dump, const char *name, const char *long_name,
                          const char *unit, bb_index columns, bb_index rows)
{
    const bb_index map = dump->count++;
    (void)snprintf(dump->names[map], NAME_BYTES, "%s", name);
    dump->views[map] = bb_view_matrix(dump->values[map], rows, columns);
    dump->sources[map] = bb_matrix_source_dense(&dump->views[map], dump->names[map], unit);
    return bb_results_operator(dump->results, name, long_name, &dump->sources[map]);
}

static bb_status add(whole_maps *dump, const char *name, const char *long_name, const char *unit,
                     bb_index columns, bb_index rows, const double *values)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ALLOCATE(columns * rows, &dump->values[dump->count]));
    memcpy(dump->values[dump->count], values, (size_t)(columns * rows) * sizeof *values);
    BB_TRY(add_last(dump, name, long_name, unit, columns, rows));
done:
    return status;
}

static bb_status add_labels(whole_maps *dump, const bb_unwrap_parts *parts)
{
    bb_status status = BB_OK;
    const bb_index points = parts->columns * parts->rows;
    BB_TRY(BB_ALLOCATE(points, &dump->values[dump->count]));
    for (bb_index p = 0; p < points; ++p) {
        dump->values[dump->count][p] = parts->labels[p] < 0 ? NAN : (double)parts->labels[p];
    }
    BB_TRY(add_last(dump, "parts", "index of the part of the pupil", "1", parts->columns,
                    parts->rows));
done:
    return status;
}

// Adds the requested maps of the reference that exist; parts are NaN outside the pupil.
static bb_status add_sight(whole_maps *dump, const bb_fringe_sight *sight)
{
    bb_status status = BB_OK;
    const bb_index columns = sight->parts->columns, rows = sight->parts->rows;
    if (dump != NULL && dump->phases) {
        if (sight->truth != NULL) {
            BB_TRY(add(dump, "phase_truth", "phase, truth", "rad", columns, rows, sight->truth));
        }
        BB_TRY(add(dump, "phase_wrapped", "phase, wrapped", "rad", columns, rows, sight->wrapped));
    }
    if (dump != NULL && dump->sight) {
        BB_TRY(add(dump, "quality", "mean weight of a point's edges", "1", columns, rows,
                   sight->quality));
        BB_TRY(add_labels(dump, sight->parts));
        if (sight->interferogram != NULL) {
            BB_TRY(add(dump, "interferogram", "first frame divided by full scale", "1", columns,
                       rows, sight->interferogram));
        }
    }
done:
    return status;
}

// Adds a phase in rad. Characters of the name other than letters and digits become _; equal names
// get the pipeline's index as a suffix.
static bb_status add_phase(whole_maps *dump, const char *pipeline, bb_index index, bb_index columns,
                           bb_index rows, const double *phase)
{
    bb_status status = BB_OK;
    char name[NAME_BYTES];
    char long_name[160];
    if (dump != NULL && dump->phases) {
        name_map(dump, pipeline, index, name);
        (void)snprintf(long_name, sizeof long_name, "phase of pipeline %.100s", pipeline);
        BB_TRY(add(dump, name, long_name, "rad", columns, rows, phase));
    }
done:
    return status;
}

// Upper bound on the bytes that full-size maps add to the file.
static double whole_bytes(const char *names, double pipelines, double points)
{
    return 8.0 * points *
           ((bb_dump_wanted(names, "phase") ? pipelines + 2.0 : 0.0) +
            (bb_dump_wanted(names, "maps") ? 3.0 : 0.0));
}

struct bb_fringe_maps {
    const bb_fringe_study *study;
    bb_index stride;
    bb_index columns, rows;           // size of the full arrays
    bb_index kept_columns, kept_rows; // size of the thinned maps
    map_record maps;
    part_record parts;
    double *part_indices; // [part_count], largest part first
    bb_index part_count;
    whole_maps *whole; // NULL without a dump; owned by the results
};

// clang-format off
static const char map_title[] = "/maps, fringe";

static const bb_output map_axis_rows[] = {
    {"pipeline", "pipeline", NULL, .long_name = "names, in the order of the study"},
    {"row", "row", "1", "row of the camera", .note = "`stride` apart"},
    {"column", "column", "1", "column of the camera", .note = "`stride` apart"},
};

#define MAP(field, axes, unit, text) {#field, axes, unit, text, BB_MEMBER(map_record, field)}

static const bb_output map_rows[] = {
    MAP(stride, "", "1", "camera rows and columns between neighbouring points of a map"),
    {"interferogram", "row, column", "1", "first frame of the reference, divided by full scale",
     .note = "absent without frames", BB_MEMBER(map_record, interferogram)},
    MAP(wrapped, "row, column", "rad", "wrapped phase of the reference"),
    {"truth", "row, column", "rad", "true phase", .note = "absent without a truth",
     BB_MEMBER(map_record, truth)},
    MAP(parts, "row, column", "1", "index of the part of the pupil that contains a point"),
    {"quality", "row, column", "1", "mean weight of a point's edges in the reference's last least "
     "squares",
     .note = "1: the phase follows every edge; at most 0.5 at rejected edges",
     BB_MEMBER(map_record, quality)},
    MAP(unwrapped, "pipeline, row, column", "rad", "unwrapped phase"),
    {"error", "pipeline, row, column", "rad",
     "unwrapped phase minus the truth, without the piston of each part",
     .note = "without a truth, minus the reference's phase; a piston is the mean over the part's "
             "points of the most frequent cycle", BB_MEMBER(map_record, error)},
};

static const char part_title[] = "/parts, fringe";

static const bb_output part_axis_rows[] = {
    {"part", "part", "1", "index of the part in /maps/parts",
     .note = "largest first, at most 64"},
};
static const bb_output part_rows[] = {
    {"points", "part", "1", "number of points of the part", BB_MEMBER(part_record, points)},
    {"piston", "part", "rad", "piston of the reference's phase relative to the truth",
     .note = "subtracted from errors; 0 without a truth", BB_MEMBER(part_record, piston)},
};
// clang-format on

static const bb_output_table map_axis_outputs = {
    .title = map_title,
    .when = "Maps of the first draw, thinned to at most 128 x 128 points: every `stride`-th column "
            "and row. `--dump phase,maps` writes them whole.",
    .group = "maps",
    BB_OUTPUT_ROWS(map_axis_rows)};
static const bb_output_table map_outputs = {
    .title = map_title, .group = "maps", BB_OUTPUT_ROWS(map_rows)};
static const bb_output_table part_axis_outputs = {
    .title = part_title, .group = "parts", BB_OUTPUT_ROWS(part_axis_rows)};
static const bb_output_table part_outputs = {
    .title = part_title, .group = "parts", BB_OUTPUT_ROWS(part_rows)};

static bb_index thinned(bb_index extent, bb_index stride)
{
    return (extent + stride - 1) / stride;
}

static bb_index stride_of(bb_index columns, bb_index rows)
{
    return thinned(columns > rows ? columns : rows, BB_FRINGE_MAPS_EDGE);
}

bb_status bb_fringe_maps_create(const bb_fringe_study *study, bb_index columns, bb_index rows,
                                bb_fringe_maps **out)
{
    bb_status status = BB_OK;
    bb_fringe_maps *maps = NULL;
    const bb_index stride = stride_of(columns, rows);
    BB_TRY(BB_ZEROED(1, &maps));
    maps->study = study;
    maps->stride = stride;
    maps->columns = columns;
    maps->rows = rows;
    maps->kept_columns = thinned(columns, stride);
    maps->kept_rows = thinned(rows, stride);
    maps->maps.stride = (double)stride;
    const bb_index values = study->pipelines.count * maps->kept_columns * maps->kept_rows;
    BB_TRY(BB_ALLOCATE(values, &maps->maps.unwrapped));
    BB_TRY(BB_ALLOCATE(values, &maps->maps.error));
    for (bb_index i = 0; i < values; ++i) {
        maps->maps.unwrapped[i] = NAN;
        maps->maps.error[i] = NAN;
    }
    *out = maps;
    maps = NULL;
done:
    bb_fringe_maps_destroy(&maps);
    return status;
}

void bb_fringe_maps_destroy(bb_fringe_maps **maps)
{
    if (*maps != NULL) {
        map_record *record = &(*maps)->maps;
        double **const arrays[] = {
            &record->interferogram, &record->wrapped,      &record->truth, &record->parts,
            &record->quality,       &record->unwrapped,    &record->error, &(*maps)->parts.points,
            &(*maps)->parts.piston, &(*maps)->part_indices};
        for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; ++i) {
            BB_RELEASE(arrays[i]);
        }
        BB_RELEASE(maps);
    }
}

// Copies every stride-th value of `map` [rows][columns] along both axes.
static void thin(const bb_fringe_maps *maps, const double *map, double *out)
{
    for (bb_index row = 0; row < maps->kept_rows; ++row) {
        for (bb_index column = 0; column < maps->kept_columns; ++column) {
            out[row * maps->kept_columns + column] =
                map[(row * maps->columns + column) * maps->stride];
        }
    }
}

static bb_status store_map(const bb_fringe_maps *maps, const double *map, double **out)
{
    bb_status status = BB_OK;
    if (map != NULL) {
        BB_TRY(BB_ALLOCATE(maps->kept_rows * maps->kept_columns, out));
        thin(maps, map, *out);
    }
done:
    return status;
}

// A part of the pupil and its number of points; sorted by points, then by index.
typedef struct sized_part {
    bb_index points, index;
} sized_part;

static int compare_parts(const void *one, const void *two)
{
    const sized_part *a = one, *b = two;
    return a->points != b->points ? (a->points < b->points) - (a->points > b->points)
                                  : (a->index > b->index) - (a->index < b->index);
}

static bb_status list_parts(bb_fringe_maps *maps, const bb_unwrap_parts *parts)
{
    bb_status status = BB_OK;
    sized_part *order = NULL; // [parts->count]
    const bb_index count =
        parts->count < BB_FRINGE_MAPS_PARTS ? parts->count : BB_FRINGE_MAPS_PARTS;
    BB_TRY(BB_ALLOCATE(parts->count, &order));
    for (bb_index part = 0; part < parts->count; ++part) {
        order[part] = (sized_part){parts->sizes[part], part};
    }
    if (parts->count > 0) {
        qsort(order, (size_t)parts->count, sizeof *order, compare_parts);
    }
    BB_TRY(BB_ALLOCATE(count, &maps->part_indices));
    BB_TRY(BB_ALLOCATE(count, &maps->parts.points));
    BB_TRY(BB_ZEROED(count, &maps->parts.piston));
    for (bb_index k = 0; k < count; ++k) {
        maps->part_indices[k] = (double)order[k].index;
        maps->parts.points[k] = (double)order[k].points;
    }
    maps->part_count = count;
done:
    BB_RELEASE(&order);
    return status;
}

bb_status bb_fringe_maps_set_data(bb_fringe_maps *maps, const bb_fringe_sight *sight)
{
    bb_status status = BB_OK;
    map_record *record = &maps->maps;
    const bb_index points = maps->kept_rows * maps->kept_columns;
    BB_TRY(store_map(maps, sight->interferogram, &record->interferogram));
    BB_TRY(store_map(maps, sight->wrapped, &record->wrapped));
    BB_TRY(store_map(maps, sight->truth, &record->truth));
    BB_TRY(store_map(maps, sight->quality, &record->quality));
    BB_TRY(BB_ALLOCATE(points, &record->parts));
    for (bb_index p = 0; p < points; ++p) {
        const bb_index row = p / maps->kept_columns, column = p % maps->kept_columns;
        const int32_t part = sight->parts->labels[(row * maps->columns + column) * maps->stride];
        record->parts[p] = part < 0 ? NAN : (double)part;
    }
    BB_TRY(list_parts(maps, sight->parts));
    BB_TRY(add_sight(maps->whole, sight));
done:
    return status;
}

// Piston of each part: mean of phase - datum over its points of the most frequent cycle; NaN
// without such points.
static bb_status find_pistons(const bb_unwrap_parts *parts, const double *phase,
                              const double *datum, double *pistons)
{
    bb_status status = BB_OK;
    const bb_index points = parts->columns * parts->rows;
    bb_part_cycles *by_part = NULL; // [count]
    bb_index *counts = NULL;        // [count]
    bb_cycles cycles;
    BB_TRY(BB_ALLOCATE(parts->count, &by_part));
    BB_TRY(BB_ZEROED(parts->count, &counts));
    BB_TRY(bb_cycles_count(points, phase, datum, parts->labels, parts->count, by_part, &cycles));
    for (bb_index part = 0; part < parts->count; ++part) {
        pistons[part] = 0.0;
    }
    for (bb_index p = 0; p < points; ++p) {
        const int32_t part = parts->labels[p];
        const double difference = phase[p] - datum[p];
        if (part >= 0 && rint(difference / (2.0 * M_PI)) == (double)by_part[part].piston) {
            pistons[part] += difference;
            ++counts[part];
        }
    }
    for (bb_index part = 0; part < parts->count; ++part) {
        pistons[part] = counts[part] > 0 ? pistons[part] / (double)counts[part] : NAN;
    }
done:
    BB_RELEASE(&counts);
    BB_RELEASE(&by_part);
    return status;
}

bb_status bb_fringe_maps_add(bb_fringe_maps *maps, bb_index pipeline, bool of_reference,
                             const bb_unwrap_parts *parts, const double *phase, const double *datum)
{
    bb_status status = BB_OK;
    const bb_index points = maps->kept_rows * maps->kept_columns;
    const bb_fringe_pipeline *pipelines = maps->study->pipelines.items;
    double *error = maps->maps.error + pipeline * points;
    double *pistons = NULL; // [parts->count]
    BB_TRY(BB_ALLOCATE(parts->count, &pistons));
    BB_TRY(find_pistons(parts, phase, datum, pistons));
    thin(maps, phase, maps->maps.unwrapped + pipeline * points);
    for (bb_index p = 0; p < points; ++p) {
        const bb_index row = p / maps->kept_columns, column = p % maps->kept_columns;
        const bb_index point = (row * maps->columns + column) * maps->stride;
        const int32_t part = parts->labels[point];
        error[p] = part < 0 ? NAN : phase[point] - datum[point] - pistons[part];
    }
    for (bb_index k = 0; of_reference && k < maps->part_count; ++k) {
        maps->parts.piston[k] = pistons[(bb_index)maps->part_indices[k]];
    }
    BB_TRY(add_phase(maps->whole, pipelines[pipeline].name, pipeline, parts->columns, parts->rows,
                     phase));
done:
    BB_RELEASE(&pistons);
    return status;
}

static bb_status publish_axis(const char *name, bb_index count, bb_index stride,
                              bb_results *results)
{
    bb_status status = BB_OK;
    double *values = NULL;
    BB_TRY(BB_ALLOCATE(count, &values));
    for (bb_index i = 0; i < count; ++i) {
        values[i] = (double)(i * stride);
    }
    BB_TRY(bb_output_table_add_axis(&map_axis_outputs, name, count, values, NULL, results));
done:
    BB_RELEASE(&values);
    return status;
}

bb_status bb_fringe_maps_publish(const bb_fringe_maps *maps, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_fringe_pipeline *pipelines = maps->study->pipelines.items;
    const char *names[BB_STUDY_PIPELINES];
    for (bb_index p = 0; p < maps->study->pipelines.count; ++p) {
        names[p] = pipelines[p].name;
    }
    BB_TRY(bb_output_table_add_axis(&map_axis_outputs, "pipeline", maps->study->pipelines.count,
                                    names, NULL, results));
    BB_TRY(publish_axis("row", maps->kept_rows, maps->stride, results));
    BB_TRY(publish_axis("column", maps->kept_columns, maps->stride, results));
    BB_TRY(bb_output_table_publish(&map_outputs, &maps->maps, NULL, results));
    BB_TRY(bb_output_table_add_axis(&part_axis_outputs, "part", maps->part_count,
                                    maps->part_indices, NULL, results));
    BB_TRY(bb_output_table_publish(&part_outputs, &maps->parts, NULL, results));
done:
    return status;
}

static bb_status start(void *all, bb_results *results)
{
    bb_status status = BB_OK;
    bb_fringe_run *run = all;
    const bb_fringe_size_config *size = &run->work.study.physics.size;
    BB_TRY(bb_fringe_maps_create(&run->work.study, size->columns, size->rows, &run->maps));
    BB_TRY(create_whole(results, run->dump, &run->maps->whole));
done:
    return status;
}

static bb_status publish(void *run, bb_results *results)
{
    return bb_fringe_maps_publish(((bb_fringe_run *)run)->maps, results);
}

// The maps stay allocated to the end, and nearly all of their bytes are written.
static bb_status plan_lines(const void *all, const void *extent, bb_plan *plan)
{
    const bb_fringe_study *study = all;
    const bb_fringe_extent *span = extent;
    const bb_fringe_size_config *size = &study->physics.size;
    const bb_index stride = stride_of(size->columns, size->rows);
    const double points = (double)(thinned(size->columns, stride) * thinned(size->rows, stride));
    const double count = (double)study->pipelines.count;
    const double bytes =
        8.0 * points * (5.0 + 2.0 * count) + whole_bytes(span->dump, count, span->points);
    const bb_need quality = bb_unwrap_quality_need(size->columns, size->rows);
    plan->host_bytes += bytes + quality.host_bytes;
    plan->device_bytes += quality.device_bytes;
    plan->estimated_seconds += quality.seconds;
    plan->output_bytes += bytes;
    return BB_OK;
}

const bb_part bb_fringe_maps_part = {
    .name = "maps",
    .plan_lines = plan_lines,
    .start = start,
    .run = publish,
    .outputs = BB_OUTPUTS(&map_axis_outputs, &map_outputs, &part_axis_outputs, &part_outputs),
};
