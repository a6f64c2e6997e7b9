// SPDX-License-Identifier: Apache-2.0
//
// Tables of machines: derived numbers, refused files, and statements of Bamakhrama et al. (2019),
// section 4.1 and Figure 4, checked with the shipped table.
#include "sim/input/hdf5_library.h"
#include "sim/report/machine_table.h"
#include "sim/report/plot.h"
#include "tests/sim/fixture.h"

#define ROWS                                                                                       \
    "title: two\nmachines:\n"                                                                      \
    "  - {name: fast, kind: gpu, year: 2020, single_gflop_per_s: 1000, memory: HBM2,\n"            \
    "     memory_gb_per_s: 600, memory_gb: 16, power_w: 250, source: a sheet, price_usd: 2000,\n"  \
    "     price_year: 2021, price_source: a list}\n"                                               \
    "  - {name: slow, kind: fpga, year: 2018, single_gflop_per_s: 20, memory: HBM2,\n"             \
    "     memory_gb_per_s: 100, memory_gb: 8, source: a sheet}\n"

static double number_of(const bb_results *results, const char *name, const char *machine)
{
    const bb_dataset *names = dataset_at(results, "machines/machine");
    const bb_dataset *numbers = dataset_in(results, "machines", name);
    for (bb_index m = 0; m < names->count; ++m) {
        if (strcmp(names->texts[m], machine) == 0) {
            return numbers->numbers[m];
        }
    }
    fail_msg("no machine %s", machine);
    return NAN;
}

// Half the bandwidth in bytes, or the peak if that is less.
TEST(rates_follow_from_the_numbers)
{
    write_text("table.yaml", ROWS);
    autoptr(bb_results) results = empty_results();
    check_ok(bb_machine_table_read("table.yaml", results));
    check_close(number_of(results, "product_flops_per_s", "fast"), 300e9, 1e-15, 300e9);
    check_close(number_of(results, "product_flops_per_usd", "fast"), 150e6, 1e-15, 150e6);
    check_close(number_of(results, "product_flops_per_w", "fast"), 1.2e9, 1e-15, 1.2e9);
    check_close(number_of(results, "single_flops_per_s", "fast"), 1e12, 1e-15, 1e12);
    check_close(number_of(results, "product_flops_per_s", "slow"), 20e9, 1e-15, 20e9);
    assert_true(isnan(number_of(results, "product_flops_per_usd", "slow")));
    assert_true(isnan(number_of(results, "product_flops_per_w", "slow")));
}

static void expect_refused(const char *text, const char *expected)
{
    write_text("table.yaml", text);
    autoptr(bb_results) results = empty_results();
    check_fails(bb_machine_table_read("table.yaml", results), BB_INVALID, expected);
}

TEST(a_price_needs_its_year_and_its_source)
{
#define ROW                                                                                        \
    "title: one\nmachines:\n  - {name: a, kind: cpu, year: 2020, single_gflop_per_s: 1, memory: "  \
    "DDR4, memory_gb_per_s: 1, memory_gb: 1, source: s"
    expect_refused(ROW ", price_usd: 5}\n",
                   "machines[0] (a): set all of price_usd, price_year and");
    expect_refused(ROW ", price_usd: 5, price_year: 2020}\n", "price_source, or none of them");
    expect_refused(ROW ", price_usd: 5, price_source: p}\n", "price_year");
    expect_refused(ROW ", price_year: 2020, price_source: p}\n", "price_usd");
    expect_refused(ROW ", price_usd: 0, price_year: 2020, price_source: p}\n", "price_usd");
    expect_refused(ROW ", power: 3}\n", "power");
    expect_refused("title: one\nmachines: []\n", "machines");
#undef ROW
}

TEST(a_picture_says_what_it_leaves_out)
{
    bb_plot_scene scene = {0};
    write_text("table.yaml", ROWS);
    autoptr(bb_results) results = empty_results();
    check_ok(bb_machine_table_read("table.yaml", results));
    scene.results = results;
    for (int wide = 0; wide < 2; ++wide) {
        autorelease(bb_figure)
            figure = {.format = BB_FIGURE_SVG, .width_cm = wide ? 17.0 : 8.5, .height_cm = NAN};
        check_ok(bb_plot_draw(&scene, "machines", &figure));
        assert_true(wide == (figure.height_cm < figure.width_cm));
        const char *data = bb_text_string(&figure.data);
        // First machine: 60 GFLOP/s at 0.1 operations per byte, the ridge at 1000 / 600.
        assert_non_null(strstr(data,
                               "# roof 0 0\n# operations per byte, rate\n0.1 60\n1.66667 1000\n"
                               "100 1000\n"));
        assert_non_null(strstr(data, "# product 0 0\n# operations per byte, rate\n0.5 300\n"));
        assert_non_null(
            strstr(data, "# roof 1 0\n# operations per byte, rate\n0.1 30\n1.66667 500\n"));
        assert_non_null(strstr(data, "# product 1 0\n# operations per byte, rate\n0.5 150\n"));
        assert_non_null(strstr(data, "# product 2 0\n# operations per byte, rate\n0.5 1.2\n"));
        assert_non_null(strstr(data, "# product 0 1\n# operations per byte, rate\n0.5 20\n"));
        assert_null(strstr(data, "# product 1 1\n"));
        assert_null(strstr(data, "# product 2 1\n"));
        assert_non_null(
            strstr(bb_text_string(&figure.script), "Without a price in the table: slow."));
    }
}

// Section 4.1. Statements on FPGAs cannot be checked, since no prices are published; the test
// checks the prices at which they would hold.
TEST(the_table_shows_what_its_seed_saw)
{
    autoptr(bb_results) results = empty_results();
    check_ok(bb_machine_table_read(BB_SOURCE_DIR "/configs/machines.yaml", results));
    static const char *const hbm2[] = {"Tesla P100 PCIe", "Tesla V100 PCIe", "Stratix 10 MX 2100"};
    static const char *const others[] = {"Xeon Platinum 8280", "EPYC 7742", "GeForce GTX 1080 Ti"};
    for (int i = 0; i < 3; ++i) { // 1: memory on the package is best
        for (int j = 0; j < 3; ++j) {
            assert_true(number_of(results, "product_flops_per_s", hbm2[i]) >
                        number_of(results, "product_flops_per_s", others[j]));
        }
    }
    const double fpga = number_of(results, "product_flops_per_s", "Stratix 10 MX 2100");
    assert_true(isnan(number_of(results, "price_usd", "Stratix 10 MX 2100")));
    // 2: worse per dollar than the worst GPU from 6,258 dollars, and than a processor from 17,374.
    const double gpu = number_of(results, "product_flops_per_usd", "Tesla V100 PCIe");
    const double cpu = number_of(results, "product_flops_per_usd", "EPYC 7742");
    check_close(fpga / gpu, 6258.0, 1e-3, 6258.0);
    check_close(fpga / cpu, 17374.0, 1e-3, 17374.0);
    // 3: P100 and V100 change places.
    assert_true(number_of(results, "product_flops_per_s", "Tesla P100 PCIe") <
                number_of(results, "product_flops_per_s", "Tesla V100 PCIe"));
    assert_true(number_of(results, "product_flops_per_usd", "Tesla P100 PCIe") > 1.5 * gpu);
}

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true);
