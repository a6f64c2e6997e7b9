// SPDX-License-Identifier: Apache-2.0
//
// Streams end to end, through the driver in this process, so that kernels are compiled only once.
#include "core/interrupt.h"
#include "physics/fringe/interferogram.h"
#include "sim/fringe/fringe_experiment.h"
#include "sim/fringe/fringe_study.h"
#include "sim/input/hdf5_library.h"
#include "tests/sim/driver.h"
#include "tests/sim/fixture.h" // needs the headers above
#include "tests/sim/fringe/live/streams.h"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#define CONFIG CONFIG_FRINGE_SMALL
#define FEW    "unwrap={cycles: 4, reweight: 0}"

enum { COLUMNS = 96, ROWS = 72, POINTS = COLUMNS * ROWS };

static bb_live_options usual(const char *source, bb_index frames)
{
    return (bb_live_options){
        .source = source, .frames = frames, .rate_hz = NAN, .patience_s = 20.0};
}

// Runs a stream; owner of both: the caller. `text` may be NULL.
static bb_status run_stream(const driver_case *study, const bb_live_options *options,
                            bb_results **results, bb_text *text)
{
    bb_status status = BB_OK;
    autoptr(bb_config) config = NULL;
    autorelease(bb_text) table = {0};
    BB_TRY(driver_load(study, &config));
    BB_TRY(bb_results_create(results));
    BB_TRY(bb_fringe_experiment_live(bb_config_study(config), options, *results,
                                     text == NULL ? &table : text));
    driver_check_declared(&bb_fringe_experiment, *results);
done:
    if (status != BB_OK) {
        bb_results_destroy(results);
    }
    return status;
}

// Results of a successful stream. Owner: the caller.
static bb_results *stream(const driver_case *study, const bb_live_options *options)
{
    bb_results *results = NULL;
    check_ok(run_stream(study, options, &results, NULL));
    return results;
}

// Runs with one phase in flight, and with several.
static const bb_index overlaps[] = {1, 3};
enum { OVERLAPS = sizeof overlaps / sizeof overlaps[0] };

static double number(const bb_results *results, const char *name, bb_index place)
{
    return dataset_in(results, "live", name)->numbers[place];
}

// Counts of the small study's camera for a draw: [4][ROWS][COLUMNS], 10 bits.
static int32_t *make_counts(bb_index draw)
{
    int32_t *counts = new_zeros(int32_t, 4 * POINTS);
    autoptr(bb_config) config = driver_config(CASE(CONFIG, {NULL}));
    const bb_fringe_study *fringe = bb_config_study(config);
    autoptr(bb_scene) scene = new_object(bb_scene, &fringe->physics, 1, draw);
    autoptr(bb_frames) frames = new_object(bb_frames, &fringe->physics, scene, 1, draw);
    bb_frames_quantise(frames, 10, NULL);
    for (int i = 0; i < 4 * POINTS; ++i) {
        const double value = frames->intensity[i];
        counts[i] = isfinite(value) ? (int32_t)rint(1023.0 * value) : 0;
    }
    return counts;
}

TEST(the_scene_is_unwrapped_rightly)
{
    bb_live_options options = usual(NULL, 6);
    autoptr(bb_results) results = NULL;
    autorelease(bb_text) table = {0};
    options.pipelines = "fp32,fp16-u";
    check_ok(run_stream(CASE(CONFIG, {FEW}), &options, &results, &table));
    assert_true(number(results, "phases", 0) == 6.0);
    assert_true(number(results, "dropped", 0) == 0.0);
    assert_true(number(results, "sizes", 0) == 1.0);
    assert_true(number(results, "columns", 0) == COLUMNS && number(results, "bits", 0) == 10.0);
    for (int lane = 0; lane < 2; ++lane) {
        assert_true(number(results, "scored", lane) >= 1.0);
        assert_true(number(results, "wrong_points", lane) == 0.0);
        assert_true(number(results, "rejected_share", lane) > 0.0);
        assert_true(number(results, "unsolved", lane) == 0.0);
        assert_true(number(results, "latency_p50_ms", lane) > 0.0);
        for (int k = 0; k < 6; ++k) {
            const double latency = number(results, "latency_ms", 6 * lane + k);
            assert_true(latency > 0.0 && latency <= number(results, "latency_max_ms", lane));
        }
    }
    assert_non_null(
        strstr(bb_text_string(&table), "synthetic: 96 x 72 pixels of 10 bits, 4 frames"));
    assert_non_null(strstr(bb_text_string(&table), "6 phases in "));
    assert_non_null(strstr(bb_text_string(&table), "fp16-u"));
}

// Surface that a window of seven pixels resolves.
TEST_FULL(a_carrier_is_a_stream_too)
{
    const bb_live_options options = usual(NULL, 3);
    autoptr(bb_results) results =
        stream(CASE(CONFIG,
                    {FEW, "detection={algorithm: carrier}", "surface.noise_rad=0",
                     "surface.tilt_fringes={x: 1, y: -2}", "surface.zernike=[{j: 4, rms_nm: 60.0}]",
                     "size.columns=120", "pupil={kind: rectangle}"}),
               &options);
    assert_true(number(results, "frames", 0) == 1.0);
    assert_true(number(results, "scored", 0) >= 1.0);
    assert_true(number(results, "wrong_points", 0) == 0.0);
}

TEST(a_file_ends_with_its_last_whole_phase)
{
    const driver_case study = {CONFIG, {FEW}};
    bb_live_options options = usual("file:frames.h5", 0);
    autofree int32_t *counts = make_counts(0);
    autofree int32_t *repeated = new_zeros(int32_t, 10 * POINTS);
    for (int k = 0; k < 10; ++k) {
        memcpy(repeated + k * POINTS, counts + k % 4 * POINTS, POINTS * sizeof *counts);
    }
    stream_write_file("frames.h5", repeated, 10, COLUMNS, ROWS, 10.0);
    autoptr(bb_results) results = stream(&study, &options);
    assert_true(number(results, "phases", 0) == 2.0);
    assert_true(number(results, "dropped", 0) == 0.0);
    assert_true(number(results, "scored", 0) == 0.0); // no truth is known
    options = usual("loop:frames.h5", 7);
    autoptr(bb_results) endless = stream(&study, &options);
    assert_true(number(endless, "phases", 0) == 7.0);
}

// Last phase, as shown on its page. Owner: the caller.
static char *read_picture(const char *path, size_t *length)
{
    char *bytes = new_zeros(char, 1 << 20);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    *length = fread(bytes, 1, 1 << 20, file);
    (void)fclose(file);
    return bytes;
}

// Either phase may be the last, and the end of the file or the number of phases ends the stream.
TEST_FULL(phases_in_flight_change_no_result)
{
    enum { DRAWS = 5, MOST = 4 };
    autofree int32_t *stored = new_zeros(int32_t, DRAWS * 4 * POINTS);
    for (int draw = 0; draw < DRAWS; ++draw) {
        autofree int32_t *counts = make_counts(draw);
        memcpy(stored + draw * 4 * POINTS, counts, (size_t)4 * POINTS * sizeof *counts);
    }
    stream_write_file("draws.h5", stored, 4 * DRAWS, COLUMNS, ROWS, 10.0);
    for (int frames = 2; frames <= DRAWS + 1; ++frames) {
        char *pictures[MOST];
        size_t lengths[MOST];
        double rejected[MOST];
        for (int i = 0; i < MOST; ++i) {
            bb_live_options options = usual("file:draws.h5", frames);
            options.view = "page3";
            options.overlap = i + 1;
            autoptr(bb_results) results = stream(CASE(CONFIG, {FEW}), &options);
            assert_true(number(results, "phases", 0) == fmin(frames, DRAWS));
            assert_true(number(results, "latency_ms", (bb_index)fmin(frames, DRAWS) - 1) > 0.0);
            rejected[i] = number(results, "rejected_share", 0);
            pictures[i] = read_picture("page3/wavefront.png", &lengths[i]);
        }
        for (int i = 1; i < MOST; ++i) {
            assert_true(rejected[i] == rejected[0]);
            assert_int_equal(lengths[i], lengths[0]);
            assert_memory_equal(pictures[i], pictures[0], lengths[0]);
            BB_RELEASE(&pictures[i]);
        }
        BB_RELEASE(&pictures[0]);
    }
}

// The phase of a draw is compared with the truth of that draw: the noise is strong enough to
// distinguish draws.
TEST(each_phase_has_its_own_truth)
{
    const driver_case study = {CONFIG, {FEW, "surface.noise_rad=1.5"}};
    double wrong = NAN; // first phase only
    for (int i = -1; i < OVERLAPS; ++i) {
        bb_live_options options = usual(NULL, i < 0 ? 1 : 5);
        options.overlap = i < 0 ? 1 : overlaps[i];
        autoptr(bb_results) results = stream(&study, &options);
        if (i < 0) {
            wrong = number(results, "wrong_points", 0);
            assert_true(wrong > 0.0);
        } else if (number(results, "scored", 0) == 1.0) { // one per second
            assert_true(number(results, "wrong_points", 0) == wrong);
        }
    }
}

// Four frames of a tilt in any shape; dark if the amplitude is 0.
static void put_tilt(const char *path, int columns, int rows, int amplitude)
{
    autofree int32_t *counts = new_zeros(int32_t, 4 * columns * rows);
    for (int i = 0; i < 4 * columns * rows; ++i) {
        const double phase = 0.3 * (i % columns) + 0.5 * M_PI * (i / (columns * rows));
        counts[i] = (int32_t)rint(amplitude * (1.25 + cos(phase)));
    }
    stream_write_pgm(path, counts, 4, columns, rows, 255);
}

TEST(frames_may_change_their_size_and_be_broken)
{
    const driver_case study = {CONFIG, {FEW, "pupil={kind: rectangle}"}};
    bb_live_options options = usual("directory:sizes", 0);
    assert_int_equal(mkdir("sizes", 0777), 0);
    put_tilt("sizes/1.pgm", 60, 40, 80);
    write_text("sizes/2.pgm", "P5\n60 40\n255\nnot whole");
    put_tilt("sizes/3.pgm", 60, 40, 80);
    put_tilt("sizes/4.pgm", 33, 47, 80);
    put_tilt("sizes/5.pgm", 33, 47, 80);
    put_tilt("sizes/6.pgm", 60, 40, 80);
    write_text("sizes/end", "");
    for (int i = 0; i < OVERLAPS; ++i) {
        options.overlap = overlaps[i];
        autoptr(bb_results) results = stream(&study, &options);
        assert_true(number(results, "overlap", 0) == (double)overlaps[i]);
        assert_true(number(results, "phases", 0) == 5.0);
        assert_true(number(results, "sizes", 0) == 3.0);
        assert_true(number(results, "columns", 0) == 60.0 && number(results, "bits", 0) == 8.0);
    }
}

// Frames without fringes give no mask; the next phase may have fringes.
TEST(dark_phases_are_dropped)
{
    const driver_case study = {CONFIG, {FEW, "pupil={kind: rectangle}"}};
    bb_live_options options = usual("directory:dark", 0);
    bb_results *results = NULL;
    const bb_index held = bb_memory_blocks();
    options.patience_s = 0.1;
    assert_int_equal(mkdir("dark", 0777), 0);
    put_tilt("dark/1.pgm", 60, 40, 0);
    check_fails(run_stream(&study, &options, &results, NULL), BB_IO,
                "before its first phase: no pixel of the pupil reaches");
    options = usual("loop:dark.h5", 0);
    options.patience_s = 0.1;
    static const int32_t counts[4 * 60 * 40] = {0};
    stream_write_file("dark.h5", counts, 4, 60, 40, 8.0);
    check_fails(run_stream(&study, &options, &results, NULL), BB_IO, "before its first phase");
    options = usual("directory:dark", 0);
    put_tilt("dark/2.pgm", 60, 40, 80);
    put_tilt("dark/3.pgm", 32, 32, 0);
    put_tilt("dark/4.pgm", 60, 40, 80);
    put_tilt("dark/5.pgm", 32, 32, 80);
    write_text("dark/end", "");
    check_ok(run_stream(&study, &options, &results, NULL));
    assert_true(number(results, "phases", 0) == 3.0);
    assert_true(number(results, "dropped", 0) == 2.0);
    assert_true(number(results, "sizes", 0) == 2.0);
    bb_results_destroy(&results);
    assert_int_equal(bb_memory_blocks(), held);
}

TEST(an_error_comes_behind_the_summary)
{
    bb_live_options options = usual("file:broken.h5", 0);
    bb_results *results = NULL;
    bb_text table = {0};
    autofree int32_t *counts = make_counts(0);
    autofree int32_t *repeated = new_zeros(int32_t, 8 * POINTS);
    memcpy(repeated, counts, (size_t)4 * POINTS * sizeof *counts);
    repeated[7 * POINTS] = 5000; // above 10 bits
    stream_write_file("broken.h5", repeated, 8, COLUMNS, ROWS, 10.0);
    for (int i = 0; i < OVERLAPS; ++i) {
        options.overlap = overlaps[i];
        check_fails(run_stream(CASE(CONFIG, {FEW}), &options, &results, &table), BB_INVALID,
                    "frame 7 has a pixel of 5000");
        assert_non_null(strstr(bb_text_string(&table), "1 phases in "));
        bb_text_release(&table);
    }
}

TEST(a_stream_that_stalls_ends_when_patience_does)
{
    const driver_case study = {CONFIG, {FEW, "pupil={kind: rectangle}"}};
    bb_live_options options = usual("directory:stall", 0);
    bb_results *none = NULL;
    options.patience_s = 0.3;
    assert_int_equal(mkdir("stall", 0777), 0);
    check_fails(run_stream(&study, &options, &none, NULL), BB_IO,
                "the stream ended before its first phase");
    put_tilt("stall/1.pgm", 60, 40, 80);
    for (int i = 0; i < OVERLAPS; ++i) {
        options.overlap = overlaps[i];
        autoptr(bb_results) results = stream(&study, &options);
        assert_true(number(results, "phases", 0) == 1.0);
        assert_true(number(results, "stalls", 0) == 1.0);
    }
}

typedef struct later {
    const char *waits_for; // file of the page that shows the progress
    const char *puts;      // file to create then; NULL: interrupts the stream
} later;

// Acts once a page has shown a phase.
static void *act_later(void *context)
{
    const later *task = context;
    char text[2000] = "";
    while (strstr(text, "frame: ") == NULL || strstr(text, "frame: 0,") != NULL) {
        FILE *file = fopen(task->waits_for, "r");
        if (file != NULL) {
            text[fread(text, 1, sizeof text - 1, file)] = '\0';
            (void)fclose(file);
        }
        (void)usleep(2000);
    }
    if (task->puts != NULL) {
        put_tilt("late.part", 60, 40, 80);
        (void)rename("late.part", task->puts);
    } else {
        (void)kill(getpid(), SIGINT);
    }
    return NULL;
}

TEST(frames_may_come_late)
{
    bb_live_options options = usual("directory:late", 2);
    later task = {"page1/state.js", "late/2.pgm"};
    pthread_t thread;
    options.view = "page1";
    assert_int_equal(mkdir("late", 0777), 0);
    put_tilt("late/1.pgm", 60, 40, 80);
    assert_int_equal(pthread_create(&thread, NULL, act_later, &task), 0);
    autoptr(bb_results) results = stream(CASE(CONFIG, {FEW, "pupil={kind: rectangle}"}), &options);
    (void)pthread_join(thread, NULL);
    assert_true(number(results, "phases", 0) == 2.0);
}

TEST(an_interrupt_ends_with_the_summary)
{
    bb_live_options options = usual(NULL, 0);
    autoptr(bb_results) results = NULL;
    autorelease(bb_text) table = {0};
    later task = {"page2/state.js", NULL};
    pthread_t thread;
    options.view = "page2";
    options.rate_hz = 100.0;
    options.overlap = 2;
    check_ok(bb_interrupt_install());
    assert_int_equal(pthread_create(&thread, NULL, act_later, &task), 0);
    check_ok(run_stream(CASE(CONFIG, {FEW}), &options, &results, &table));
    (void)pthread_join(thread, NULL);
    assert_true(number(results, "phases", 0) >= 1.0);
    assert_non_null(strstr(bb_text_string(&table), "; interrupted"));
}

static char segment_name[64];

static void *write_frames(void *context)
{
    const stream_segment *camera = context;
    autofree int32_t *counts = make_counts(0);
    for (int k = 0; k < 40; ++k) {
        stream_segment_put(camera, counts + k % 4 * POINTS);
        (void)usleep(500);
    }
    atomic_store(&camera->header->ended, 1);
    return NULL;
}

// Every phase was processed or counted as dropped, except those before the stream was ready.
TEST(a_camera_is_not_waited_for)
{
    char source[80];
    pthread_t thread;
    (void)snprintf(segment_name, sizeof segment_name, "/bb-stream-%ld", (long)getpid());
    (void)snprintf(source, sizeof source, "shm:%s", segment_name);
    bb_live_options options = usual(source, 0);
    options.overlap = 2;
    autocall(stream_segment_remove) stream_segment camera =
        stream_segment_make(segment_name, COLUMNS, ROWS, 10, 12);
    assert_int_equal(pthread_create(&thread, NULL, write_frames, &camera), 0);
    autoptr(bb_results) results = stream(CASE(CONFIG, {FEW}), &options);
    (void)pthread_join(thread, NULL);
    const double phases = number(results, "phases", 0), dropped = number(results, "dropped", 0);
    assert_true(phases >= 1.0 && dropped >= 0.0 && phases + dropped <= 10.0);
}

TEST(what_cannot_be_streamed_is_refused)
{
    const driver_case plain = {CONFIG, {NULL}}, five = {CONFIG, {"detection.steps=5"}};
    const driver_case dark = {CONFIG, {FEW, "detection.least_modulation=0.9"}};
    bb_live_options options = usual("camera", 1);
    bb_results *results = NULL;
    const bb_index held = bb_memory_blocks();
    check_fails(run_stream(&plain, &options, &results, NULL), BB_INVALID, "--source camera");
    options = usual(NULL, 1);
    check_fails(run_stream(&five, &options, &results, NULL), BB_UNSUPPORTED,
                "live needs detection.algorithm steps with steps 4, or carrier");
    options.pipelines = "fp32,fp3";
    check_fails(run_stream(&plain, &options, &results, NULL), BB_INVALID,
                "--pipeline fp3: the study has no such pipeline");
    options.pipelines = "fp32,fp32";
    check_fails(run_stream(&plain, &options, &results, NULL), BB_INVALID, "names fp32 twice");
    options = usual(NULL, 1);
    check_fails(run_stream(&dark, &options, &results, NULL), BB_INVALID,
                "no pixel of the pupil reaches detection.least_modulation");
    const driver_case measured = {CONFIG, {FEW, "input={file: frames.h5, dataset: /frames}"}};
    check_fails(run_stream(&measured, &options, &results, NULL), BB_INVALID,
                "input.file = 'frames.h5' and no synthetic scene: give a stream with --source");
    options = usual("file:frames.h5", 1); // from an earlier test
    check_ok(run_stream(&measured, &options, &results, NULL));
    assert_true(number(results, "columns", 0) == COLUMNS);
    bb_results_destroy(&results);
    options = usual(NULL, 1);
    options.view = "no/such/folder";
    check_fails(run_stream(&plain, &options, &results, NULL), BB_IO,
                "cannot make folder 'no/such/folder'");
    assert_int_equal(bb_memory_blocks(), held);
}

TEST_GROUP(.begin = fixture_start_hdf5, .is_quiet = true, .has_folder = true, .threads = 2);
