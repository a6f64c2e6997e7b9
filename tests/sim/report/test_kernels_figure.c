// SPDX-License-Identifier: Apache-2.0
//
// Bars of kernels: position of each bar, combination of two files, and refused files.
#include "sim/report/gnuplot.h"
#include "sim/report/plot.h"
#include "tests/sim/fixture.h"

#include <unistd.h>

enum { ROWS = 5 };

static const char *const cpu_names[ROWS] = {"kernel-add-sp-cpu", "kernel-add-dp-cpu",
                                            "kernel-gemv-transposed-sp-cpu", "gemv-fp32",
                                            "kernel-add-sp-opencl"};
static const char *const cpu_devices[ROWS] = {
    "AMD EPYC", "AMD EPYC", "AMD EPYC", "",
    "cpu-znver3-AMD EPYC, Portable Computing Language, driver 5.0"};
static const double cpu_shares[ROWS] = {0.8, 0.75, 0.5, NAN, 0.7};
static const double cpu_ratios[ROWS] = {0.5, 2.0, NAN, NAN, NAN};
static const char *const gpu_names[ROWS] = {"kernel-gemv-transposed-sp-cuda", "kernel-add-sp-cuda",
                                            "kernel-add-sp-opencl", "kernel-add-dp-cuda",
                                            "kernel-emit"};
static const char *const gpu_devices[ROWS] = {"NVIDIA H200, 580", "NVIDIA H200, 580",
                                              "NVIDIA H200, NVIDIA CUDA, driver 580",
                                              "NVIDIA H200, 580", ""};
static const double gpu_shares[ROWS] = {0.9, 0.95, 1.2, NAN, NAN};
static const double gpu_ratios[ROWS] = {NAN, 1.25, NAN, NAN, NAN};

static bb_results *make_results(const char *const *names, const char *const *devices,
                                const double *shares, const double *ratios)
{
    static const char *const against[ROWS] = {"copy", "copy", "read", "copy", "copy"};
    static const char *const libraries[ROWS] = {"axpy", "axpy", "", "", ""};
    bb_results *results = empty_results();
    check_ok(results_text_axis(results, "results/benchmark", "benchmark", ROWS, names));
    check_ok(results_texts(results, "results/device", "device", "benchmark", devices));
    check_ok(results_texts(results, "results/against", "against", "benchmark", against));
    check_ok(results_texts(results, "results/library", "library", "benchmark", libraries));
    check_ok(results_values(results, "results/kernel_share", "1", "share", "benchmark", shares));
    check_ok(results_values(results, "results/library_ratio", "1", "ratio", "benchmark", ratios));
    return results;
}

static bb_results *make_cpu(void)
{
    return make_results(cpu_names, cpu_devices, cpu_shares, cpu_ratios);
}

static bb_results *make_gpu(void)
{
    return make_results(gpu_names, gpu_devices, gpu_shares, gpu_ratios);
}

static void has(const bb_text *text, const char *expected)
{
    if (strstr(bb_text_string(text), expected) == NULL) {
        fail_msg("no '%s' in\n%s", expected, bb_text_string(text));
    }
}

static void has_not(const bb_text *text, const char *unexpected)
{
    assert_null(strstr(bb_text_string(text), unexpected));
}

static bb_figure make_figure(void)
{
    return (bb_figure){.format = BB_FIGURE_SVG, .width_cm = 17.0, .height_cm = NAN};
}

// Two series share a group of 0.8; a third row of the same file is not a kernel.
TEST(one_file_gives_the_panels_that_it_has)
{
    autoptr(bb_results) results = make_cpu();
    const bb_plot_scene scene = {.results = results};
    autorelease(bb_figure) figure = make_figure();
    check_ok(bb_plot_draw(&scene, "kernels", &figure));
    has(&figure.data, "-0.4000 -0.0320 0.8000 0 1.6000\n0.6000 0.9680 0.5000 0\n"
                      "0.0000 0.3680 0.7000 1\n");
    has(&figure.data, "-0.4000 -0.0320 0.7500 0 0.3750\n");
    has(&figure.script, "graph 0, first 0.35 to graph 1, first 0.61 behind");
    has_not(&figure.script, "first 0.45");
    has(&figure.script, "C, AMD EPYC");
    has(&figure.script, "PoCL, cpu-znver3-AMD EPYC");
    has(&figure.script, "gemv-transposed");
    has_not(&figure.script, "gemv-fp32");
    has(&figure.hovers, "add, SP, C, AMD EPYC: 0.80 of copy; axpy 1.60");
    check_ok(bb_gnuplot_draw(&figure, "picture.svg", false, true, NULL));
}

TEST(two_files_stand_in_one_picture)
{
    autoptr(bb_results) results = make_cpu();
    autoptr(bb_results) further = make_gpu();
    const bb_results *const more[] = {further};
    const bb_plot_scene scene = {.results = results, .more = more, .more_count = 1};
    autorelease(bb_figure) figure = make_figure();
    check_ok(bb_plot_draw(&scene, "kernels", &figure));
    has(&figure.data, "0.6000 0.9680 0.9000 2\n-0.4000 -0.0320 0.9500 2 0.7600\n"
                      "0.0000 0.3680 1.2000 3\n");
    has(&figure.script, "graph 0, first 0.35 to graph 1, first 0.61 behind");
    has(&figure.script, "graph 0, first 0.45 to graph 1, first 0.8 behind");
    has(&figure.script, "CUDA, NVIDIA H200");
    has(&figure.script, "NVIDIA OpenCL, NVIDIA H200");
    check_ok(bb_gnuplot_draw(&figure, "both.svg", false, true, NULL));
}

static void expect_refused(const bb_plot_scene *scene, const char *kind, double width_cm,
                           const char *expected)
{
    autorelease(bb_figure) figure = make_figure();
    figure.width_cm = width_cm;
    check_fails(bb_plot_draw(scene, kind, &figure), BB_INVALID, expected);
}

TEST(what_has_no_bar_is_refused)
{
    static const double nothing[ROWS] = {NAN, NAN, NAN, NAN, NAN};
    autoptr(bb_results) results = make_cpu();
    autoptr(bb_results) empty = make_results(cpu_names, cpu_devices, nothing, nothing);
    autoptr(bb_results) other = empty_results();
    const bb_results *const same[] = {results};
    const bb_results *const none[] = {other};
    expect_refused(&(bb_plot_scene){.results = empty}, "kernels", 17.0,
                   "no numbers in /results/kernel_share");
    expect_refused(&(bb_plot_scene){.results = results, .more = same, .more_count = 1}, "kernels",
                   17.0, "kernel-add-sp-cpu of C, AMD EPYC is in two files");
    expect_refused(&(bb_plot_scene){.results = results, .more = none, .more_count = 1}, "kernels",
                   17.0, "file 2 is not a file of 'bitbudget-bench'");
    expect_refused(&(bb_plot_scene){.results = results}, "kernels", 3.0,
                   "is too small for 1 by 2 panels");
}

// A kind for one file refuses further files.
TEST(other_kinds_take_one_file)
{
    static const double numbers[ROWS] = {1e9, 1e9, 1e9, 1e9, 1e9};
    autoptr(bb_results) results = make_cpu();
    check_ok(results_values(results, "results/roof_bytes_per_s", "byte s-1", "roof", "benchmark",
                            numbers));
    const bb_results *const more[] = {results};
    expect_refused(&(bb_plot_scene){.results = results, .more = more, .more_count = 1}, "roofline",
                   17.0, "several files need --kind kernels; 'roofline' draws one");
}

TEST_GROUP(.has_folder = true);
