// SPDX-License-Identifier: Apache-2.0
#include "physics/fringe/detection.h"
#include "physics/zernike.h"
#include "tests/physics/fringe/cases.h"

// Wrapped differences around pixels (c, r) .. (c + 1, r + 1), in cycles; 0 where one has no data.
static int residue(const bb_scene *scene, bb_index c, bb_index r)
{
    const double *p = scene->phase + r * scene->columns + c;
    const double corner[5] = {p[0], p[1], p[scene->columns + 1], p[scene->columns], p[0]};
    double sum = 0.0;
    for (int k = 0; k < 4; ++k) {
        sum += bb_detection_wrap(corner[k + 1] - corner[k]);
    }
    return isnan(sum) ? 0 : (int)lrint(sum / (2.0 * M_PI));
}

static bb_index count_residues(const bb_scene *scene)
{
    bb_index count = 0;
    for (bb_index r = 0; r + 1 < scene->rows; ++r) {
        for (bb_index c = 0; c + 1 < scene->columns; ++c) {
            count += residue(scene, c, r) != 0;
        }
    }
    return count;
}

// Mean, and rms about it, over a pupil.
static void measure(const bb_scene *scene, double *mean, double *rms)
{
    double sum = 0.0;
    double squares = 0.0;
    const double pixels = (double)count_pixels(scene);
    for (bb_index i = 0; i < scene->columns * scene->rows; ++i) {
        sum += scene->mask[i] != 0 ? scene->phase[i] : 0.0;
        squares += scene->mask[i] != 0 ? scene->phase[i] * scene->phase[i] : 0.0;
        assert_true((scene->mask[i] == 0) == isnan(scene->phase[i]));
    }
    *mean = sum / pixels;
    *rms = sqrt(squares / pixels - *mean * *mean);
}

TEST(a_flat_surface_has_tilt_alone)
{
    bb_fringe_config c = fringe_case(10, 4);
    c.surface.tilt_fringes = (bb_tilt_config){.x = 3.0, .y = -2.0};
    bb_scene *scene = make_scene(&c, 1, 0);
    for (bb_index r = 0; r < 4; ++r) {
        for (bb_index k = 0; k < 10; ++k) {
            const double cycles = 3.0 * ((double)k - 4.5) / 10.0 - 2.0 * ((double)r - 1.5) / 4.0;
            check_close(scene->phase[r * 10 + k], 2.0 * M_PI * cycles, 1e-14, 10.0);
        }
    }
    bb_scene_destroy(&scene);
    assert_null(scene);
}

TEST(zernike_heights_become_phase)
{
    bb_zernike_term terms[] = {{8, -40.0}, {4, 120.0}};
    bb_fringe_config c = fringe_case(61, 40);
    c.surface.zernike = (bb_list){.items = terms, .count = 2};
    c.pupil.kind = BB_FRINGE_PUPIL_DISC;
    c.pupil.diameter = 0.9; // radius 18 px
    c.waves_per_fringe = 1.0;
    autoptr(bb_scene) scene = make_scene(&c, 1, 0);
    for (bb_index r = 0; r < 40; ++r) {
        for (bb_index k = 0; k < 61; ++k) {
            const double x = ((double)k - 30.0) / 18.0;
            const double y = ((double)r - 19.5) / 18.0;
            const double nm = 120.0 * bb_zernike_value(4, x, y) - 40.0 * bb_zernike_value(8, x, y);
            const bb_index i = r * 61 + k;
            assert_int_equal(scene->mask[i], x * x + y * y <= 1.0);
            if (scene->mask[i] != 0) {
                check_close(scene->phase[i], 2.0 * M_PI * nm / 632.8, 1e-13, 10.0);
            } else {
                assert_true(isnan(scene->phase[i]));
            }
        }
    }
}

TEST(random_surfaces_have_their_rms)
{
    bb_fringe_config c = fringe_case(96, 70);
    double mean = NAN;
    double rms = NAN;
    c.pupil.kind = BB_FRINGE_PUPIL_ANNULUS;
    c.pupil.obstruction = 0.3;
    c.surface.freeform.rms_nm = 75.0;
    autoptr(bb_scene) scene = make_scene(&c, 5, 0);
    measure(scene, &mean, &rms);
    check_close(mean, 0.0, 1e-12, 1.0);
    check_relative(rms, 75.0 * 2.0 * M_PI / 316.4, 1e-12);
    bb_scene_destroy(&scene);
    c.surface.freeform.rms_nm = 0.0;
    c.surface.spectrum.rms_nm = 20.0;
    scene = make_scene(&c, 5, 0);
    measure(scene, &mean, &rms);
    check_close(mean, 0.0, 1e-12, 1.0);
    check_relative(rms, 20.0 * 2.0 * M_PI / 316.4, 1e-12);
    bb_scene_destroy(&scene);
    // Independent parts add up.
    c.surface.freeform.rms_nm = 75.0;
    c.surface.spectrum.rms_nm = 1e-3;
    scene = make_scene(&c, 5, 0);
    measure(scene, &mean, &rms);
    check_relative(rms, 75.0 * 2.0 * M_PI / 316.4, 1e-4);
}

// Power of a scene's wave (k, l).
static double power(const bb_scene *scene, bb_index k, bb_index l)
{
    double real = 0.0;
    double imaginary = 0.0;
    for (bb_index r = 0; r < scene->rows; ++r) {
        for (bb_index c = 0; c < scene->columns; ++c) {
            const double turn =
                2.0 * M_PI *
                ((double)(k * c) / (double)scene->columns + (double)(l * r) / (double)scene->rows);
            real += scene->phase[r * scene->columns + c] * cos(turn);
            imaginary += scene->phase[r * scene->columns + c] * sin(turn);
        }
    }
    return real * real + imaginary * imaginary;
}

TEST(spectra_fall_as_their_exponent_between_the_cutoffs)
{
    enum { EDGE = 32 };
    bb_fringe_config c = fringe_case(EDGE, EDGE);
    c.surface.spectrum = (bb_spectrum_config){
        .rms_nm = 10.0, .exponent = 3.0, .low_cycles = 1.5, .high_cycles = 9.5};
    double low = 0.0;
    double high = 0.0;
    double outside = 0.0;
    double rising = 0.0;
    double falling = 0.0;
    for (uint64_t seed = 0; seed < 40; ++seed) {
        autoptr(bb_scene) scene = make_scene(&c, seed, 0);
        low += power(scene, 2, 0) + power(scene, 0, 2);
        high += power(scene, 8, 0) + power(scene, 0, 8);
        rising += power(scene, 3, 2);
        falling += power(scene, 3, -2);
        outside += power(scene, 1, 0) + power(scene, 0, 1) + power(scene, 1, 1) +
                   power(scene, 10, 0) + power(scene, 7, 7) + power(scene, 0, 0);
    }
    assert_true(outside < 1e-20 * low);
    // 4^3 = 64; 80 powers of two degrees of freedom each scatter by 0.11, their ratio by 0.16.
    assert_true(low / high > 64.0 * 0.5 && low / high < 64.0 * 2.0);
    assert_true(rising / falling > 0.4 && rising / falling < 2.5);
}

TEST(finer_arrays_see_the_same_surface)
{
    bb_fringe_config coarse = fringe_case(40, 24);
    coarse.surface.freeform.rms_nm = 50.0;
    coarse.surface.spectrum = (bb_spectrum_config){
        .rms_nm = 30.0, .exponent = 2.0, .low_cycles = 0.5, .high_cycles = 6.0};
    bb_fringe_config fine = coarse;
    fine.size = (bb_fringe_size_config){.columns = 120, .rows = 72};
    autoptr(bb_scene) few = make_scene(&coarse, 3, 0);
    autoptr(bb_scene) many = make_scene(&fine, 3, 0);
    for (bb_index r = 0; r < 24; ++r) {
        for (bb_index k = 0; k < 40; ++k) {
            // The centre of three by three coincides with the coarse pixel's; the rms differs
            // slightly.
            check_close(few->phase[r * 40 + k], many->phase[(3 * r + 1) * 120 + 3 * k + 1], 0.01,
                        2.0);
        }
    }
}

TEST(steps_stand_where_they_should)
{
    const double fringe = 316.4;
    bb_surface_step steps[] = {
        {.kind = BB_SURFACE_STEP_EDGE,
         .height_nm = 0.1 * fringe,
         .x = 0.25,
         .y = NAN,
         .width = NAN},
        {.kind = BB_SURFACE_STEP_MESA,
         .height_nm = 0.3 * fringe,
         .x = NAN,
         .y = 0.75,
         .width = 0.5},
        {.kind = BB_SURFACE_STEP_SHEAR,
         .height_nm = 11.0 * fringe,
         .x = NAN,
         .y = NAN,
         .width = NAN},
    };
    bb_fringe_config c = fringe_case(12, 8);
    c.surface.steps = (bb_list){.items = steps, .count = 3};
    autoptr(bb_scene) scene = make_scene(&c, 1, 0);
    for (bb_index r = 0; r < 8; ++r) {
        for (bb_index k = 0; k < 12; ++k) {
            const bool raised = k >= 4 && k < 8 && r >= 4;
            const double cycles =
                (k >= 3 ? 0.1 : 0.0) + (raised ? 0.3 : 0.0) + (r >= 4 ? (double)k : 0.0);
            check_close(scene->phase[r * 12 + k], 2.0 * M_PI * cycles, 1e-13, 100.0);
        }
    }
    bb_scene_destroy(&scene);
    // A pixel with its centre on the edge is beyond it.
    steps[0].x = 3.5 / 8.0;
    c = fringe_case(8, 1);
    c.surface.steps = (bb_list){.items = steps, .count = 1};
    scene = make_scene(&c, 1, 0);
    assert_true(scene->phase[2] == 0.0 && scene->phase[3] > 0.0);
}

TEST(a_shear_has_clean_rows_and_no_residue_along_them)
{
    // 0.3 cycles a pixel: rows are unaffected, the jump over the cut grows to 19.
    bb_surface_step shear = {.kind = BB_SURFACE_STEP_SHEAR,
                             .height_nm = 0.3 * 63.0 * 316.4,
                             .x = NAN,
                             .y = 0.5,
                             .width = NAN};
    bb_fringe_config c = fringe_case(64, 32);
    c.surface.steps = (bb_list){.items = &shear, .count = 1};
    autoptr(bb_scene) scene = make_scene(&c, 1, 0);
    for (bb_index r = 0; r < 32; ++r) {
        for (bb_index k = 0; k + 1 < 64; ++k) {
            const double *p = scene->phase + r * 64 + k;
            check_close(bb_detection_wrap(p[1] - p[0]), r < 16 ? 0.0 : 0.6 * M_PI, 1e-12, 1.0);
            // No jumps off the cut.
            assert_true(r == 15 || r == 31 || residue(scene, k, r) == 0);
        }
    }
    assert_true(scene->phase[16 * 64] == 0.0);
    check_relative(scene->phase[16 * 64 + 63] - scene->phase[15 * 64 + 63], 2.0 * M_PI * 18.9,
                   1e-13);
}

TEST(pairs_have_residues_at_their_ends_and_a_cut_between)
{
    bb_fringe_config c = fringe_case(80, 50);
    c.surface.tilt_fringes = (bb_tilt_config){.x = 1.0, .y = 2.0};
    static const double separations[] = {2.0, 5.0, 48.0};
    for (int s = 0; s < 3; ++s) {
        c.surface.residue_pairs = (bb_residue_config){.count = 1, .separation_px = separations[s]};
        for (uint64_t seed = 0; seed < 20; ++seed) {
            autoptr(bb_scene) scene = make_scene(&c, seed, 0);
            assert_int_equal(scene->pair_count, 1);
            const bb_vortex_pair *pair = scene->pairs;
            check_close(hypot(pair->plus_x - pair->minus_x, pair->plus_y - pair->minus_y),
                        separations[s], 0.75, 1.0);
            assert_int_equal(residue(scene, (bb_index)pair->plus_x, (bb_index)pair->plus_y), 1);
            assert_int_equal(residue(scene, (bb_index)pair->minus_x, (bb_index)pair->minus_y), -1);
            assert_int_equal(count_residues(scene), 2);
            // Neighbours differ by more than half a cycle only across the cut.
            for (bb_index r = 0; r < 50; ++r) {
                for (bb_index k = 0; k + 1 < 80; ++k) {
                    const double *p = scene->phase + r * 80 + k;
                    const double y = (double)r;
                    const bool between = fmin(pair->plus_y, pair->minus_y) <= y &&
                                         y <= fmax(pair->plus_y, pair->minus_y);
                    if (fabs(p[1] - p[0]) > M_PI) {
                        assert_true(between);
                        const double part = (y - pair->plus_y) / (pair->minus_y - pair->plus_y);
                        const double cut = pair->plus_x + part * (pair->minus_x - pair->plus_x);
                        assert_true(cut >= (double)k - 1e-9 && cut <= (double)k + 1.0 + 1e-9);
                    }
                }
            }
        }
    }
}

TEST(pairs_stay_in_small_arrays)
{
    bb_fringe_config c = fringe_case(6, 5);
    c.surface.residue_pairs = (bb_residue_config){.count = 300, .separation_px = 2.0};
    autoptr(bb_scene) scene = make_scene(&c, 1, 0);
    bool first = false;
    bool last = false;
    for (int p = 0; p < 300; ++p) {
        const bb_vortex_pair *pair = &scene->pairs[p];
        assert_true(fmin(pair->plus_x, pair->minus_x) >= 0.5);
        assert_true(fmax(pair->plus_x, pair->minus_x) <= 4.5);
        assert_true(fmin(pair->plus_y, pair->minus_y) >= 0.5);
        assert_true(fmax(pair->plus_y, pair->minus_y) <= 3.5);
        first = first || (pair->plus_x == 0.5 && pair->minus_y == 3.5);
        last = last || (pair->minus_x == 4.5 && pair->plus_y == 0.5);
    }
    assert_true(first && last);
}

TEST(pairs_find_the_pupil)
{
    bb_fringe_config c = fringe_case(64, 64);
    c.pupil.kind = BB_FRINGE_PUPIL_ANNULUS;
    c.pupil.obstruction = 0.5;
    c.surface.residue_pairs = (bb_residue_config){.count = 30, .separation_px = 4.0};
    autoptr(bb_scene) scene = make_scene(&c, 7, 0);
    assert_int_equal(scene->pair_count, 30);
    for (int p = 0; p < 30; ++p) {
        const double ends[2][2] = {{scene->pairs[p].plus_x, scene->pairs[p].plus_y},
                                   {scene->pairs[p].minus_x, scene->pairs[p].minus_y}};
        for (int k = 0; k < 2; ++k) {
            const double r = hypot(ends[k][0] - 31.5, ends[k][1] - 31.5);
            assert_true(r > 15.5 && r < 32.0);
        }
    }
}

TEST(noise_is_of_its_draw_and_nothing_else_is)
{
    bb_fringe_config c = fringe_case(301, 200);
    c.surface.freeform.rms_nm = 50.0;
    c.surface.residue_pairs.count = 3;
    c.pupil.holes.count = 4;
    c.pupil.dead_share = 0.02;
    autoptr(bb_scene) clean = make_scene(&c, 9, 0);
    autoptr(bb_scene) draw_of_clean = make_scene(&c, 9, 1);
    const size_t bytes = 301 * 200 * sizeof(double);
    assert_memory_equal(clean->phase, draw_of_clean->phase, bytes);
    c.surface.noise_rad = 0.5;
    double first = 0.0;
    double squares = 0.0;
    double products = 0.0;
    double neighbours = 0.0;
    autoptr(bb_scene) one = make_scene(&c, 9, 0);
    autoptr(bb_scene) two = make_scene(&c, 9, 1);
    for (bb_index i = 0; i < 301 * 200; ++i) {
        assert_int_equal(one->mask[i], clean->mask[i]);
        assert_int_equal(two->mask[i], clean->mask[i]);
        if (clean->mask[i] != 0) {
            const double noise = one->phase[i] - clean->phase[i];
            const bool last = i % 301 == 300;
            const double next = last ? NAN : one->phase[i + 1] - clean->phase[i + 1];
            first += noise;
            squares += noise * noise;
            products += noise * (two->phase[i] - clean->phase[i]);
            neighbours += isnan(next) ? 0.0 : noise * next;
        }
    }
    const double pixels = (double)count_pixels(clean);
    const double scatter = 1.0 / sqrt(pixels);
    check_close(first / pixels, 0.0, 5.0 * scatter, 0.5);
    check_close(squares / pixels, 0.25, 8.0 * scatter, 0.25);
    check_close(products / pixels, 0.0, 5.0 * scatter, 0.25);
    check_close(neighbours / pixels, 0.0, 5.0 * scatter, 0.25);
}

TEST(pupils_are_drawn)
{
    bb_fringe_config c = fringe_case(100, 100);
    c.pupil.kind = BB_FRINGE_PUPIL_ANNULUS;
    c.pupil.obstruction = 0.4;
    autoptr(bb_scene) scene = make_scene(&c, 1, 0);
    check_relative((double)count_pixels(scene), M_PI * 2500.0 * (1.0 - 0.16), 0.01);
    bb_scene_destroy(&scene);
    // A vane along +x of 4 pixels; the centre is between rows 49 and 50.
    c.pupil.spiders = (bb_spider_config){.count = 1, .width_px = 4.0, .angle_deg = 0.0};
    scene = make_scene(&c, 1, 0);
    for (bb_index r = 44; r < 56; ++r) {
        assert_int_equal(scene->mask[r * 100 + 85], r < 48 || r > 51);
        assert_int_equal(scene->mask[r * 100 + 14], 1);
    }
    bb_scene_destroy(&scene);
    c.pupil.spiders.angle_deg = 90.0; // along +y
    scene = make_scene(&c, 1, 0);
    assert_int_equal(scene->mask[85 * 100 + 49], 0);
    assert_int_equal(scene->mask[14 * 100 + 49], 1);
    assert_int_equal(scene->mask[49 * 100 + 85], 1);
    bb_scene_destroy(&scene);
    // Three parts by two bars.
    c = fringe_case(90, 5);
    c.pupil.gaps = (bb_gap_config){.parts = 3, .width_px = 2.0};
    scene = make_scene(&c, 1, 0);
    for (bb_index k = 0; k < 90; ++k) {
        const bool bar = k == 29 || k == 30 || k == 59 || k == 60;
        assert_int_equal(scene->mask[3 * 90 + k], !bar);
    }
}

TEST(holes_and_dead_pixels_have_no_data)
{
    bb_fringe_config c = fringe_case(200, 150);
    c.pupil.dead_share = 0.1;
    autoptr(bb_scene) scene = make_scene(&c, 4, 0);
    const double lost = 30000.0 - (double)count_pixels(scene);
    check_close(lost, 3000.0, 5.0 * sqrt(3000.0 * 0.9), 1.0);
    double mean = NAN;
    double rms = NAN;
    measure(scene, &mean, &rms); // NaN exactly where there is no data
    bb_scene_destroy(&scene);
    c.pupil.dead_share = 0.0;
    c.pupil.holes = (bb_hole_config){.count = 1, .radius_px = 10.0};
    scene = make_scene(&c, 4, 0);
    // The hole may be cut by the edge, but its centre is inside.
    const double area = 30000.0 - (double)count_pixels(scene);
    assert_true(area > 0.2 * M_PI * 100.0 && area < 1.05 * M_PI * 100.0);
    c.pupil.holes.count = 2;
    autoptr(bb_scene) two = make_scene(&c, 4, 0);
    assert_true(30000.0 - (double)count_pixels(two) > area);
}

TEST(thin_and_empty_arrays_work)
{
    static const bb_index sizes[][2] = {{1, 1}, {1, 37}, {37, 1}};
    bb_zernike_term term = {4, 20.0};
    bb_surface_step steps[] = {
        {.kind = BB_SURFACE_STEP_SHEAR, .height_nm = 100.0, .x = NAN, .y = 0.0, .width = NAN},
        {.kind = BB_SURFACE_STEP_MESA, .height_nm = 100.0, .x = NAN, .y = NAN, .width = NAN}};
    for (int s = 0; s < 3; ++s) {
        bb_fringe_config c = fringe_case(sizes[s][0], sizes[s][1]);
        c.surface.freeform.rms_nm = 10.0;
        c.surface.zernike = (bb_list){.items = &term, .count = 1};
        c.surface.steps = (bb_list){.items = steps, .count = 2};
        c.surface.noise_rad = 0.1;
        autoptr(bb_scene) scene = make_scene(&c, 1, 0);
        for (bb_index i = 0; i < sizes[s][0] * sizes[s][1]; ++i) {
            assert_true(isfinite(scene->phase[i]));
        }
    }
    bb_fringe_config c = fringe_case(20, 20);
    c.surface.freeform.rms_nm = 10.0;
    c.surface.spectrum.rms_nm = 10.0;
    c.surface.residue_pairs.count = 2;
    c.pupil.holes = (bb_hole_config){.count = 1, .radius_px = 100.0};
    autoptr(bb_scene) scene = make_scene(&c, 1, 0);
    assert_int_equal(count_pixels(scene), 0);
    bb_scene_destroy(&scene);
    c.pupil.gaps = (bb_gap_config){.parts = 2, .width_px = 20.0}; // no pupil pixel left
    scene = make_scene(&c, 1, 0);
    assert_int_equal(count_pixels(scene), 0);
}

// Seeds give the same surface in later versions.
TEST(seeds_are_kept)
{
    bb_fringe_config c = fringe_case(9, 7);
    c.surface.freeform.rms_nm = 40.0;
    autoptr(bb_scene) scene = make_scene(&c, 11, 2);
    const double freeform = scene->phase[23];
    bb_scene_destroy(&scene);
    c.surface.freeform.rms_nm = 0.0;
    c.surface.spectrum.rms_nm = 40.0;
    scene = make_scene(&c, 11, 2);
    const double spectrum = scene->phase[23];
    bb_scene_destroy(&scene);
    c.surface.spectrum.rms_nm = 0.0;
    c.surface.noise_rad = 1.0;
    c.surface.residue_pairs = (bb_residue_config){.count = 1, .separation_px = 3.0};
    c.pupil.holes = (bb_hole_config){.count = 1, .radius_px = 1.0};
    scene = make_scene(&c, 11, 2);
    check_relative(freeform, -0.27605110855094933, 1e-10);
    check_relative(spectrum, -0.46558142584803819, 1e-10);
    check_relative(scene->phase[23], 1.6656212766675149, 1e-10);
    assert_true(scene->pairs[0].plus_x == 0.5 && scene->pairs[0].minus_y == 3.5);
    assert_true(count_pixels(scene) == 60 && scene->mask[33] + scene->mask[41] == 0);
}

TEST(threads_do_not_matter)
{
    bb_zernike_term terms[] = {{4, 100.0}, {22, 10.0}};
    bb_fringe_config c = fringe_case(77, 93);
    c.surface.zernike = (bb_list){.items = terms, .count = 2};
    c.surface.freeform.rms_nm = 40.0;
    c.surface.spectrum.rms_nm = 15.0;
    c.surface.residue_pairs.count = 3;
    c.surface.noise_rad = 0.3;
    c.pupil.kind = BB_FRINGE_PUPIL_DISC;
    c.pupil.dead_share = 0.03;
    autoptr(bb_scene) one = make_scene(&c, 11, 2);
    check_ok(bb_threads_set(3));
    autoptr(bb_scene) three = make_scene(&c, 11, 2);
    bb_threads_stop();
    const size_t pixels = 77 * 93;
    assert_memory_equal(one->mask, three->mask, pixels);
    assert_memory_equal(one->phase, three->phase, pixels * sizeof(double));
    autoptr(bb_scene) other = make_scene(&c, 12, 2);
    assert_memory_not_equal(one->phase, other->phase, pixels * sizeof(double));
}

TEST(failures_leave_nothing_behind)
{
    bb_fringe_config c = fringe_case(20, 20);
    autoptr(bb_scene) scene = NULL;
    check_fails(bb_scene_create(&c, 1, -1, &scene), BB_INVALID, "draw -1, expected 0..2147483647");
    c.surface.freeform.rms_nm = 10.0;
    c.surface.spectrum.rms_nm = 10.0;
    c.surface.residue_pairs.count = 2;
    bb_status status = BB_OK;
    for (failing_allocation walk = {0}; fail_next(&walk, status);) {
        autoptr(bb_scene) one = NULL;
        status = bb_scene_create(&c, 1, 0, &one);
        assert_true((status == BB_OK) == (one != NULL) && walk.k < 100);
    }
}
