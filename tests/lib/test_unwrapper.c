// SPDX-License-Identifier: Apache-2.0
//
// Unwrapping of known surfaces through the library.
#include "core/outcome.h"
#include "lib/bitbudget.h"
#include "tests/check.h"

#define PI 3.14159265358979323846

enum { ROWS = 96, COLUMNS = 120, POINTS = ROWS * COLUMNS };

// Tilt, a hump and a ripple of several cycles, less than half a cycle between neighbours.
static double *make_surface(void)
{
    double *surface = new_array(double, POINTS);
    fill_array(surface, POINTS, i,
               0.3 * (double)(i % COLUMNS) - 0.1 * (double)(i / COLUMNS) +
                   20.0 * sin(0.03 * (double)(i / COLUMNS)) * cos(0.02 * (double)(i % COLUMNS)));
    return surface;
}

static double *wrap(const double *surface, bb_index count)
{
    double *wrapped = new_array(double, count);
    fill_array(wrapped, count, i, remainder(surface[i], 2.0 * PI));
    return wrapped;
}

// Checks phase - surface to be one whole number of cycles for each label.
static void check_surface(const double *phase, const double *surface, const int *labels,
                          bb_index count, int parts)
{
    for (int part = 0; part < parts; ++part) {
        double offset = NAN;
        for (bb_index i = 0; i < count; ++i) {
            if (labels[i] != part) {
                continue;
            }
            const double cycles = (phase[i] - surface[i]) / (2.0 * PI);
            offset = isnan(offset) ? rint(cycles) : offset;
            check_close(cycles, offset, 1e-12, 1.0);
        }
        assert_false(isnan(offset));
    }
}

TEST(a_surface_is_found_in_every_precision)
{
    static const char *const options[] = {NULL, "fp64", "fp32 storage=bf16",
                                          "arithmetic=fp32 smoother=fp16 reject=1.5 reweight=0"};
    autofree double *surface = make_surface();
    autofree double *wrapped = wrap(surface, POINTS);
    autofree double *phase = new_array(double, POINTS);
    autofree int *labels = new_zeros(int, POINTS);
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i) {
        autoptr(bb_unwrapper) plan = NULL;
        bb_unwrapping_report report;
        check_ok(bb_unwrapper_create(ROWS, COLUMNS, NULL, options[i], "cpu", &plan));
        check_ok(bb_unwrapper_run(plan, wrapped, phase, &report));
        assert_int_equal(report.outcome.kind, BB_OUTCOME_OK);
        check_surface(phase, surface, labels, POINTS, 1);
        assert_true(report.rejected_share == 0.0 && report.cycles > 0 && report.seconds > 0.0);
        assert_true(i == 3 ? isnan(report.jumps) && report.limit_rad == 1.5 : report.jumps == 0.0);
    }
}

// Two parts divided by a masked column, a stream of two phases in place, any multiple of 2 pi on
// input, NaN outside the mask.
TEST(a_plan_unwraps_a_stream_within_its_mask)
{
    autofree double *surface = make_surface();
    autofree unsigned char *mask = new_array(unsigned char, POINTS);
    autofree int *labels = new_array(int, POINTS);
    autofree double *phase = new_array(double, POINTS);
    autofree double *quality = new_array(double, POINTS);
    autoptr(bb_unwrapper) plan = NULL;
    bb_index parts = 0;
    fill_array(mask, POINTS, i, i % COLUMNS != 50);
    check_ok(bb_unwrapper_create(ROWS, COLUMNS, mask, NULL, NULL, &plan));
    check_fails(bb_unwrapper_quality(plan, quality), BB_INVALID, "no run yet");
    check_ok(bb_unwrapper_parts(plan, labels, &parts));
    assert_int_equal(parts, 2);
    assert_true(labels[0] == 0 && labels[50] == -1 && labels[51] == 1);
    for (int frame = 0; frame < 2; ++frame) {
        fill_array(surface, POINTS, i, -surface[i] + 0.01 * (double)(i / COLUMNS));
        fill_array(phase, POINTS, i,
                   mask[i] ? surface[i] + 2.0 * PI * (double)(i % 7 - 3) : (double)NAN);
        check_ok(bb_unwrapper_run(plan, phase, phase, NULL));
        check_surface(phase, surface, labels, POINTS, 2);
        assert_true(isnan(phase[50]) && isnan(phase[COLUMNS + 50]));
    }
    check_ok(bb_unwrapper_quality(plan, quality));
    assert_true(quality[0] > 0.9 && quality[0] <= 1.0 && isnan(quality[50]));
}

// Itoh along a row and along a column: slopes up to half a cycle, from the first point of each
// part, also where the surface leaves every multiple of 2 pi of fp32.
TEST(lines_are_exact)
{
    enum { LENGTH = 4000 };
    autofree double *surface = new_array(double, LENGTH);
    autofree double *phase = new_array(double, LENGTH);
    autofree unsigned char *mask = new_array(unsigned char, LENGTH);
    fill_array(mask, LENGTH, i, i != 0 && i != 1000);
    surface[0] = 1.0;
    for (bb_index i = 1; i < LENGTH; ++i) {
        surface[i] = surface[i - 1] + (i < 2000 ? 3.1 : -3.0 * sin(0.1 * (double)i));
    }
    for (int upright = 0; upright < 2; ++upright) {
        autofree double *wrapped = wrap(surface, LENGTH);
        autoptr(bb_unwrapper) plan = NULL;
        bb_unwrapping_report report;
        bb_index parts = 0;
        void *address = NULL;
        int bytes = 0;
        check_ok(bb_unwrapper_create(upright ? LENGTH : 1, upright ? 1 : LENGTH, mask, "fp32", NULL,
                                     &plan));
        check_ok(bb_unwrapper_run(plan, wrapped, phase, &report));
        check_ok(bb_unwrapper_parts(plan, NULL, &parts));
        assert_int_equal(parts, 2);
        assert_true(isnan(phase[0]) && isnan(phase[1000]));
        for (bb_index i = 1; i < LENGTH; ++i) {
            const bb_index first = i < 1000 ? 1 : 1001;
            if (i != 1000) {
                check_close(phase[i] - wrapped[first], surface[i] - surface[first], 1e-9, 1.0);
            }
        }
        assert_int_equal(report.outcome.kind, BB_OUTCOME_OK);
        check_fails(bb_unwrapper_quality(plan, phase), BB_UNSUPPORTED, "one row or column");
        check_fails(bb_unwrapper_input(plan, &address, &bytes), BB_UNSUPPORTED,
                    "bb_unwrapper_input: an image of one row");
    }
}

TEST(a_stream_is_queued_in_the_device_memory)
{
    autofree double *surface = make_surface();
    autofree double *wrapped = wrap(surface, POINTS);
    autofree double *phase = new_array(double, POINTS);
    autofree int *labels = new_zeros(int, POINTS);
    for (int wide = 0; wide < 2; ++wide) {
        autoptr(bb_unwrapper) plan = NULL;
        bb_unwrapping_report report;
        void *address = NULL;
        int bytes = 0;
        check_ok(bb_unwrapper_create(ROWS, COLUMNS, NULL, wide ? "fp64" : "fp32", NULL, &plan));
        check_fails(bb_unwrapper_read(plan, phase, NULL), BB_INVALID, "nothing is queued");
        check_ok(bb_unwrapper_input(plan, &address, &bytes));
        assert_int_equal(bytes, wide ? 8 : 4);
        for (bb_index i = 0; i < POINTS; ++i) {
            if (wide) {
                ((double *)address)[i] = wrapped[i];
            } else {
                ((float *)address)[i] = (float)wrapped[i];
            }
        }
        check_ok(bb_unwrapper_queue(plan));
        check_ok(bb_unwrapper_read(plan, phase, &report));
        assert_int_equal(report.outcome.kind, BB_OUTCOME_OK);
        const double offset = rint((phase[0] - surface[0]) / (2.0 * PI));
        for (bb_index i = 0; i < POINTS; ++i) {
            check_close(phase[i] - 2.0 * PI * offset, surface[i], wide ? 1e-12 : 1e-5, 10.0);
        }
    }
    (void)labels;
}

// Noise of 2 rad leaves no surface: the report counts jumps and rejected edges.
TEST(a_hopeless_phase_is_reported)
{
    autofree double *wrapped = new_array(double, POINTS);
    autofree double *phase = new_array(double, POINTS);
    autoptr(bb_unwrapper) plan = NULL;
    bb_unwrapping_report report;
    fill_array(wrapped, POINTS, i, remainder(1.7 * (double)((i * i) % 1009), 2.0 * PI));
    check_ok(bb_unwrapper_create(ROWS, COLUMNS, NULL, NULL, NULL, &plan));
    check_ok(bb_unwrapper_run(plan, wrapped, phase, &report));
    assert_true(report.jumps > 1.0 && report.rejected_share > 0.1);
}

TEST(bad_arguments_are_refused)
{
    static const struct {
        const char *options, *message;
    } bad[] = {
        {"fp16", "expected one of fp64, fp32"},
        {"fp32 reject=often", "unwrap.reject 'often'"},
        {"fp32 cycles=0", "cycles = 0: expected >= 1"},
        {"fp32 wrap_around=rows", "unknown key 'wrap_around'"},
    };
    double phase[4] = {0.0, NAN, 0.0, 0.0};
    const unsigned char none[4] = {0};
    bb_unwrapper *plan = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        check_fails(bb_unwrapper_create(2, 2, NULL, bad[i].options, NULL, &plan), BB_INVALID,
                    bad[i].message);
    }
    check_fails(bb_unwrapper_create(2, 2, none, NULL, NULL, &plan), BB_INVALID, "without a point");
    check_fails(bb_unwrapper_create(1, 4, none, NULL, NULL, &plan), BB_INVALID, "no valid point");
    check_fails(bb_unwrapper_create(2, -2, NULL, NULL, NULL, &plan), BB_INVALID, "2 x -2");
    assert_null(plan);
    check_ok(bb_unwrapper_create(2, 2, NULL, NULL, NULL, &plan));
    check_fails(bb_unwrapper_run(plan, phase, phase, NULL), BB_INVALID, "row 0, column 1 is nan");
    bb_unwrapper_destroy(&plan);
    bb_unwrapper_destroy(NULL);
}
