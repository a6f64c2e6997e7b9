// SPDX-License-Identifier: Apache-2.0
#include "solvers/unwrap/unwrap_quality.h"

#include "core/memory.h"
#include "solvers/unwrap/unwrap_state.h"

#include <math.h>

// Returns the end point of the edge from a point to the right (axis 0) or downwards (axis 1); -1 if
// there is no such edge.
static bb_index end_of_edge(const bb_unwrap_parts *parts, bb_index point, int axis)
{
    const bool fits = axis == 0 ? point % parts->columns + 1 < parts->columns
                                : point / parts->columns + 1 < parts->rows;
    const bb_index end = axis == 0 ? point + 1 : point + parts->columns;
    return fits && parts->labels[point] >= 0 && parts->labels[end] >= 0 ? end : -1;
}

// Downloads a field as doubles.
static bb_status load(bb_unwrap *unwrap, const bb_unwrap_field *field, double *out)
{
    bb_status status = BB_OK;
    const bb_index count = field->columns * field->rows;
    const float *floats = (const float *)unwrap->words;
    BB_TRY(bb_device_download(bb_kernel_context_device(unwrap->context), unwrap->words,
                              field->block, field->bytes));
    for (bb_index p = 0; p < count; ++p) {
        out[p] = field->format == BB_FORMAT_FP64 ? unwrap->words[p] : (double)floats[p];
    }
done:
    return status;
}

bb_status bb_unwrap_quality_map(bb_unwrap *unwrap, double *quality)
{
    bb_status status = BB_OK;
    const bb_unwrap_parts *parts = &unwrap->parts;
    const bb_index points = parts->columns * parts->rows;
    const bb_unwrap_field *const fields[] = {&unwrap->grids.wx, &unwrap->grids.wy};
    double *weights = NULL;      // [points] weights of the edges along an axis
    unsigned char *edges = NULL; // [points] number of edges of a point
    BB_TRY(BB_ALLOCATE(points, &weights));
    BB_TRY(BB_ZEROED(points, &edges));
    for (bb_index p = 0; p < points; ++p) {
        quality[p] = 0.0;
    }
    for (int axis = 0; axis < 2; ++axis) {
        BB_TRY(load(unwrap, fields[axis], weights));
        for (bb_index p = 0; p < points; ++p) {
            const bb_index end = end_of_edge(parts, p, axis);
            if (end >= 0) {
                quality[p] += weights[p];
                quality[end] += weights[p];
                ++edges[p];
                ++edges[end];
            }
        }
    }
    for (bb_index p = 0; p < points; ++p) {
        const double mean = edges[p] > 0 ? fmin(1.0, quality[p] / edges[p]) : 0.0;
        quality[p] = parts->labels[p] >= 0 ? mean : NAN;
    }
done:
    BB_RELEASE(&edges);
    BB_RELEASE(&weights);
    return status;
}

static int32_t root_of(int32_t *parents, int32_t point)
{
    while (parents[point] != point) {
        parents[point] = parents[parents[point]];
        point = parents[point];
    }
    return point;
}

// Joins the regions connected by accepted edges along an axis, and counts steep edges.
static void join_accepted(const bb_unwrap_parts *parts, int axis, const double *used,
                          const double *gradients, int32_t *parents, bb_index *steep)
{
    for (bb_index p = 0; p < parts->columns * parts->rows; ++p) {
        const bb_index end = end_of_edge(parts, p, axis);
        if (end >= 0 && used[p] == gradients[p]) {
            const int32_t one = root_of(parents, (int32_t)p);
            const int32_t two = root_of(parents, (int32_t)end);
            parents[one > two ? one : two] = one > two ? two : one;
            *steep += fabs(gradients[p]) > BB_UNWRAP_STEEP;
        }
    }
}

// Counts points outside the largest region of each part. Sizes are stored at the root of a region.
static bb_status count_hanging(const bb_unwrap_parts *parts, int32_t *parents, bb_index *hanging)
{
    bb_status status = BB_OK;
    const bb_index points = parts->columns * parts->rows;
    int32_t *sizes = NULL;   // [points] size of the region, at its root
    int32_t *largest = NULL; // [count] largest region of each part
    BB_TRY(BB_ZEROED(points, &sizes));
    BB_TRY(BB_ZEROED(parts->count, &largest));
    for (bb_index p = 0; p < points; ++p) {
        if (parts->labels[p] >= 0) {
            const int32_t size = ++sizes[root_of(parents, (int32_t)p)];
            int32_t *record = &largest[parts->labels[p]];
            *record = size > *record ? size : *record;
        }
    }
    *hanging = 0;
    for (bb_index p = 0; p < points; ++p) {
        *hanging += sizes[p] >= BB_UNWRAP_REGION ? sizes[p] : 0;
    }
    for (bb_index part = 0; part < parts->count; ++part) {
        *hanging -= largest[part] >= BB_UNWRAP_REGION ? largest[part] : 0;
    }
done:
    BB_RELEASE(&largest);
    BB_RELEASE(&sizes);
    return status;
}

bb_status bb_unwrap_quality_reliability(bb_unwrap *unwrap, bb_unwrap_doubt *out)
{
    bb_status status = BB_OK;
    const bb_unwrap_parts *parts = &unwrap->parts;
    const bb_index points = parts->columns * parts->rows;
    // The first least-squares solve uses the mean instead of a rejected gradient, so unequal values
    // mark rejected edges.
    const bb_unwrap_field *const used[] = {&unwrap->mx, &unwrap->my};
    const bb_unwrap_field *const gradients[] = {&unwrap->gx, &unwrap->gy};
    double *fields[2] = {NULL, NULL}; // [points] each: used gradients, and measured ones
    int32_t *parents = NULL;          // [points]
    bb_index steep = 0, hanging = 0;
    BB_TRY(BB_ALLOCATE(points, &fields[0]));
    BB_TRY(BB_ALLOCATE(points, &fields[1]));
    BB_TRY(BB_ALLOCATE(points, &parents));
    for (bb_index p = 0; p < points; ++p) {
        parents[p] = (int32_t)p;
    }
    for (int axis = 0; axis < 2; ++axis) {
        BB_TRY(load(unwrap, used[axis], fields[0]));
        BB_TRY(load(unwrap, gradients[axis], fields[1]));
        join_accepted(parts, axis, fields[0], fields[1], parents, &steep);
    }
    BB_TRY(count_hanging(parts, parents, &hanging));
    out->steep_share = unwrap->edge_count > 0 ? (double)steep / (double)unwrap->edge_count : NAN;
    out->hanging_share = (double)hanging / (double)parts->point_count;
done:
    BB_RELEASE(&parents);
    BB_RELEASE(&fields[1]);
    BB_RELEASE(&fields[0]);
    return status;
}

bb_need bb_unwrap_quality_need(bb_index columns, bb_index rows)
{
    const double points = (double)columns * (double)rows;
    return (bb_need){.host_bytes = 24.0 * points, .seconds = 8e-8 * points};
}
