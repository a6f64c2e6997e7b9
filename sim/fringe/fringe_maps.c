// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/fringe_maps.h"

#include "core/memory.h"
#include "physics/fringe/cycles.h"

#include <math.h>
#include <stdlib.h>

// What is written of the maps and of the parts.
typedef struct map_record {
    double stride;
    double *interferogram, *wrapped, *truth, *parts, *quality; // [rows][columns], NULL: none
    double *unwrapped, *error;                                 // [pipeline][rows][columns]
} map_record;

typedef struct part_record {
    double *points, *piston; // [part]
} part_record;

struct bb_fringe_maps {
    const bb_fringe_study *study;
    bb_index stride;
    bb_index columns, rows;           // of the array
    bb_index kept_columns, kept_rows; // of the maps
    map_record maps;
    part_record parts;
    double *part_indices; // [part_count], the largest first
    bb_index part_count;
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
    MAP(stride, "", "1", "rows and columns of the camera from one of the maps to the next"),
    {"interferogram", "row, column", "1", "first frame over full scale, as the reference sees it",
     .note = "absent without frames", BB_MEMBER(map_record, interferogram)},
    MAP(wrapped, "row, column", "rad", "wrapped phase that the reference sees"),
    {"truth", "row, column", "rad", "true phase", .note = "absent without a truth",
     BB_MEMBER(map_record, truth)},
    MAP(parts, "row, column", "1", "index of the part of the pupil that a point belongs to"),
    {"quality", "row, column", "1", "mean weight of a point's edges in the reference's last least "
     "squares",
     .note = "1: every edge was kept and is followed; at most 0.5 where they were rejected",
     BB_MEMBER(map_record, quality)},
    MAP(unwrapped, "pipeline, row, column", "rad", "unwrapped phase"),
    {"error", "pipeline, row, column", "rad",
     "unwrapped phase minus the truth, each part without its piston",
     .note = "without a truth minus the reference's phase; a piston is the mean over the part's "
             "points of the most frequent cycle", BB_MEMBER(map_record, error)},
};

static const char part_title[] = "/parts, fringe";

static const bb_output part_axis_rows[] = {
    {"part", "part", "1", "index of the part in /maps/parts",
     .note = "the largest first, at most 64 of them"},
};
static const bb_output part_rows[] = {
    {"points", "part", "1", "points of the part", BB_MEMBER(part_record, points)},
    {"piston", "part", "rad", "piston of the reference's phase over the truth",
     .note = "taken out of errors; 0 without a truth", BB_MEMBER(part_record, piston)},
};
// clang-format on

const bb_output_table bb_fringe_map_axes = {
    .title = map_title,
    .when = "Maps of the first draw, thinned to at most 128 x 128 points: every `stride`-th column "
            "and row. `--dump phase,maps` writes them whole.",
    .group = "maps",
    BB_OUTPUT_ROWS(map_axis_rows)};
const bb_output_table bb_fringe_map_outputs = {
    .title = map_title, .group = "maps", BB_OUTPUT_ROWS(map_rows)};
const bb_output_table bb_fringe_part_axes = {
    .title = part_title, .group = "parts", BB_OUTPUT_ROWS(part_axis_rows)};
const bb_output_table bb_fringe_part_outputs = {
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

// Every stride-th value along both axes of `map` [rows][columns].
static void thin(const bb_fringe_maps *maps, const double *map, double *out)
{
    for (bb_index row = 0; row < maps->kept_rows; ++row) {
        for (bb_index column = 0; column < maps->kept_columns; ++column) {
            out[row * maps->kept_columns + column] =
                map[(row * maps->columns + column) * maps->stride];
        }
    }
}

static bb_status keep(const bb_fringe_maps *maps, const double *map, double **out)
{
    bb_status status = BB_OK;
    if (map != NULL) {
        BB_TRY(BB_ALLOCATE(maps->kept_rows * maps->kept_columns, out));
        thin(maps, map, *out);
    }
done:
    return status;
}

// A part and its points; the order is by points, then by index.
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

bb_status bb_fringe_maps_see(bb_fringe_maps *maps, const bb_fringe_sight *sight)
{
    bb_status status = BB_OK;
    map_record *record = &maps->maps;
    const bb_index points = maps->kept_rows * maps->kept_columns;
    BB_TRY(keep(maps, sight->interferogram, &record->interferogram));
    BB_TRY(keep(maps, sight->wrapped, &record->wrapped));
    BB_TRY(keep(maps, sight->truth, &record->truth));
    BB_TRY(keep(maps, sight->quality, &record->quality));
    BB_TRY(BB_ALLOCATE(points, &record->parts));
    for (bb_index p = 0; p < points; ++p) {
        const bb_index row = p / maps->kept_columns, column = p % maps->kept_columns;
        const int32_t part = sight->parts->labels[(row * maps->columns + column) * maps->stride];
        record->parts[p] = part < 0 ? NAN : (double)part;
    }
    BB_TRY(list_parts(maps, sight->parts));
done:
    return status;
}

// Means of phase - datum over a part's points of its most frequent cycle; NaN without such points.
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

bb_status bb_fringe_maps_take(bb_fringe_maps *maps, bb_index pipeline, bool of_reference,
                              const bb_unwrap_parts *parts, const double *phase,
                              const double *datum)
{
    bb_status status = BB_OK;
    const bb_index points = maps->kept_rows * maps->kept_columns;
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
    BB_TRY(bb_output_table_add_axis(&bb_fringe_map_axes, name, count, values, NULL, results));
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
    BB_TRY(bb_output_table_add_axis(&bb_fringe_map_axes, "pipeline", maps->study->pipelines.count,
                                    names, NULL, results));
    BB_TRY(publish_axis("row", maps->kept_rows, maps->stride, results));
    BB_TRY(publish_axis("column", maps->kept_columns, maps->stride, results));
    BB_TRY(bb_output_table_publish(&bb_fringe_map_outputs, &maps->maps, NULL, results));
    BB_TRY(bb_output_table_add_axis(&bb_fringe_part_axes, "part", maps->part_count,
                                    maps->part_indices, NULL, results));
    BB_TRY(bb_output_table_publish(&bb_fringe_part_outputs, &maps->parts, NULL, results));
done:
    return status;
}

bb_need bb_fringe_maps_need(bb_index columns, bb_index rows, bb_index pipelines)
{
    const bb_index stride = stride_of(columns, rows);
    const double points = (double)(thinned(columns, stride) * thinned(rows, stride));
    return (bb_need){.host_bytes = 8.0 * points * (5.0 + 2.0 * (double)pipelines)};
}
