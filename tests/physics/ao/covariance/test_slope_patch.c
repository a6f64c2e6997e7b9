// SPDX-License-Identifier: Apache-2.0
//
// The device's algorithm for a block, on the host: patches, their ends and slopes, sums between
// ends and their differences, against the blocks filled by the host.
#include "core/random.h"
#include "physics/ao/covariance/slope_covariance_pairs.h"
#include "physics/ao/covariance/slope_patch_core.h"
#include "tests/physics/ao/sources.h"

enum { MOST_LENSLETS = 100 };

typedef struct members {
    int ends, slopes;
    int x[BB_PATCH_ENDS], y[BB_PATCH_ENDS];
    int slope[BB_PATCH_SLOPES], lower[BB_PATCH_SLOPES], upper[BB_PATCH_SLOPES];
} members;

// list_members of the kernel, one thread after the other.
static members list_members(const bb_slope_segment *s, int number)
{
    members m = {0};
    uint8_t ends[BB_PATCH_ENDS];
    uint8_t slopes[BB_PATCH_SLOPES];
    const bb_slope_patch patch = bb_slope_patch_at(s, number);
    const int places = bb_slope_patch_places(s, &patch);
    const int cells = patch.columns * patch.rows;
    assert_true(patch.columns > 0 && patch.rows > 0 && places <= BB_PATCH_ENDS);
    for (int k = 0; k < places; ++k) {
        int x = 0;
        int y = 0;
        ends[k] = (uint8_t)bb_slope_patch_end(s, &patch, k, &x, &y);
        const int rank = bb_slope_patch_rank(ends, k);
        m.x[rank] = x;
        m.y[rank] = y;
        m.ends = rank + ends[k];
    }
    for (int k = 0; k < cells; ++k) {
        const int i = k % patch.columns;
        const int j = k / patch.columns;
        const int slope = bb_slope_patch_slope(s, &patch, i, j);
        int step = 0;
        const int lower = bb_slope_patch_lower(s, &patch, i, j, &step);
        slopes[k] = slope >= 0 ? 1 : 0;
        const int rank = bb_slope_patch_rank(slopes, k);
        assert_true(slope < 0 || (ends[lower] == 1 && ends[lower + step] == 1));
        m.slope[rank] = slope;
        m.lower[rank] = bb_slope_patch_rank(ends, lower);
        m.upper[rank] = bb_slope_patch_rank(ends, lower + step);
        m.slopes = rank + slopes[k];
    }
    return m;
}

static void map_lenslets(const bb_sensor *sensor, int32_t *subaperture)
{
    const bb_index n = sensor->lenslets;
    fill_array(subaperture, n * n, k, -1);
    for (bb_index i = 0; i < sensor->count; ++i) {
        const bb_index site = sensor->site[i];
        subaperture[site / (2 * n - 1) * n + site % (2 * n - 1)] = (int32_t)i;
    }
}

static bb_slope_segment segment_of(const bb_sensor *sensor, const int32_t *map, int axis,
                                   bb_index first, bb_index count)
{
    return bb_slope_segment_make(map, (int)sensor->lenslets, axis, (int)first, (int)count,
                                 (int)sensor->site[first], (int)sensor->site[first + count - 1]);
}

// Arguments of the kernel for two sensors and axes.
typedef struct job {
    const bb_atmosphere *atmosphere;
    const bb_sensor *sensor[2];
    int axis[2];
    bool averaged, swapped;
} job;

static double average(const job *k, bb_index l, double u, double v)
{
    const int first = k->swapped ? 1 : 0;
    double half[2][2];
    for (int side = 0; side < 2; ++side) {
        const int which = side == 0 ? first : 1 - first;
        bb_sensor_frame_edge(&k->sensor[which]->frame, &k->sensor[which]->layer[l], k->axis[which],
                             &half[side][0], &half[side][1]);
    }
    const bb_edge_pair edges = bb_edge_pair_make(half[0][0], half[0][1], half[1][0], half[1][1]);
    bb_edge_pair_orient(&u, &v);
    if (u * u + v * v < edges.near2) {
        return bb_edge_average_near(k->atmosphere->structure, &edges, u, v);
    }
    double sum = 0.0;
    for (int n = 0; n < edges.nodes; ++n) {
        const double du = u + edges.x[n];
        const double dv = v + edges.y[n];
        sum +=
            edges.weight[n] * bb_structure_table_value(k->atmosphere->structure, du * du + dv * dv);
    }
    return sum;
}

static double sum_of(const job *k, const int indices[4])
{
    const bb_sensor *a = k->sensor[0];
    const bb_sensor *b = k->sensor[1];
    const double unit = bb_slope_covariance_unit(a, b);
    double sum = 0.0;
    for (bb_index l = 0; l < k->atmosphere->layer_count; ++l) {
        if (a->layer[l].scale <= 0.0 || b->layer[l].scale <= 0.0) {
            continue;
        }
        double ax, ay, bx, factor;
        bb_sensor_frame_place(&a->frame, &a->layer[l], indices[0], indices[1], &ax, &ay);
        bb_sensor_frame_place(&b->frame, &b->layer[l], indices[2], indices[3], &bx, &factor);
        const double u = ax - bx;
        const double v = ay - factor;
        sum += unit * k->atmosphere->strength[l] *
               (k->averaged ? average(k, l, u, v)
                            : bb_structure_table_value(k->atmosphere->structure, u * u + v * v));
    }
    return sum;
}

// fill_directly of the kernel for one pair of patches; marks the entries.
static void fill_patches(const job *k, const members *rows, const members *columns, bb_view out)
{
    static double sums[BB_PATCH_ENDS * BB_PATCH_ENDS];
    for (int i = 0; i < rows->ends; ++i) {
        for (int j = 0; j < columns->ends; ++j) {
            const int indices[4] = {rows->x[i], rows->y[i], columns->x[j], columns->y[j]};
            sums[i * columns->ends + j] = sum_of(k, indices);
        }
    }
    for (int i = 0; i < rows->slopes; ++i) {
        const double *plus = sums + rows->upper[i] * columns->ends;
        const double *minus = sums + rows->lower[i] * columns->ends;
        for (int j = 0; j < columns->slopes; ++j) {
            double *entry = bb_view_row(out, rows->slope[i]) + columns->slope[j];
            assert_true(isnan(*entry)); // once
            *entry = bb_structure_function_difference(
                plus[columns->upper[j]], plus[columns->lower[j]], minus[columns->upper[j]],
                minus[columns->lower[j]]);
        }
    }
}

static bb_index draw(bb_index count, uint64_t index)
{
    return (bb_index)((double)count * bb_random_uniform(3, BB_STREAM_SELF_TEST, index));
}

static void compare_pair(const sources *s, const bb_sensor *a, int axis_a, const bb_sensor *b,
                         int axis_b, uint64_t seed)
{
    const bb_matrix_source *source = bb_slope_covariance_source(s->covariance[SOURCE_CMM]);
    static int32_t row_map[MOST_LENSLETS * MOST_LENSLETS],
        column_map[MOST_LENSLETS * MOST_LENSLETS];
    const bb_index row = draw(a->count, seed);
    const bb_index column = draw(b->count, seed + 1);
    const bb_index rows = 1 + draw(a->count - row, seed + 2);
    const bb_index columns = 1 + draw(b->count - column, seed + 3);
    job work = {.atmosphere = &s->atmosphere,
                .sensor = {a, b},
                .axis = {axis_a, axis_b},
                .averaged = bb_slope_covariance_averages(a, b)};
    assert_null(bb_slope_covariance_table(s->covariance[SOURCE_CMM], a, b, &work.swapped));
    autofree double *got = doubles(rows * columns);
    autofree double *expected = doubles(rows * columns);
    fill_array(got, rows * columns, k, NAN);
    map_lenslets(a, row_map);
    map_lenslets(b, column_map);
    const bb_slope_segment down = segment_of(a, row_map, axis_a, row, rows);
    const bb_slope_segment across = segment_of(b, column_map, axis_b, column, columns);
    for (int p = 0; p < down.patches; ++p) {
        const members row_members = list_members(&down, p);
        for (int q = 0; q < across.patches; ++q) {
            const members column_members = list_members(&across, q);
            fill_patches(&work, &row_members, &column_members, bb_view_matrix(got, rows, columns));
        }
    }
    check_ok(bb_matrix_source_fill(source, a->first + axis_a * a->count + row,
                                   b->first + axis_b * b->count + column,
                                   bb_view_matrix(expected, rows, columns)));
    assert_memory_equal(got, expected, (size_t)(rows * columns) * sizeof *got);
}

TEST(patches_give_the_bits_of_the_host)
{
    ao_case cases[] = {case_asymmetric(), case_nx456(), case_asymmetric(), case_mixed_slopes()};
    cases[1].stars[3].rotation_deg = 12.0;
    cases[2].sensors.slope_model = BB_SLOPE_AVERAGED_GRADIENT;
    cases[2].stars[1].rotation_deg = -7.0;
    cases[2].stars[1].magnification = 1.1;
    for (int k = 0; k < 4; ++k) {
        autocall(sources_release) sources s = {0};
        sources_create(&cases[k], &s);
        int pairs = 0;
        for (bb_index i = 0; i < s.guides.sensor_count * s.guides.sensor_count; ++i) {
            const bb_sensor *a = &s.guides.sensors[i / s.guides.sensor_count];
            const bb_sensor *b = &s.guides.sensors[i % s.guides.sensor_count];
            bool swapped = false;
            if (bb_slope_covariance_table(s.covariance[SOURCE_CMM], a, b, &swapped) != NULL) {
                continue;
            }
            for (int axes = 0; axes < 4; ++axes) {
                for (uint64_t round = 0; round < 6; ++round) {
                    compare_pair(&s, a, axes / 2, b, axes % 2,
                                 400 * (uint64_t)i + 100 * (uint64_t)axes + 4 * round);
                }
            }
            ++pairs;
        }
        assert_true(pairs >= 16);
    }
}

// Consecutive slopes of large grids: every slope in one patch, its ends half a lenslet away.
TEST(patches_cover_every_slope_once)
{
    static int32_t map[MOST_LENSLETS * MOST_LENSLETS];
    static int seen[2 * MOST_LENSLETS * MOST_LENSLETS];
    ao_case c = case_without_stars(39.0, 86);
    add_star(&c, BB_GUIDE_STAR_NGS, 0.0, 0.0);
    add_target(&c, 0.0, 0.0);
    autocall(sources_release) sources s = {0};
    sources_create(&c, &s);
    const bb_sensor *sensor = &s.guides.sensors[0];
    double evaluations = 0.0;
    double slopes = 0.0;
    map_lenslets(sensor, map);
    for (bb_index first = 0; first < sensor->count; first += 1024) {
        const bb_index rest = sensor->count - first;
        for (int axis = 0; axis < 2; ++axis) {
            const bb_slope_segment segment =
                segment_of(sensor, map, axis, first, rest < 1024 ? rest : 1024);
            const bb_slope_ends *ends = &sensor->ends[axis];
            memset(seen, 0, sizeof seen);
            for (int p = 0; p < segment.patches; ++p) {
                const members m = list_members(&segment, p);
                evaluations += m.ends;
                slopes += m.slopes;
                for (int i = 0; i < m.slopes; ++i) {
                    const bb_index slope = first + m.slope[i];
                    ++seen[m.slope[i]];
                    assert_int_equal(m.x[m.upper[i]], ends->x[ends->plus[slope]]);
                    assert_int_equal(m.y[m.upper[i]], ends->y[ends->plus[slope]]);
                    assert_int_equal(m.x[m.lower[i]], ends->x[ends->minus[slope]]);
                    assert_int_equal(m.y[m.lower[i]], ends->y[ends->minus[slope]]);
                }
            }
            for (int i = 0; i < segment.count; ++i) {
                assert_int_equal(seen[i], 1);
            }
        }
    }
    // Its square is the number of evaluations of D per entry and layer.
    print_message("ends over slopes, 86 x 86 lenslets in runs of 1024: %.3f\n",
                  evaluations / slopes);
    assert_true(evaluations / slopes < 1.17);
}
