// SPDX-License-Identifier: Apache-2.0
//
// User-supplied slopes in the realtime loop: replayed repeatedly and bit for bit from HDF5 and
// FITS, in three units; non-finite frames; error messages; plans.
#include "sim/ao/realtime/telemetry_file.h"
#include "tests/sim/allocation_walk.h"
#include "tests/sim/ao/realtime/frame_rig.h"
#include "tests/sim/dumped.h"

enum { FRAMES = 5, SLOPES = 401 };

#define FROM(dataset) "realtime.telemetry={file: t.h5, dataset: " dataset "}"

static const char script[] =
    "import h5py, numpy as n\n"
    "f = h5py.File('t.h5', 'w')\n"
    "i = n.arange(5)[:, None]; j = n.arange(401)[None, :]\n"
    "s = n.sin(1.0 + 0.7 * j + 2.3 * i * j) * (1 + i)\n"
    "f['slopes'] = s\n"
    "f['single'] = s.astype('f4')\n"
    "f['mas'] = 1e3 * s; f['mas'].attrs['units'] = n.bytes_('mas')\n"
    "f['rad'] = s * n.pi / 648000; f['rad'].attrs['units'] = n.bytes_('rad')\n"
    "f['metres'] = s; f['metres'].attrs['units'] = n.bytes_('m')\n"
    "h = s.copy(); h[0, 400] = n.nan; h[3, 7] = n.inf; f['holes'] = h\n"
    "f['gone'] = n.full((2, 401), n.nan)\n"
    "f['empty'] = s[:0]; f['narrow'] = s[:, 1:]; f['turned'] = s.T; f['line'] = s[0]\n"
    "f['words'] = n.full((5, 401), b'x')\n"
    "f['many'] = n.resize(s, (300, 401))\n"
    "huge = f.create_dataset('huge', (700000, 401), 'f4', chunks=(1, 401)); huge[0] = s[0]\n"
    "f.close()\n"
    "def write(name, a, card=None):\n"
    "    cards = ['SIMPLE  = %20s' % 'T', 'BITPIX  = %20d' % -64, 'NAXIS   = %20d' % 2]\n"
    "    cards += ['NAXIS%d  = %20d' % (k + 1, e) for k, e in enumerate(a.shape[::-1])]\n"
    "    cards += [card] if card else []\n"
    "    data = a.astype('>f8').tobytes(); data += bytes(-len(data) % 2880)\n"
    "    head = ''.join(c.ljust(80) for c in cards + ['END']).ljust(2880).encode()\n"
    "    open(name, 'wb').write(head + data)\n"
    "write('t.fits', s); write('mas.data', 1e3 * s, \"BUNIT   = 'mas     '\")\n"
    "write('narrow.fits', s[:, 1:])\n";

static int begin(void)
{
    check_ok(bb_hdf5_library_start());
    run_python(script);
    return 0;
}

// Slope written by the script.
static double slope(bb_index frame, bb_index j)
{
    return sin(1.0 + 0.7 * (double)j + 2.3 * (double)(frame * j)) * (double)(1 + frame);
}

// Commands are the stored matrix times the frame's slopes, for every frame of every repetition.
TEST(frames_are_replayed_in_a_circle)
{
    const driver_case study = {CONFIG_AO_SMALL,
                               {PIPELINES, DRAWN, "realtime.pipeline=fp16",
                                "pipelines.2.slopes=fp32", "realtime.telemetry.file=t.h5"}};
    double row[SLOPES];
    float first[FRAMES][60];
    autocall(rig_close) rig self;
    rig_open(&self, &study, 2);
    assert_int_equal(self.loop->sets, FRAMES);
    for (bb_index j = 0; j < SLOPES; ++j) {
        assert_true(self.loop->reference[j] == 0.0F);
    }
    for (bb_index k = 0; k < 2 * FRAMES + 1; ++k) {
        const float *commands = step(&self, k);
        for (bb_index i = 0; i < 60 && k < FRAMES; ++i) {
            double y = 0.0;
            double magnitude = 0.0;
            const bb_coded_matrix *matrix = self.loop->matrices.stored[0].matrix;
            bb_coded_matrix_decode(matrix, i, 0, SLOPES, row);
            for (bb_index j = 0; j < SLOPES; ++j) {
                row[j] /= bb_coded_matrix_row_scale(matrix, i);
                y += row[j] * (double)(float)slope(k, j);
                magnitude += fabs(row[j] * slope(k, j));
            }
            check_close((double)commands[i], y, 0x1p-24 * 60.0, magnitude);
            first[k][i] = commands[i];
        }
        assert_memory_equal(commands, first[k % FRAMES], sizeof first[0]);
    }
}

static void load(const char *file, const char *dataset, float values[FRAMES * SLOPES])
{
    const bb_telemetry_config config = {file, dataset};
    autorelease(bb_telemetry_file) telemetry;
    bb_index frames = 0;
    check_ok(bb_telemetry_file_inspect(&config, SLOPES, &frames));
    check_ok(bb_telemetry_file_load(&config, SLOPES, &telemetry));
    assert_int_equal(frames, FRAMES);
    assert_int_equal(telemetry.frames, FRAMES);
    assert_int_equal(telemetry.slopes, SLOPES);
    memcpy(values, telemetry.values, FRAMES * SLOPES * sizeof *values);
}

TEST(values_are_those_of_the_file)
{
    static const struct {
        const char *file, *dataset;
        double bound;
    } cases[] = {
        {"t.h5", NULL, 0.0},      {"t.h5", "/slopes", 0.0}, {"t.h5", "single", 0.0},
        {"t.h5", "mas", 0x1p-23}, {"t.h5", "rad", 0x1p-23},
#ifdef BB_HAVE_CFITSIO
        {"t.fits", NULL, 0.0},    {"t.fits", "1", 0.0},     {"mas.data", NULL, 0x1p-23},
#endif
    };
    autofree float *values = new_array(float, FRAMES *SLOPES);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        load(cases[k].file, cases[k].dataset, values);
        for (bb_index i = 0; i < FRAMES * SLOPES; ++i) {
            // numpy and libm differ in the last bit of a sine
            const double expected = slope(i / SLOPES, i % SLOPES);
            check_close((double)values[i], expected, 0x1p-24 + cases[k].bound,
                        fabs(expected) + 1e-9);
        }
    }
}

// Two of five frames hold the previous commands; the comparison uses a finite one.
TEST(frames_that_are_not_finite_hold_commands)
{
    static const char *const datasets[] = {FROM("holes"), FROM("gone"), FROM("slopes")};
    static const bb_index held[] = {8, 20, 0};
    for (int k = 0; k < 3; ++k) {
        const driver_case study = {CONFIG_AO_SMALL,
                                   {PIPELINES, DRAWN, "realtime.frames=20", "realtime.rate_hz=0",
                                    "realtime.warm_up_frames=0", datasets[k]}};
        autorelease(bb_realtime_measurement) measured;
        autocall(rig_close) rig self;
        rig_open(&self, &study, 2);
        check_ok(bb_frame_loop_measure(self.loop, &measured));
        assert_int_equal(measured.count, 20);
        assert_int_equal(measured.held, held[k]);
        assert_true(k == 1 ? isnan(self.loop->distance)
                           : self.loop->distance > 0.0 && self.loop->distance < 1e-6);
    }
}

TEST(what_cannot_be_replayed_is_said)
{
    static const struct {
        const char *file, *dataset;
        bb_status status;
        const char *message;
    } cases[] = {
        {"none.h5", NULL, BB_IO, "realtime.telemetry: "},
        {"script.py", NULL, BB_IO, "not an HDF5 file"},
        {"t.h5", "slope", BB_IO, "no dataset of this name (the file has /slopes)"},
        {"t.h5", "narrow", BB_INVALID,
         "realtime.telemetry: 't.h5', 'narrow': 5 frames of 400 slopes, expected 401 slopes per "
         "frame"},
        {"t.h5", "turned", BB_INVALID,
         "401 frames of 5 slopes, expected 401 slopes per frame: is it transposed?"},
        {"t.h5", "line", BB_INVALID, "has 1 axes, expected [rows][columns]"},
        {"t.h5", "empty", BB_INVALID, "has 0 rows and 401 columns, expected 1 to 268435456"},
        {"t.h5", "words", BB_INVALID, "is not numeric"},
        {"t.h5", "metres", BB_INVALID, "values in 'm', expected one of: arcsec, mas, rad"},
        {"t.h5", "huge", BB_INVALID,
         "700000 frames of 401 slopes, expected at most 669415 frames (limit: 268435456 values)"},
#ifdef BB_HAVE_CFITSIO
        {"narrow.fits", NULL, BB_INVALID,
         "'narrow.fits', 'first image': 5 frames of 400 slopes, expected 401"},
#endif
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        const bb_telemetry_config config = {cases[k].file, cases[k].dataset};
        bb_telemetry_file telemetry;
        bb_index frames;
        check_fails(bb_telemetry_file_inspect(&config, SLOPES, &frames), cases[k].status,
                    cases[k].message);
        check_fails(bb_telemetry_file_load(&config, SLOPES, &telemetry), cases[k].status,
                    cases[k].message);
        assert_null(telemetry.values);
    }
}

// A wrong number of slopes for a study's own reconstructor is refused before the solve, by `check`
// too.
TEST(slopes_are_those_of_the_study)
{
    const char *const wrong[2][PROGRAM_ARGUMENTS] = {
        {"realtime", CONFIG_AO_SMALL, PIPELINES, FROM("slopes"), "-q", NULL},
        {"check", CONFIG_AO_SMALL, PIPELINES, FROM("slopes"), NULL}};
    const char *const right[2][PROGRAM_ARGUMENTS] = {
        {"realtime", CONFIG_AO_SMALL, PIPELINES, "realtime.telemetry.file=own.h5",
         "realtime.frames=40", "realtime.rate_hz=0", "-o", "own-frames.h5", "-q", NULL},
        {"check", CONFIG_AO_SMALL, PIPELINES, "realtime.telemetry.file=own.h5", NULL}};
    char command[200];
    rig self;
    rig_open(&self, CASE(CONFIG_AO_SMALL, {PIPELINES}), 1);
    const bb_index n = self.loop->matrices.slopes;
    rig_close(&self);
    (void)snprintf(command, sizeof command,
                   "/usr/bin/python3 -c \"import h5py, numpy as n; h5py.File('own.h5', "
                   "'w')['slopes'] = n.cos(n.arange(7 * %td)).reshape(7, %td)\"",
                   n, n);
    assert_int_equal(system(command), 0);
    for (int k = 0; k < 2; ++k) {
        program_call(wrong[k], &run);
        program_expect(&run, 2, "realtime.telemetry: 't.h5', 'slopes': 5 frames of 401 slopes");
        program_call(right[k], &run);
        program_expect(&run, 0,
                       k == 0 ? "slopes from 7 frames of 'own.h5', replayed repeatedly"
                              : "7 frames of 'own.h5'");
    }
}

// Peak memory of a loop dominated by its file, without the reader's mapped memory.
TEST(a_plan_holds_the_file)
{
    const driver_case study = {
        CONFIG_AO_SMALL,
        {PIPELINES, DRAWN, "realtime.pipeline=fp16", "realtime.frames=100", FROM("many")}};
    const bb_ao_extent extent = {.threads = 2.0};
    autorelease(bb_realtime_measurement) measured;
    autocall(rig_close) rig self;
    const double peak = rig_peak(&self, &study, &measured);
    const bb_ao_study *ao = bb_config_study(self.config);
    const double need = bb_ao_realtime_need(ao, &extent, 300, (bb_need){0}).host_bytes;
    const double reading =
        bb_telemetry_file_need(&ao->realtime.telemetry, 300.0 * SLOPES).host_bytes;
    print_message("peak %.0f, need %.0f, of which a reader %.0f\n", peak, need, reading);
    assert_true(reading == 8.0 * 300.0 * SLOPES);
    assert_true(peak <= need && need - reading <= 2.0 * peak);
}

static bb_status load_alone(void *context)
{
    autorelease(bb_telemetry_file) telemetry;
    const bb_status status = bb_telemetry_file_load(context, SLOPES, &telemetry);
    return status;
}

static bb_status open_alone(void *context)
{
    bb_status status = BB_OK;
    const rig *self = context;
    autoptr(bb_frame_loop) loop = NULL;
    BB_TRY(make_loop(self->loop->study, self->loop->pipeline, 1, &self->cpu, &loop));
done:
    return status;
}

TEST(no_failed_allocation_is_lost)
{
    bb_telemetry_config files[] = {{"t.h5", "mas"}, {"t.fits", NULL}};
    const driver_case study = {
        CONFIG_AO_SMALL, {PIPELINES, "realtime.size={commands: 5, slopes: 401}", FROM("slopes")}};
    autocall(rig_close) rig self;
    bb_threads_stop();
    allocation_walk("telemetry in HDF5", load_alone, &files[0], 1, 1);
#ifdef BB_HAVE_CFITSIO
    allocation_walk("telemetry in FITS", load_alone, &files[1], 1, 1);
#endif
    rig_open(&self, &study, 1);
    bb_threads_stop();
    allocation_walk("a loop of telemetry", open_alone, &self, 1, 5);
}

TEST_GROUP(.begin = begin, .has_folder = true);
