// SPDX-License-Identifier: Apache-2.0
#include "solvers/unwrap/unwrap_parts.h"

#include "core/memory.h"

#include <string.h>

// Returns the root of a point's tree, and halves the path on the way.
static int32_t root_of(int32_t *parents, int32_t point)
{
    while (parents[point] != point) {
        parents[point] = parents[parents[point]];
        point = parents[point];
    }
    return point;
}

bool bb_unwrap_parts_join(int32_t *parents, int32_t one, int32_t two)
{
    const int32_t first = root_of(parents, one);
    const int32_t second = root_of(parents, two);
    if (first < second) {
        parents[second] = first;
    } else {
        parents[first] = second;
    }
    return first != second;
}

// Converts labels from parents to part numbers.
static void label(const unsigned char *mask, bb_unwrap_parts *parts)
{
    const bb_index points = parts->columns * parts->rows;
    int32_t *labels = parts->labels;
    for (bb_index p = 0; p < points; ++p) {
        labels[p] = mask[p] != 0 ? (int32_t)p : -1;
        if (mask[p] != 0 && p % parts->columns > 0 && mask[p - 1] != 0) {
            (void)bb_unwrap_parts_join(labels, (int32_t)(p - 1), (int32_t)p);
        }
        if (mask[p] != 0 && p >= parts->columns && mask[p - parts->columns] != 0) {
            (void)bb_unwrap_parts_join(labels, (int32_t)(p - parts->columns), (int32_t)p);
        }
    }
    for (bb_index p = 0; p < points; ++p) {
        labels[p] = labels[p] < 0 ? -1 : root_of(labels, (int32_t)p);
    }
    for (bb_index p = 0; p < points; ++p) { // a root precedes all other points of its part
        if (labels[p] >= 0) {
            labels[p] = labels[p] == p ? (int32_t)parts->count++ : labels[labels[p]];
            ++parts->point_count;
        }
    }
}

static bb_status list_points(bb_unwrap_parts *parts)
{
    bb_status status = BB_OK;
    const bb_index points = parts->columns * parts->rows;
    int32_t *next = NULL; // [count] next place of each part
    BB_TRY(BB_ZEROED(parts->count, &parts->sizes));
    BB_TRY(BB_ALLOCATE(parts->point_count, &parts->order));
    BB_TRY(BB_ALLOCATE(parts->count, &next));
    for (bb_index p = 0; p < points; ++p) {
        parts->sizes[parts->labels[p] < 0 ? 0 : parts->labels[p]] += parts->labels[p] >= 0;
    }
    for (bb_index part = 0, place = 0; part < parts->count; ++part) {
        next[part] = (int32_t)place;
        place += parts->sizes[part];
        const bb_index runs = (parts->sizes[part] + BB_UNWRAP_RUN - 1) / BB_UNWRAP_RUN;
        parts->run_count += runs;
        parts->group_count += (runs + BB_UNWRAP_GROUP - 1) / BB_UNWRAP_GROUP;
    }
    for (bb_index p = 0; p < points; ++p) {
        if (parts->labels[p] >= 0) {
            parts->order[next[parts->labels[p]]++] = (int32_t)p;
        }
    }
done:
    BB_RELEASE(&next);
    return status;
}

// Moves every fourth point of a run to the front.
static void quarter(int32_t *points, bb_index count)
{
    enum { STRIDE = 4 };
    int32_t sorted[BB_UNWRAP_RUN];
    bb_index place = 0;
    for (bb_index i = 0; i < count; i += STRIDE) {
        sorted[place++] = points[i];
    }
    for (bb_index i = 0; i < count; ++i) {
        if (i % STRIDE != 0) {
            sorted[place++] = points[i];
        }
    }
    memcpy(points, sorted, (size_t)count * sizeof *points);
}

// Computes runs and groups of each part, and reorders the points within a run.
static bb_status list_runs(bb_unwrap_parts *parts)
{
    bb_status status = BB_OK;
    bb_index run = 0, group = 0, place = 0;
    BB_TRY(BB_ALLOCATE(parts->run_count + 1, &parts->starts));
    BB_TRY(BB_ALLOCATE(parts->run_count, &parts->owners));
    BB_TRY(BB_ALLOCATE(parts->group_count + 1, &parts->heads));
    BB_TRY(BB_ALLOCATE(parts->count + 1, &parts->firsts));
    for (bb_index part = 0; part < parts->count; ++part) {
        const bb_index end = place + parts->sizes[part];
        parts->firsts[part] = (int32_t)group;
        for (bb_index k = 0; place < end; ++k, ++run) {
            const bb_index points = end - place > BB_UNWRAP_RUN ? BB_UNWRAP_RUN : end - place;
            if (k % BB_UNWRAP_GROUP == 0) {
                parts->heads[group++] = (int32_t)run;
            }
            parts->starts[run] = (int32_t)place;
            parts->owners[run] = (int32_t)part;
            quarter(parts->order + place, points);
            place += points;
        }
    }
    parts->firsts[parts->count] = (int32_t)group;
    parts->heads[group] = (int32_t)run;
    parts->starts[run] = (int32_t)place;
done:
    return status;
}

// True if the mask is one part with unbroken rows and columns. There no shortest path crosses the
// line between two points twice, since it would follow the line instead: there are no detours.
static bool is_convex(const bb_unwrap_parts *parts)
{
    const int32_t columns = (int32_t)parts->columns, *labels = parts->labels;
    int32_t left = columns, right = 0, bottom = 0;
    bb_index runs = 0;
    for (bb_index i = 0; i < parts->point_count; ++i) {
        const int32_t p = parts->order[i], x = p % columns, y = p / columns;
        runs += (x == 0 || labels[p - 1] < 0) + (y == 0 || labels[p - columns] < 0);
        left = x < left ? x : left;
        right = x > right ? x : right;
        bottom = y > bottom ? y : bottom;
    }
    return parts->count == 1 && runs == right - left + bottom - parts->order[0] / columns + 2;
}

// Breadth-first search of a part from a point, over points with a different mark. Returns the steps
// to the last point, which is the last one in `queue` [points of the part].
static bb_index search(const bb_unwrap_parts *parts, int32_t start, unsigned char mark,
                       unsigned char *marks, int32_t *queue)
{
    const bb_index columns = parts->columns, rows = parts->rows;
    bb_index count = 0, steps = -1;
    queue[count++] = start;
    marks[start] = mark;
    for (bb_index i = 0, end = 0; i < count; ++i) {
        const bb_index p = queue[i], x = p % columns, y = p / columns;
        const bool has_next[] = {x > 0, x + 1 < columns, y > 0, y + 1 < rows};
        const bb_index next[] = {p - 1, p + 1, p - columns, p + columns};
        if (i == end) { // all points of a step are in the queue
            end = count;
            ++steps;
        }
        for (int k = 0; k < 4; ++k) {
            if (has_next[k] && parts->labels[next[k]] >= 0 && marks[next[k]] != mark) {
                marks[next[k]] = mark;
                queue[count++] = (int32_t)next[k];
            }
        }
    }
    return steps;
}

// The farthest point from any point is an end of a longest path, or nearly so.
static bb_status find_detour(bb_unwrap_parts *parts)
{
    bb_status status = BB_OK;
    unsigned char *marks = NULL; // [points]
    int32_t *queue = NULL;       // [point_count]
    if (is_convex(parts)) {
        goto done;
    }
    BB_TRY(BB_ZEROED(parts->columns * parts->rows, &marks));
    BB_TRY(BB_ALLOCATE(parts->point_count, &queue));
    for (bb_index part = 0, first = 0; part < parts->count; first += parts->sizes[part++]) {
        const bb_index last = parts->sizes[part] - 1, columns = parts->columns;
        (void)search(parts, parts->order[first], 1, marks, queue);
        const bb_index steps = search(parts, queue[last], 2, marks, queue);
        const bb_index along = queue[0] % columns - queue[last] % columns;
        const bb_index down = queue[0] / columns - queue[last] / columns;
        const bb_index detour = steps - (along < 0 ? -along : along) - (down < 0 ? -down : down);
        parts->detour = detour > parts->detour ? detour : parts->detour;
    }
done:
    BB_RELEASE(&marks);
    BB_RELEASE(&queue);
    return status;
}

bb_status bb_unwrap_parts_create(const unsigned char *mask, bb_index columns, bb_index rows,
                                 bb_unwrap_parts *out)
{
    bb_status status = BB_OK;
    *out = (bb_unwrap_parts){.columns = columns, .rows = rows};
    BB_REQUIRE(columns * rows <= INT32_MAX, BB_UNSUPPORTED,
               "phase of %td x %td points, expected fewer than 2^31", columns, rows);
    BB_TRY(BB_ALLOCATE(columns * rows, &out->labels));
    label(mask, out);
    if (out->count > 0) {
        BB_TRY(list_points(out));
        BB_TRY(list_runs(out));
        BB_TRY(find_detour(out));
    }
done:
    if (status != BB_OK) {
        bb_unwrap_parts_release(out);
    }
    return status;
}

void bb_unwrap_parts_release(bb_unwrap_parts *parts)
{
    BB_RELEASE(&parts->labels);
    BB_RELEASE(&parts->sizes);
    BB_RELEASE(&parts->order);
    BB_RELEASE(&parts->starts);
    BB_RELEASE(&parts->owners);
    BB_RELEASE(&parts->heads);
    BB_RELEASE(&parts->firsts);
}
