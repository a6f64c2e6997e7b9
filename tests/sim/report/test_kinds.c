// SPDX-License-Identifier: Apache-2.0
//
// Every kind of picture in every format from small runs of the program, and from data written
// manually for runs that need another machine.
#include "sim/input/hdf5_library.h"
#include "sim/output/reader.h"
#include "sim/report/gnuplot.h"
#include "sim/report/plot.h"
#include "tests/sim/fixture.h"
#include "tests/sim/program.h"

#include <sys/stat.h>

// All formats, half of them at each of two sizes; one at a time with slow sanitizers.
#ifdef BB_SANITIZED
enum { FORMATS_A_KIND = 1 };
#else
enum { FORMATS_A_KIND = 4 };
#endif

static void draw(const char *file, const char *kind)
{
    static const char *const outputs[] = {"a.pdf", "a.svg", "a.png", "b.tex"};
    static int drawn;
    struct stat about;
    for (int i = 0; i < FORMATS_A_KIND; ++i) {
        const int f = drawn++ % 4;
        CALL_OK("plot", file, "--kind", kind, "-o", outputs[f], "--size", f % 2 == 0 ? "8.5" : "17",
                "--force", "-q");
        assert_int_equal(stat(outputs[f], &about), 0);
        assert_true(about.st_size > 1000);
    }
}

static void list_has(const char *file, const char *expected)
{
    CALL_EXPECT(0, expected, "plot", "--list", file);
}

static void read_scene(const char *file, bb_results **results, bb_plot_scene *out)
{
    check_ok(bb_reader_read_all(file, "S_", results));
    out->results = *results;
    out->experiment =
        bb_experiment_find(&bb_experiments, bb_results_note_text(*results, "", "experiment"));
}

static void make(const bb_plot_scene *scene, const char *kind, bb_figure *out)
{
    *out = (bb_figure){.format = BB_FIGURE_SVG, .width_cm = 8.5, .height_cm = NAN};
    check_ok(bb_plot_draw(scene, kind, out));
}

static void has(const bb_text *text, const char *expected)
{
    if (strstr(bb_text_string(text), expected) == NULL) {
        print_error("no '%s'\n", expected);
        fail();
    }
}

static void run_ao(void)
{
    CALL_OK("run", BB_SOURCE_DIR "/configs/ao/quick.yaml", "sensors.lenslets=6",
            "solver.spectrum.matrix=true", "pipelines.4.draws=3", "solver.tile=32",
            "pipelines.1.name=a'`touch pwned`{<b>}^_%", "-o", "ao.h5", "-q");
}

// The brightest row of the reference's image, starting at its first pixel.
static void images_are_those_of_the_file(const bb_plot_scene *scene)
{
    autorelease(bb_figure) figure;
    char line[128];
    const bb_dataset *psf = bb_results_find(scene->results, "results/psf");
    make(scene, "psf", &figure);
    (void)snprintf(line, sizeof line, "# image 0\n# rows of y, columns of x\n%.4g %.4g ",
                   psf->numbers[0], psf->numbers[1]);
    has(&figure.data, line);
    (void)snprintf(line, sizeof line, "# difference 1\n# rows of y, columns of x\n%.4g ",
                   fabs(psf->numbers[psf->count / psf->shape[0]] - psf->numbers[0]));
    has(&figure.data, line);
    assert_null(strstr(figure.data.data, "# difference 0"));
}

static void spectra_have_all_eigenvalues(const bb_plot_scene *scene)
{
    autorelease(bb_figure) figure;
    char line[128];
    const bb_dataset *values = bb_results_find(scene->results, "spectrum/eigenvalue");
    make(scene, "spectrum", &figure);
    (void)snprintf(line, sizeof line, "# eigenvalues\n# rank, eigenvalue\n0 %.9g\n1 %.9g\n",
                   values->numbers[0], values->numbers[1]);
    has(&figure.data, line);
    has(&figure.script, "'tf32, fp16'");
}

// hp2-band-3: sp within three tiles of the diagonal, hp2 beyond, none above it.
static void maps_have_the_variants_of_the_policy(const bb_plot_scene *scene)
{
    autorelease(bb_figure) figure;
    const bb_dataset *map = dataset_at(scene->results, "tiles/variant_6");
    const bb_index tiles = map->shape[0];
    const char *const *variants =
        (const char *const *)bb_results_find(scene->results, "tiles/variant")->texts;
    assert_true(tiles >= 5);
    assert_string_equal(variants[(int)map->numbers[2 * tiles]], "sp");
    assert_string_equal(variants[(int)map->numbers[3 * tiles]], "hp2");
    assert_true(isnan(map->numbers[1]));
    assert_null(bb_results_find(scene->results, "tiles/variant_1"));
    make(scene, "tiles", &figure);
    has(&figure.data, "# tiles 6\n# rows and columns of tiles, colour of the variant\n0 nan ");
    has(&figure.data, "\n2 0 0 0 nan");
    has(&figure.script, "0 '#440154', 1 '");
}

static void budgets_stack_their_terms(const bb_plot_scene *scene)
{
    autorelease(bb_figure) figure;
    char line[128];
    const bb_dataset *budget = bb_results_find(scene->results, "results/error_budget_nm");
    make(scene, "budget", &figure);
    (void)snprintf(line, sizeof line, "-0.4000 %.4f %.9g 0\n", -0.4 + 0.92 * 0.4,
                   budget->numbers[0]);
    has(&figure.data, line);
}

TEST_FULL(ao_gives_its_kinds)
{
    static const char *const kinds[] = {"pareto", "loss-against-bits", "draws",
                                        "psf",    "spectrum",          "budget"};
    autoptr(bb_results) results = NULL;
    bb_plot_scene scene = {.step = 0};
    run_ao();
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
        draw("ao.h5", kinds[k]);
    }
    assert_int_equal(access("pwned", F_OK), -1);
    CALL_OK("plot", "ao.h5", "--kind", "pareto", "-o", "n.svg");
    assert_int_equal(system("grep -qF \"touch pwned\\`{&lt;b>}^_%\" n.svg"), 0);
    // Viewers must not interpolate the pixels of a map.
    CALL_OK("plot", "ao.h5", "--kind", "tiles", "-o", "t.svg");
    assert_int_equal(system("grep -q \"<image style='image-rendering:pixelated' x=\" t.svg && "
                            "! grep -q '<image x=' t.svg"),
                     0);
    list_has("ao.h5", "not available for this file:\n");
    read_scene("ao.h5", &results, &scene);
    images_are_those_of_the_file(&scene);
    spectra_have_all_eigenvalues(&scene);
    maps_have_the_variants_of_the_policy(&scene);
    budgets_stack_their_terms(&scene);
}

// The map of a step is the input of that step, relative to the water like the last one.
static void heat_is_drawn_at_any_step(bb_plot_scene *scene)
{
    autorelease(bb_figure) figure;
    autorelease(bb_figure) last;
    char value[64];
    const bb_dataset *inputs = bb_results_find(scene->results, "operators/S_8");
    const bb_dataset *rises = bb_results_find(scene->results, "temperature/exposure_8");
    const bb_index steps = inputs->shape[0];
    const bb_index cells = inputs->shape[1];
    scene->exposure = "8";
    make(scene, "heat", &last);
    scene->step = steps;
    make(scene, "heat", &figure);
    assert_string_equal(bb_text_string(&figure.data), bb_text_string(&last.data));
    bb_figure_release(&figure);
    scene->step = 1;
    make(scene, "heat", &figure);
    has(&figure.script, "light step 1 of ");
    const bb_dataset *x = bb_results_find(scene->results, "temperature/x");
    const bb_dataset *y = bb_results_find(scene->results, "temperature/y");
    bb_index hottest = cells / 2; // among the drawn ones
    for (bb_index cell = 0; cell < x->count * y->count; ++cell) {
        const double radius = hypot(x->numbers[cell % x->count], y->numbers[cell / x->count]);
        if (radius < 150.0 && inputs->numbers[cell] > inputs->numbers[hottest]) {
            hottest = cell;
        }
    }
    const double level = rises->numbers[hottest] - inputs->numbers[(steps - 1) * cells + hottest];
    (void)snprintf(value, sizeof value, " %.5g ", inputs->numbers[hottest] + level);
    has(&figure.data, value);
    bb_figure_release(&figure);
    scene->step = steps + 1;
    check_fails(bb_plot_draw(scene, "heat", &figure), BB_INVALID, ", expected 1 to ");
    bb_figure_release(&figure);
    scene->exposure = "9";
    check_fails(bb_plot_draw(scene, "heat", &figure), BB_INVALID,
                "no temperatures of this exposure");
}

TEST_FULL(wafer_gives_its_kinds)
{
    static const char *const kinds[] = {"pareto", "loss-against-bits", "overlay", "field", "heat",
                                        "probes"};
    autoptr(bb_results) results = NULL;
    bb_plot_scene scene = {.step = 0};
    autorelease(bb_figure) figure;
    char line[128];
    CALL_OK("run", BB_SOURCE_DIR "/configs/wafer/quick.yaml", "mesh.spacing_mm=5",
            "response.slit_points={columns: 3, rows: 3}", "metrology={columns: 3, rows: 5}",
            "probes=[{name: edge, x_mm: 100, y_mm: 0}]", "--dump", "inputs", "-o", "wafer.h5",
            "-q");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
        draw("wafer.h5", kinds[k]);
    }
    read_scene("wafer.h5", &results, &scene);
    make(&scene, "overlay", &figure);
    // The first point is drawn with its displacement, on the study's wafer and fields.
    const double *place = bb_results_find(results, "view/point_mm")->numbers;
    const double *raw = bb_results_find(results, "view/raw_nm")->numbers;
    (void)snprintf(line, sizeof line, "dx [nm], dy [nm]\n%.6g %.6g %.6g %.6g\n", place[0], place[1],
                   raw[0], raw[1]);
    has(&figure.data, line);
    has(&figure.script, "set object circle at 0,0 size first 150 ");
    has(&figure.script, " size 26,33 clip");
    bb_figure_release(&figure);
    make(&scene, "heat", &figure);
    has(&figure.script, "last light step of exposure 14.");
    heat_is_drawn_at_any_step(&scene);
}

static const char late[] =
    "experiment: wafer\nwafer: {diameter_mm: 100.0}\nclamp: {spacing_mm: 10.0}\n"
    "mesh: {spacing_mm: 5.0, step_ms: 2.0}\n"
    "scan: {fields: [0, 1], light_steps: 12, dark_steps: 4, usable_radius_mm: 48.0}\n"
    "response: {grid: {columns: 16, rows: 16}, slit_points: {columns: 3, rows: 3}}\n"
    "metrology: {columns: 5, rows: 5}\npipelines:\n"
    "  - {name: reference, storage: fp64, multiply: fp64, accumulate: fp64}\n"
    "  - {name: late, storage: fp32, multiply: fp32, accumulate: fp64, delivery: {late_steps: "
    "4}}\n";

// The loss of late corrections is their residual; the numerical error is 1e-7 nm.
TEST(late_corrections_show_their_residual)
{
    static const char *const kinds[] = {"overlay", "field"};
    autoptr(bb_results) results = NULL;
    bb_plot_scene scene = {.step = 0};
    bb_figure figure;
    char line[128];
    write_text("late.yaml", late);
    CALL_OK("run", "late.yaml", "-o", "late.h5", "-q");
    read_scene("late.h5", &results, &scene);
    const double *place = bb_results_find(results, "view/point_mm")->numbers;
    const double *residual = bb_results_find(results, "view/residual_1_nm")->numbers;
    const bb_dataset *field = bb_results_find(results, "results/point_field");
    assert_true(hypot(residual[0], residual[1]) > 0.1);
    for (int k = 0; k < 2; ++k) {
        make(&scene, kinds[k], &figure);
        has(&figure.script, "missed");              // the note, in lines
        bb_index i = k == 0 ? 0 : field->count - 1; // field with the largest displacement
        (void)snprintf(line, sizeof line, "%.6g %.6g %.6g %.6g\n", place[3 * i], place[3 * i + 1],
                       residual[3 * i], residual[3 * i + 1]);
        has(&figure.data, line);
        bb_figure_release(&figure);
    }
}

// Value of a map [planes][rows][columns].
static double map_value(const bb_plot_scene *scene, const char *name, bb_index plane, bb_index row,
                        bb_index column)
{
    char path[64];
    (void)snprintf(path, sizeof path, "maps/%s", name);
    const bb_dataset *map = dataset_at(scene->results, path);
    const bb_index columns = map->shape[map->rank - 1];
    return map->numbers[(plane * map->shape[map->rank - 2] + row) * columns + column];
}

static void maps_of_fringes_are_those_of_the_file(const bb_plot_scene *scene)
{
    autorelease(bb_figure) figure;
    char text[64];
    const bb_index row = 40, column = 24;
    make(scene, "unwrapped", &figure);
    has(&figure.data, "# map 2\n# rows of the camera, horizontal columns\nnan nan ");
    has(&figure.script, "'fp16'");
    (void)snprintf(text, sizeof text, " %.5g %.5g ", map_value(scene, "unwrapped", 2, row, column),
                   map_value(scene, "unwrapped", 2, row, column + 1));
    has(&figure.data, text);
    assert_null(strstr(figure.script.data, "fine fringes look coarser"));
    // Rows go down: the first is the highest of the axis.
    has(&figure.script, "set yrange [59.5:-0.5]");
    bb_figure_release(&figure);
    make(scene, "phase-error", &figure);
    (void)snprintf(text, sizeof text, "%.5g ", fabs(map_value(scene, "error", 1, row, column)));
    has(&figure.data, text);
    has(&figure.script, "set logscale cb");
    bb_figure_release(&figure);
    make(scene, "interferogram", &figure);
    (void)snprintf(text, sizeof text, " %.5g ", map_value(scene, "interferogram", 0, row, column));
    has(&figure.data, text);
    has(&figure.script, "set cbrange [0:1]");
    bb_figure_release(&figure);
    // Three parts: the last has the brightest colour.
    make(scene, "parts", &figure);
    has(&figure.data, " 0.33333 ");
    has(&figure.data, " 1 1 1");
}

TEST_FULL(fringe_gives_its_kinds)
{
    static const char *const kinds[] = {"pareto",    "interferogram", "wrapped",
                                        "unwrapped", "phase-error",   "parts"};
    static const char study[] =
        "experiment: fringe\nsize: {columns: 64, rows: 60}\n"
        "surface: {zernike: [{j: 4, rms_nm: 300.0}]}\n"
        "pupil: {kind: annulus, obstruction: 0.25, spiders: {count: 3, width_px: 3.0}}\n"
        "pipelines: [{name: reference, arithmetic: fp64}, {name: fp32, arithmetic: fp32},\n"
        "  {name: fp16, arithmetic: fp32, storage: fp16}]\n";
    autoptr(bb_results) results = NULL;
    bb_plot_scene scene = {.step = 0};
    write_text("fringe.yaml", study);
    CALL_OK("run", "fringe.yaml", "-o", "fringe.h5", "-q");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
        draw("fringe.h5", kinds[k]);
    }
    CALL_OK("run", "fringe.yaml", "detection.algorithm=none", "-o", "frameless.h5", "-q");
    list_has("frameless.h5", "a fringe file of 'bitbudget run' with frames");
    read_scene("fringe.h5", &results, &scene);
    maps_of_fringes_are_those_of_the_file(&scene);
}

// A loop with three bins: counts of a kind at its bins, and the deadline at its value.
TEST(latencies_stand_in_their_bins)
{
    static const char *const kinds[] = {"all", "light"};
    static const double bins[] = {0.0, 1.0, 2.0, 3.0};
    static const double counts[] = {0.0, 70.0, 2.0, 1.0, 0.0, 30.0, 0.0, 1.0};
    static const double worst[] = {3.7, 2.9};
    static const double ranks[] = {0.0, 1.0};
    const double deadline = 50.0;
    autorelease(bb_figure) figure;
    autoptr(bb_results) results = empty_results();
    check_ok(results_text_axis(results, "kind", "kind of step", 2, kinds));
    check_ok(results_values(results, "results/deadline_us", "us", "deadline", "", &deadline));
    check_ok(results_axis(results, "latency/bin_us", "us", "bin", 4, bins));
    check_ok(results_values(results, "latency/count", "1", "steps", "kind, bin_us", counts));
    check_ok(results_axis(results, "worst/rank", "1", "rank", 2, ranks));
    check_ok(results_values(results, "worst/latency_us", "us", "latency", "rank", worst));
    const bb_plot_scene scene = {.results = results};
    make(&scene, "latency", &figure);
    has(&figure.data, "# kind 0\n# latency, lower edge of the bin [us], steps\n1 70\n2 2\n3 1\n");
    has(&figure.data, "# kind 1\n# latency, lower edge of the bin [us], steps\n1 30\n3 1\n");
    has(&figure.data, "\n3.7\n2.9\n");
    has(&figure.script, "from first 50, graph 0 to first 50, graph 1");
    check_ok(bb_gnuplot_draw(&figure, "picture.svg", false, true, NULL));
}

// A shipped table, also by name; the list of studies does not include it.
TEST(a_table_of_machines_gives_its_picture)
{
    draw(BB_SOURCE_DIR "/configs/machines.yaml", "machines");
    assert_int_equal(setenv("BITBUDGET_SHARE", BB_SOURCE_DIR, 1), 0);
    draw("machines.yaml", "machines");
    CALL_OK("plot", "machines.yaml", "--kind", "machines", "-o", "m.svg", "-q");
    assert_int_equal(unsetenv("BITBUDGET_SHARE"), 0);
    // A table has no digest of results.
    assert_int_equal(system("grep -q 'as in the table' m.svg && ! grep -q ', results ' m.svg"), 0);
    list_has(BB_SOURCE_DIR "/configs/machines.yaml", "machines           rooflines");
    CALL_EXPECT(3, "nothing.yaml", "plot", "nothing.yaml", "--kind", "machines", "-o", "a.pdf",
                "--force");
    CALL_EXPECT(2, "use a file of 'bitbudget run'", "plot", BB_SOURCE_DIR "/configs/machines.yaml",
                "--kind", "pareto", "-o", "a.pdf", "--force");
}

// Recognised by content under any name; a study is not one.
TEST(tables_of_machines_are_known_by_content)
{
    static const char table[] = BB_SOURCE_DIR "/configs/machines.yaml";
    assert_int_equal(system("cp " BB_SOURCE_DIR "/configs/machines.yaml own.yml"), 0);
    list_has("own.yml", "machines           rooflines");
    CALL_EXPECT(2, "is a table of machines, not a study", "new", table, "copy.yaml");
    assert_int_not_equal(access("copy.yaml", F_OK), 0);
    CALL_EXPECT(3, "not an HDF5 file", "plot", "--list",
                BB_SOURCE_DIR "/tests/configs/small/ao.yaml");
    assert_int_equal(system("printf 'title: t\\nmachines: [{name: a}]\\n' > bad.yaml"), 0);
    CALL_EXPECT(2, "cannot plot 'bad.yaml': bad.yaml:", "plot", "--list", "bad.yaml");
    assert_null(strstr(run.printed, "\n\n"));
}

// The reference's first sample and the last age of the last pipeline and policy, exactly.
TEST_FULL(a_night_gives_its_pictures)
{
    autoptr(bb_results) results = NULL;
    bb_plot_scene scene = {0};
    autorelease(bb_figure) figure;
    char line[96];
    CALL_OK("run", BB_SOURCE_DIR "/tests/configs/small/night.yaml",
            "night.ages_minutes=[5.0, 20.0]",
            "pipelines=[{name: reference, arithmetic: dp}, {name: sp, arithmetic: sp}]", "-o",
            "night.h5", "--force", "-q");
    draw("night.h5", "night");
    draw("night.h5", "staleness");
    list_has("night.h5", "staleness");
    read_scene("night.h5", &results, &scene);
    make(&scene, "night", &figure);
    (void)snprintf(line, sizeof line, "%.9g %.9g\n",
                   bb_results_find(results, "night/time")->numbers[0],
                   bb_results_find(results, "night/strehl_moment")->numbers[0]);
    has(&figure.data, line);
    has(&figure.script, "reference of the moment");
    bb_figure_release(&figure);
    make(&scene, "staleness", &figure);
    const bb_dataset *aged = bb_results_find(results, "night/aged_loss");
    (void)snprintf(line, sizeof line, "20 %.9g\n",
                   aged->numbers[aged->count - 1] +
                       bb_results_find(results, "night/precision_loss")->numbers[1]);
    has(&figure.data, line);
}

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true);
