// SPDX-License-Identifier: Apache-2.0
//
// Pupil masks: sampling, valid subapertures, and the effect of an asymmetric one on the image and
// the chain.
#include "core/random.h"
#include "physics/ao/ao_constants.h"
#include "physics/ao/subapertures.h"
#include "tests/physics/ao/chain.h"

enum { MOST_EDGE = 200, SEGMENTED = 97 };

typedef enum turn { FLIP_X, FLIP_Y, TRANSPOSE } turn;

static double *allocate(bb_index count)
{
    double *values = zeros(count);
    return values;
}

static void turned(turn how, bb_index edge, const double *source, double *target)
{
    for (bb_index y = 0; y < edge; ++y) {
        for (bb_index x = 0; x < edge; ++x) {
            const bb_index u = how == TRANSPOSE ? y : how == FLIP_X ? edge - 1 - x : x;
            const bb_index v = how == TRANSPOSE ? x : how == FLIP_Y ? edge - 1 - y : y;
            target[v * edge + u] = source[y * edge + x];
        }
    }
}

// A disc with a hole, a missing segment at (+x, -y) and a spider along +y.
static void draw_segmented(bb_index edge, double *mask)
{
    for (bb_index j = 0; j < edge; ++j) {
        for (bb_index i = 0; i < edge; ++i) {
            const double x = (2.0 * (double)i + 1.0) / (double)edge - 1.0;
            const double y = (2.0 * (double)j + 1.0) / (double)edge - 1.0;
            const double r = hypot(x, y);
            const bool lost = x > 0.25 && x < 0.75 && y > -0.5 && y < 0.0;
            const bool spider = y > 0.0 && fabs(x + 0.1) < 0.03;
            mask[j * edge + i] = r <= 1.0 && r >= 0.14 && !lost && !spider ? 1.0 : 0.0;
        }
    }
}

TEST(a_drawn_pupil_is_drawn_again_as_it_is)
{
    static const bb_index across[] = {1, 2, 5, 36, 37, 174, 180, 255};
    for (size_t k = 0; k < sizeof across / sizeof *across; ++k) {
        const bb_index points = bb_pupil_points(across[k]);
        assert_true(points % 2 == 1 && points >= across[k] && points <= across[k] + 1);
        autofree double *first = allocate(points * points);
        autofree double *again = allocate(points * points);
        const bb_pupil annulus = {.obstruction = 0.2};
        bb_pupil_draw(&annulus, across[k], first);
        bb_pupil_draw(&(bb_pupil){.mask = first, .edge = points}, across[k], again);
        assert_memory_equal(again, first, (size_t)(points * points) * sizeof *first);
        for (bb_index i = 0; i < points * points; ++i) {
            first[i] = bb_random_uniform(3, BB_STREAM_SELF_TEST, (uint64_t)i);
        }
        bb_pupil_draw(&(bb_pupil){.mask = first, .edge = points}, across[k], again);
        assert_memory_equal(again, first, (size_t)(points * points) * sizeof *first);
    }
}

TEST(fine_masks_are_averaged_and_coarse_ones_repeated)
{
    // 3 x 3 pixels per point, one column of them dark: the points along it transmit two thirds.
    double fine[27 * 27];
    double drawn[9 * 9];
    fill_array(fine, 27 * 27, i, i % 27 == 13 ? 0.0 : 1.0);
    bb_pupil_draw(&(bb_pupil){.mask = fine, .edge = 27}, 9, drawn);
    for (int i = 0; i < 9 * 9; ++i) {
        assert_true(drawn[i] == (i % 9 == 4 ? 6.0 / 9.0 : 1.0));
    }
    // Four quadrants on 5 points: those on the axes overlap two or four of them.
    static const double quadrants[] = {0.0, 0.25, 0.5, 1.0};
    static const double expected[] = {0.0,  0.0,  0.125, 0.25,   0.25,  0.0,   0.0, 0.125, 0.25,
                                      0.25, 0.25, 0.25,  0.4375, 0.625, 0.625, 0.5, 0.5,   0.75,
                                      1.0,  1.0,  0.5,   0.5,    0.75,  1.0,   1.0};
    bb_pupil_draw(&(bb_pupil){.mask = quadrants, .edge = 2}, 4, drawn);
    assert_memory_equal(drawn, expected, sizeof expected);
}

TEST(turning_the_mask_turns_what_is_drawn)
{
    static const bb_index edges[] = {7, 50, 181, 200};
    static const bb_index across[] = {20, 21, 180};
    autofree double *mask = allocate(MOST_EDGE * MOST_EDGE);
    autofree double *other = allocate(MOST_EDGE * MOST_EDGE);
    autofree double *drawn = allocate(181 * 181);
    autofree double *expected = allocate(181 * 181);
    autofree double *got = allocate(181 * 181);
    for (int e = 0; e < 4; ++e) {
        for (bb_index i = 0; i < edges[e] * edges[e]; ++i) {
            mask[i] = bb_random_uniform(5, BB_STREAM_SELF_TEST, (uint64_t)i) < 0.5 ? 0.0 : 1.0;
        }
        for (int a = 0; a < 3; ++a) {
            const bb_index points = bb_pupil_points(across[a]);
            bb_pupil_draw(&(bb_pupil){.mask = mask, .edge = edges[e]}, across[a], drawn);
            for (turn how = FLIP_X; how <= TRANSPOSE; ++how) {
                turned(how, edges[e], mask, other);
                turned(how, points, drawn, expected);
                bb_pupil_draw(&(bb_pupil){.mask = other, .edge = edges[e]}, across[a], got);
                assert_memory_equal(got, expected, (size_t)(points * points) * sizeof *got);
            }
        }
    }
}

TEST(transmissions_count_cut_pixels_by_their_part)
{
    // Lenslet (0, 0) of 2 x 2 contains one of 3 x 3 pixels, halves of two and a quarter of one.
    static const double mask[] = {0.5, 1.0, 0.0, 0.25, 0.75, 0.0, 0.0, 0.0, 1.0};
    const bb_pupil pupil = {.mask = mask, .edge = 3, .threshold = 0.5};
    check_relative(bb_pupil_transmission(&pupil, 2, 0, 0),
                   (0.5 + 0.5 * (1.0 + 0.25) + 0.25 * 0.75) / 2.25, 1e-15);
    check_relative(bb_pupil_transmission(&pupil, 2, 1, 1), (1.0 + 0.25 * 0.75) / 2.25, 1e-15);
    // Exactly at the threshold is valid: (0, 0) has 0.583, (1, 1) 0.528, (1, 0) 0.306, (0, 1)
    // 0.139.
    bb_index column[4];
    bb_index row[4];
    assert_int_equal(bb_subapertures_count(2, &pupil), 2);
    bb_subapertures_lenslets(2, &pupil, column, row);
    assert_true(column[0] == 0 && row[0] == 0 && column[1] == 1 && row[1] == 1);
    const bb_pupil strict = {
        .mask = mask, .edge = 3, .threshold = bb_pupil_transmission(&pupil, 2, 0, 0)};
    assert_int_equal(bb_subapertures_count(2, &strict), 1);
}

// 34 x 34 lenslets leave 828 valid ones, 13,248 measurements of 8 sensors, by flux: obstruction 0.2
// at thresholds from 0.81264 to 0.91837 or 0.28 at 0.51385 to 0.63318; the centre rule never does.
TEST(flux_finds_the_828_subapertures_of_34_lenslets)
{
    static const struct {
        double obstruction, threshold;
        bb_index count;
    } cases[] = {
        {0.2, 0.85, 828},    {0.2, 0.9, 828},   {0.2, 0.81265, 828}, {0.2, 0.81263, 836},
        {0.2, 0.91836, 828}, {0.2, 0.5, 880},   {0.28, 0.55, 828},   {0.28, 0.6, 828},
        {0.28, 0.5, 836},    {0.28, 0.85, 792},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        const bb_pupil pupil = {
            .obstruction = cases[k].obstruction, .by_flux = true, .threshold = cases[k].threshold};
        assert_int_equal(bb_subapertures_count(34, &pupil), cases[k].count);
    }
    for (int obstruction = 0; obstruction < 36; ++obstruction) {
        const bb_pupil centre = {.obstruction = 0.01 * obstruction};
        assert_int_not_equal(bb_subapertures_count(34, &centre), 828);
    }
}

// The areas add up to the annulus; lenslets inside are whole; mirrored ones equal bit for bit.
TEST(areas_of_lenslets_add_up_to_the_annulus)
{
    static const bb_index lenslets[] = {1, 2, 3, 7, 34, 85};
    static const double obstructions[] = {0.0, 0.03, 0.2, 0.9};
    for (int n = 0; n < 6; ++n) {
        for (int o = 0; o < 4; ++o) {
            const bb_pupil pupil = {.obstruction = obstructions[o]};
            const bb_index last = lenslets[n] - 1;
            double sum = 0.0;
            for (bb_index j = 0; j <= last; ++j) {
                for (bb_index i = 0; i <= last; ++i) {
                    const double part = bb_pupil_transmission(&pupil, lenslets[n], i, j);
                    assert_true(part > -1e-12 && part <= 1.0);
                    assert_true(part == bb_pupil_transmission(&pupil, lenslets[n], last - j, i));
                    sum += part;
                }
            }
            const double wanted = M_PI / 4.0 * (1.0 - obstructions[o] * obstructions[o]);
            check_relative(sum / (double)(lenslets[n] * lenslets[n]), wanted, 1e-13);
        }
    }
    // A quarter of the disc in each of 2 x 2; by hand, 4 x 4 at (0, 0): the circle cuts the square
    // [1/2, 1]^2 of its quadrant in pi/12 + 1/4 - sqrt(3)/4 of area.
    const bb_pupil disc = {0};
    check_relative(bb_pupil_transmission(&disc, 2, 0, 1), M_PI / 4.0, 1e-15);
    check_relative(bb_pupil_transmission(&disc, 4, 0, 0),
                   4.0 * (M_PI / 12.0 + 0.25 - sqrt(3.0) / 4.0), 1e-14);
}

// The mean transmission of the sampled annulus finds the subapertures of the centre rule, except
// for lenslets cut by the edge near their centre.
TEST(the_annulus_leaves_the_subapertures_of_the_centre_rule)
{
    static const bb_index lenslets[] = {4, 5, 6, 7, 10, 12, 20, 24, 38};
    for (size_t k = 0; k < sizeof lenslets / sizeof *lenslets; ++k) {
        const bb_index across = (512 / (3 * lenslets[k]) + 1) * lenslets[k];
        const bb_index points = bb_pupil_points(across);
        autofree double *drawn = allocate(points * points);
        const bb_pupil annulus = {.obstruction = 0.2};
        bb_pupil_draw(&annulus, across, drawn);
        const bb_pupil mask = {.mask = drawn, .edge = points, .threshold = 0.5};
        const bb_index count = bb_subapertures_count(lenslets[k], &annulus);
        assert_int_equal(bb_subapertures_count(lenslets[k], &mask), count);
        autofree double *x = allocate(4 * count);
        bb_subapertures_centres(lenslets[k], &annulus, x, x + count);
        bb_subapertures_centres(lenslets[k], &mask, x + 2 * count, x + 3 * count);
        assert_memory_equal(x, x + 2 * count, (size_t)(2 * count) * sizeof *x);
    }
}

static double *limited_image(const double *mask, bb_index edge, bb_point_spread_grid *grid)
{
    const bb_pupil pupil = {.obstruction = 0.14, .mask = mask, .edge = edge, .threshold = 0.5};
    autoptr(bb_point_spread) spread = new_object(bb_point_spread, 8.0, &pupil, 6, NAN);
    *grid = *bb_point_spread_layout(spread);
    autofree double *correlation = allocate(grid->pixels * grid->pixels);
    double *image = allocate(grid->pixels * grid->pixels);
    check_close(bb_point_spread_strehl(spread, correlation, 1.65e-6), 1.0, 1e-12, 1.0);
    check_ok(bb_point_spread_image(spread, correlation, 1.65e-6, image));
    return image;
}

// |sum P exp(-2 pi i (x p + y q) / N)|^2 / (sum P)^2 over the drawn pupil.
static double direct_image(const double *drawn, const bb_point_spread_grid *grid, bb_index x,
                           bb_index y)
{
    double re = 0.0;
    double im = 0.0;
    double sum = 0.0;
    for (bb_index q = 0; q < grid->pupil_points; ++q) {
        for (bb_index p = 0; p < grid->pupil_points; ++p) {
            const double value = drawn[q * grid->pupil_points + p];
            const double phase = 2.0 * BB_PI * (double)(x * p + y * q) / (double)grid->pixels;
            re += value * cos(phase);
            im -= value * sin(phase);
            sum += value;
        }
    }
    return (re * re + im * im) / (sum * sum);
}

TEST(the_image_is_that_of_the_mask)
{
    bb_point_spread_grid grid;
    autofree double *mask = allocate(SEGMENTED * SEGMENTED);
    draw_segmented(SEGMENTED, mask);
    autofree double *image = limited_image(mask, SEGMENTED, &grid);
    autofree double *drawn = allocate(grid.pupil_points * grid.pupil_points);
    bb_pupil_draw(&(bb_pupil){.mask = mask, .edge = SEGMENTED}, 6 * grid.pixels_per_lenslet, drawn);
    static const bb_index indices[][2] = {{0, 0}, {3, 0}, {0, 3}, {4, 2}, {-4, 2}, {2, 4}, {7, -5}};
    for (size_t k = 0; k < sizeof indices / sizeof *indices; ++k) {
        const bb_index x = grid.pixels / 2 + indices[k][0];
        const bb_index y = grid.pixels / 2 + indices[k][1];
        check_close(image[y * grid.pixels + x],
                    direct_image(drawn, &grid, indices[k][0], indices[k][1]), 1e-12, 1.0);
    }
}

// Largest difference of an image and a transformed one, and of the two untransformed.
static void check_turned_image(turn how, const double *mask, const double *image)
{
    bb_point_spread_grid grid;
    autofree double *other = allocate(SEGMENTED * SEGMENTED);
    turned(how, SEGMENTED, mask, other);
    autofree double *got = limited_image(other, SEGMENTED, &grid);
    const bb_index n = grid.pixels;
    double worst = 0.0;
    double unlike = 0.0;
    for (bb_index y = 1; y < n; ++y) {
        for (bb_index x = 1; x < n; ++x) {
            const bb_index u = how == TRANSPOSE ? y : how == FLIP_X ? n - x : x;
            const bb_index v = how == TRANSPOSE ? x : how == FLIP_Y ? n - y : y;
            worst = fmax(worst, fabs(got[v * n + u] - image[y * n + x]));
            unlike = fmax(unlike, fabs(got[y * n + x] - image[y * n + x]));
        }
    }
    print_message("turn %d: %.2g from the turned image, %.2g from the image itself\n", (int)how,
                  worst, unlike);
    assert_true(worst < 1e-12 && unlike > 1e-3);
}

TEST(turning_the_mask_turns_the_image)
{
    bb_point_spread_grid grid;
    autofree double *mask = allocate(SEGMENTED * SEGMENTED);
    draw_segmented(SEGMENTED, mask);
    autofree double *image = limited_image(mask, SEGMENTED, &grid);
    check_turned_image(FLIP_X, mask, image);
    check_turned_image(FLIP_Y, mask, image);
    check_turned_image(TRANSPOSE, mask, image);
}

static ao_case segmented_case(const double *mask)
{
    ao_case c = case_without_stars(8.0, 6);
    c.telescope.obstruction = 0.14;
    c.mask = mask;
    c.mask_edge = SEGMENTED;
    add_star(&c, BB_GUIDE_STAR_LGS, 17.0, 3.0);
    add_star(&c, BB_GUIDE_STAR_NGS, -16.0, -26.0);
    add_star(&c, BB_GUIDE_STAR_NGS, 9.0, 21.0);
    c.stars[2].lenslets = 5;
    add_target(&c, 7.0, -4.0);
    return c;
}

// Index of measurement i of `part` among those of `whole`, which has its subapertures and more.
static bb_index place_of(const bb_sensor_array *part, const bb_sensor_array *array, bb_index i)
{
    bb_index s = 0;
    while (i >= part->sensors[s].first + 2 * part->sensors[s].count) {
        ++s;
    }
    const bb_sensor *sensor = &part->sensors[s];
    const bb_sensor *target = &array->sensors[s];
    const bb_index axis = (i - sensor->first) / sensor->count;
    const bb_index site = sensor->site[(i - sensor->first) % sensor->count];
    bb_index k = 0;
    while (target->site[k] != site) {
        ++k;
        assert_true(k < target->count);
    }
    return target->first + axis * target->count + k;
}

// The remaining measurements have the same covariance as without a mask.
TEST(covariances_are_those_of_the_subapertures_left)
{
    autofree double *mask = allocate(SEGMENTED * SEGMENTED);
    autofree double *open = allocate(SEGMENTED * SEGMENTED);
    draw_segmented(SEGMENTED, mask);
    fill_array(open, (bb_index)SEGMENTED * SEGMENTED, i, 1.0);
    const ao_case masked = segmented_case(mask);
    const ao_case clear = segmented_case(open);
    autocall(chain_release) chain part = chain_assemble(&masked, true);
    autocall(chain_release) chain links = chain_assemble(&clear, true);
    assert_int_equal(links.guides.sensors[0].count, 36);
    print_message("%td of %td measurements\n", part.n, links.n);
    assert_true(part.n < links.n && part.m < links.m);
    double worst = 0.0;
    for (bb_index i = 0; i < part.n; ++i) {
        const bb_index row = place_of(&part.guides, &links.guides, i);
        for (bb_index j = 0; j < part.n; ++j) {
            const bb_index column = place_of(&part.guides, &links.guides, j);
            worst = fmax(worst, fabs(part.cmm[i * part.n + j] - links.cmm[row * links.n + column]));
        }
    }
    for (bb_index i = 0; i < part.m; ++i) {
        const bb_index row = place_of(&part.truth, &links.truth, i);
        for (bb_index j = 0; j < part.n; ++j) {
            const bb_index column = place_of(&part.guides, &links.guides, j);
            worst = fmax(worst, fabs(part.ctm[i * part.n + j] - links.ctm[row * links.n + column]));
        }
    }
    assert_true(worst == 0.0);
    // The lost segment is the lenslets of columns 4 and rows 2 (x 0.33 to 0.67, y -0.33 to 0).
    for (bb_index i = 0; i < part.truth.sensors[0].count; ++i) {
        assert_true(part.truth.sensors[0].site[i] != 11 * 2 + 4);
    }
}

static double case_strehl(const ao_case *c, double *rms_m)
{
    bb_outcome outcome = {0};
    autocall(chain_release) chain k = chain_run(c, true);
    const bb_ao_config config = case_config(c);
    const bb_pupil pupil = bb_ao_config_pupil(&config);
    autoptr(bb_point_spread) spread = new_object(bb_point_spread, 8.0, &pupil, 6, NAN);
    const bb_index pixels = bb_point_spread_layout(spread)->pixels;
    autofree double *correlation = allocate(pixels * pixels);
    chain_wavefront(spread, k.cee, correlation, rms_m, &outcome);
    assert_int_equal(outcome.kind, BB_OUTCOME_OK);
    const double ratio = bb_point_spread_strehl(spread, correlation, 1.65e-6);
    return ratio;
}

// Mirroring the sky and the pupil changes nothing; mirroring only the pupil does.
TEST(a_mirrored_sky_and_pupil_have_the_same_strehl_ratio)
{
    autofree double *mask = allocate(SEGMENTED * SEGMENTED);
    autofree double *mirrored = allocate(SEGMENTED * SEGMENTED);
    double rms_m[3];
    draw_segmented(SEGMENTED, mask);
    turned(FLIP_X, SEGMENTED, mask, mirrored);
    const ao_case c = segmented_case(mask);
    const ao_case pupil_alone = segmented_case(mirrored);
    ao_case both = segmented_case(mirrored);
    for (bb_index s = 0; s < both.star_count; ++s) {
        both.stars[s].x_arcsec = -both.stars[s].x_arcsec;
    }
    both.targets[0].x_arcsec = -both.targets[0].x_arcsec;
    const double ratio = case_strehl(&c, &rms_m[0]);
    const double same = case_strehl(&both, &rms_m[1]);
    const double other = case_strehl(&pupil_alone, &rms_m[2]);
    print_message("Strehl %.6f, mirrored sky and pupil %.2g off, pupil alone %.2g off\n", ratio,
                  same - ratio, other - ratio);
    assert_true(ratio > 0.0 && ratio < 1.0);
    check_close(same, ratio, 1e-9, 1.0);
    check_relative(rms_m[1], rms_m[0], 1e-8);
    assert_true(fabs(other - ratio) > 1e-5);
}

TEST(a_mirror_that_sees_no_subaperture_is_refused)
{
    // Open only at the very centre, with actuators in a thin ring far from it.
    autofree double *mask = allocate(160 * 160);
    for (bb_index y = 78; y < 82; ++y) {
        for (bb_index x = 78; x < 82; ++x) {
            mask[y * 160 + x] = 1.0;
        }
    }
    bb_deformable_mirror mirror = {0};
    const bb_pupil pupil = {.obstruction = 0.98, .mask = mask, .edge = 160, .threshold = 0.5};
    check_fails(bb_deformable_mirror_create(8.0, &pupil, 80, NAN, &mirror), BB_INVALID,
                "no actuator of a mirror of 80 lenslets moves a slope");
}
