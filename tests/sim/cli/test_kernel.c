// SPDX-License-Identifier: Apache-2.0
//
// bitbudget kernel and tune, end to end.
#include "sim/input/hdf5_library.h"
#include "tests/sim/command_line.h"
#include "tests/sim/fixture.h"

#include <hdf5.h>
#include <hdf5_hl.h>

static const bb_experiment_table none = {NULL, 0};

static const char scale_text[] = "// Elements times a factor.\n"
                                 "kernel Scale (a, b: vector T; factor: T)\n"
                                 "for k in a.size\n"
                                 "  b[k] = factor * a[k]\n";

TEST(kernels_are_checked_and_printed)
{
    write_text("scale.kernel", scale_text);
    write_text("scal.kernel", "kernel S (a: vector SP)\nfor k in a.size\n  a[k] = b[k]\n");
    expect("bitbudget kernel check scale.kernel T=SP", 0,
           "kernel Scale\nobjects:\n  a          vector of SP     read\n"
           "  b          vector of SP     written\nparameters:\n  factor     SP\n"
           "space:\n  Scale      over a.size\naccesses:\n");
    assert_non_null(strstr(printed, "reads  a[Scale.i(0)]\n"));
    assert_non_null(strstr(printed, "writes b[Scale.i(0)]\n"));
    assert_non_null(
        strstr(printed, "needed to run: datasets a, b (shape only); -p factor=VALUE\n"));
    expect("bitbudget kernel check scale T=SP", 0, "kernel Scale\n");
    expect("bitbudget kernel check scale.kernel T=DP2", 0, "vector of DP2");
    expect("bitbudget kernel check scale.kernel", 2, "scale.kernel:2:15: elementDataType 'T'");
    expect("bitbudget kernel check scale.kernel T=FP", 2, "unknown type 'FP'");
    expect("bitbudget kernel check scale.kernel T=SP U=DP", 2, "U=DP: the description has no type");
    expect("bitbudget kernel check scale.kernel T=SP T=DP", 2, "T=DP: T has two types");
    expect("bitbudget kernel check scale.kernel T", 2, "T: expected NAME=TYPE, as T=SP");
    expect("bitbudget kernel check scal.kernel", 2, "scal.kernel:3:");
    assert_non_null(strstr(printed, "bitbudget: kernel 'scal.kernel': 1 problem\n"));
    expect("bitbudget kernel check ./scal", 2, "./scal.kernel:3:");
    expect("bitbudget kernel check skale", 3, "no such file or shipped kernel");
    // XML is recognised by content: its own output under another name.
    expect("bitbudget kernel xml scale.kernel", 0, "<ParallelAlgorithm name=\"Scale\"");
    assert_int_equal(rename("printed", "other.kernel"), 0);
    expect("bitbudget kernel check other.kernel T=SP", 0, "kernel Scale\n");
    expect("bitbudget kernel source scale.kernel T=SP", 0, "void bb_body(");
    expect("bitbudget kernel source scale.kernel T=SP --device opencl", 0, "void bb_body(");
    expect("bitbudget kernel source scale.kernel T=SP --device cuda", 0, "__global__ void");
    expect("bitbudget kernel source scale.kernel T=SP --device gpu", 2, "one of cpu, opencl, cuda");
    expect("bitbudget kernel chek scale.kernel", 2, "list (did you mean check?)");
    expect("bitbudget kernel check scale.kernel T=SP -p factor=1", 2,
           "-p and --force need kernel run");
    expect("bitbudget kernel check scale.kernel T=SP --device cpu", 2, "remove --device");
    expect("bitbudget kernel xml scale.kernel T=SP", 2, "wrong number of operands (2)");
    expect("bitbudget kernel check", 2, "wrong number of operands (0)");
}

TEST(shipped_kernels_have_names)
{
    assert_int_equal(setenv("BITBUDGET_SHARE", BB_SOURCE_DIR, 1), 0);
    expect("bitbudget kernel list", 0, "gemv                  Matrix times vector: c = A b.\n");
    assert_non_null(
        strstr(printed, "listing2              Matrix times vector: c = A b, as the paper"));
    for (const char *line = printed; *line != '\0'; line += strcspn(line, "\n") + 1) {
        assert_true(strcspn(line, "\n") > 18); // each has a title
    }
    expect("bitbudget kernel check gemv T=SP", 0, "kernel MV\n");
    expect("bitbudget kernel check listing2 USED_FLOAT=DP", 0, "kernel MV\n");
    expect("bitbudget kernel check gemvv", 3, "or shipped kernel (did you mean gemv?)");
    expect("bitbudget kernel check ./gemv", 3, "cannot read './gemv'");
    assert_int_equal(setenv("BITBUDGET_SHARE", "/nowhere", 1), 0);
    expect("bitbudget kernel list", 3, "shipped kernels not found");
    assert_int_equal(unsetenv("BITBUDGET_SHARE"), 0);
}

static void expect_scaled(const char *name, double expected)
{
    double values[3] = {0};
    const hid_t file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    assert_true(H5LTread_dataset_double(file, "b", values) >= 0);
    assert_true(H5LTfind_dataset(file, "a") == 0);
    assert_true(H5Fclose(file) >= 0);
    assert_true(values[0] == expected && isnan(values[1]) && values[2] == -2.0 * expected);
}

static void expect_text(const char *name, const char *attribute, const char *expected)
{
    char text[400] = "";
    const hid_t file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    assert_true(H5LTget_attribute_string(file, "/", attribute, text) >= 0);
    assert_string_equal(text, expected);
    assert_true(H5Fclose(file) >= 0);
}

// By compiled code and, without a compiler, by the evaluator.
TEST(kernels_are_run_on_files)
{
    static const hsize_t shape = 3;
    static const double values[] = {1.0, NAN, -2.0};
    const hid_t file = H5Fcreate("a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5LTmake_dataset_double(file, "a", 1, &shape, values) >= 0);
    assert_true(H5LTmake_dataset_double(file, "b", 1, &shape, values) >= 0);
    assert_true(H5Fclose(file) >= 0);
    write_text("scale.kernel", scale_text);
#define RUN "bitbudget kernel run scale.kernel T=DP --in a.h5 -o "
    expect(RUN "b.h5 -p factor=0.3", 0, "output: b.h5\n");
    expect_scaled("b.h5", 0.3);
    expect(RUN "b.h5 -p factor=0.5", 3, "--force");
    expect(RUN "b.h5 -p factor=0.5 --force --variant default --threads 2", 0, "output: b.h5\n");
    expect_scaled("b.h5", 0.5);
    assert_int_equal(setenv("BB_CC", "/nowhere/cc", 1), 0);
    expect(RUN "e.h5 -p factor=0.3", 0, "kernel Scale is evaluated step by step");
    assert_int_equal(unsetenv("BB_CC"), 0);
    expect_scaled("e.h5", 0.3);
    expect(RUN "c.h5", 2, "scale.kernel:2:31: parameter factor (DP) has no value; set it with -p");
    expect(RUN "c.h5 -p facto=1", 2, "no parameter 'facto' (did you mean factor?)");
    expect(RUN "c.h5 -p factor=x", 2, "-p factor=x: parameter factor is of type DP");
    expect(RUN "c.h5 -p factor=1 --variant fast", 2, "'fast' is not a variant: use words as in");
    expect(RUN "c.h5 -p factor=1 --variant tile8", 2,
           "kernel Scale has no such variant on cpu: tiles must have 16 to 65536 points");
    expect(RUN "c.h5 -p factor=1 --variant tile64 --reorder", 2, "--variant selects the variant");
    expect(RUN "c.h5 -p factor=1 --deterministic --reorder", 2,
           "--deterministic selects the default");
    expect(RUN "v.h5 -p factor=0.3 --variant tile64", 0, "variant tile64 (given)");
    expect_scaled("v.h5", 0.3);
    expect_text("v.h5", "variant", "tile64");
    expect_text("v.h5", "variant_origin", "given");
    expect_text("b.h5", "variant_origin", "given");
    expect_text("e.h5", "variant", "tile4096");
    expect_text("e.h5", "variant_origin", "default");
    expect(RUN "c.h5 -p factor=1 --device gpu", 2, "expected one of cpu, opencl, cuda");
    expect(RUN "a.h5 -p factor=1 --force", 2, "output 'a.h5' is the input file 'a.h5'");
    write_text("given.yaml", "# no records\n");
    expect(RUN "given.yaml --wisdom given.yaml -p factor=1 --force", 2, "input file 'given.yaml'");
    expect(RUN "scale.kernel -p factor=1 --force", 2, "input file 'scale.kernel'");
    expect(RUN "none/c.h5 -p factor=1", 3, "No such file");
    expect("bitbudget kernel run scale.kernel T=SP --in a.h5 -o c.h5 -p factor=1", 2,
           "object a (vector of SP), dataset 'a' of 'a.h5': has 64-bit floats, which SP would");
    expect("bitbudget kernel run scale.kernel T=DP --in no.h5 -o c.h5 -p factor=1", 3, "'no.h5'");
    expect("bitbudget kernel run scale.kernel T=DP -o c.h5", 2, "needs --in IN.h5 and -o OUT.h5");
    // Facts known only for these sizes are printed at the access.
    write_text("shift.kernel", "kernel S (a, b: vector DP)\nfor k in a.size\n  b[k] = a[k + 1]\n");
    expect("bitbudget kernel run shift.kernel --in a.h5 -o c.h5", 2, "shift.kernel:3:10: ");
    assert_int_equal(access("c.h5", F_OK), -1);
}

// A run of the same kernel uses the variants found by tune, whatever the name of its file.
TEST(kernels_are_tuned)
{
    static const hsize_t shape = 1009;
    static double values[1009];
    const hid_t file = H5Fcreate("max.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    static const hsize_t plane[] = {17, 65};
    static double elements[17 * 65];
    assert_true(H5LTmake_dataset_double(file, "a", 1, &shape, values) >= 0);
    assert_true(H5LTmake_dataset_double(file, "A", 2, plane, elements) >= 0);
    assert_true(H5LTmake_dataset_double(file, "B", 2, plane, elements) >= 0);
    assert_true(H5LTmake_dataset_double(file, "C", 2, plane, elements) >= 0);
    assert_true(H5Fclose(file) >= 0);
    assert_int_equal(setenv("BITBUDGET_SHARE", BB_SOURCE_DIR, 1), 0);
#define TUNE "bitbudget tune add --set small --type DP --wisdom w.yaml"
#define ADD  " T=DP --in max.h5 --wisdom w.yaml"
    expect(TUNE " --budget 0", 0, "time limit reached: using the default");
    assert_int_equal(access("w.yaml", F_OK), -1);
    expect(TUNE, 0, "recording in w.yaml");
    assert_non_null(strstr(printed, "add                 DP   small "));
    expect(TUNE, 0, "recorded");
    expect("bitbudget kernel explain add" ADD, 0, "from: wisdom exact, set small of w.yaml\n");
    assert_non_null(strstr(printed, " taken\n"));
    expect("bitbudget kernel explain add T=SP --set small --wisdom w.yaml", 0, "from: default\n");
    assert_non_null(strstr(printed, " for other types\n"));
    expect("bitbudget kernel explain add T=DP --set A=70x20,B=70x20,C=70x20 --wisdom w.yaml", 0,
           "from: wisdom nearest, set small of w.yaml\n");
    expect("bitbudget kernel run add" ADD " -o sum.h5", 0, "(wisdom exact, set small of w.yaml)");
    expect_text("sum.h5", "variant_origin", "wisdom exact, set small of w.yaml");
    expect("bitbudget kernel run add T=DP --in max.h5 --deterministic -o own.h5", 0,
           "output: own.h5");
    expect_text("own.h5", "variant_origin", "default");
    expect_text("own.h5", "variant", "tile4096-rows16");
    // The same records as shipped ones, after a file with records of another kernel.
    assert_int_equal(system("mkdir -p configs/kernels/tuned && "
                            "cp w.yaml configs/kernels/tuned/here.yaml && "
                            "sed 's/program: [^,]*,/program: p,/' w.yaml > other.yaml"),
                     0);
    expect("bitbudget kernel explain add T=DP --in max.h5 --wisdom other.yaml", 0,
           "from: tuned, shipped for ");
    expect("bitbudget kernel run add T=DP --in max.h5 --wisdom other.yaml -o shipped.h5", 0,
           "(tuned, shipped for ");
    expect("bitbudget info", 0, " tuned variants, shipped for ");
    assert_int_equal(unlink("configs/kernels/tuned/here.yaml"), 0);
    write_text("torn.yaml", "- {version: 1, kernel: add}\n");
    expect("bitbudget kernel run add T=DP --in max.h5 --wisdom torn.yaml -o no.h5", 2,
           "torn.yaml:1");
    expect("bitbudget kernel run add T=DP --in max.h5 --wisdom none.yaml -o no.h5", 3,
           "'none.yaml' has no records");
    expect("bitbudget tune ad", 2, "there is no kernel 'ad'; did you mean add?");
    expect("bitbudget tune add --type HP", 2, "--type HP: use SP or DP");
    expect("bitbudget tune add --set tiny", 2, "--set tiny: use published, large");
    expect("bitbudget tune add --wisdom torn.yaml", 2, "torn.yaml:1");
    expect("bitbudget kernel explain add T=SP --set A=1", 2, "--set gives no size of B");
    expect("bitbudget kernel explain add T=SP --set D=1", 2, "has no object D");
    expect("bitbudget kernel explain add T=SP --set A=1y", 2, "expected columns and rows");
    write_text("scale.kernel", scale_text);
    expect("bitbudget kernel explain scale.kernel T=SP", 2, "has no benchmark data");
    expect("bitbudget kernel check add T=SP --variant tile64", 2, "--variant needs kernel run");
    expect("bitbudget kernel run add" ADD " -o no.h5 --set published", 2,
           "--set needs kernel explain");
    expect("bitbudget kernel source add T=SP --variant tile64", 0, "void bb_body(");
    expect("bitbudget kernel source add T=SP --wisdom w.yaml", 2, "need kernel run or explain");
    assert_int_equal(unsetenv("BITBUDGET_SHARE"), 0);
}

// Results of one set of options are not reused for another.
TEST_FULL(a_wider_search_goes_on)
{
#define MAX "bitbudget tune max --set small --type SP --wisdom o.yaml"
    expect(MAX " --exhaustive", 0, "max                 SP   small ");
    expect(MAX " --reorder", 0, "max                 SP   small ");
    assert_null(strstr(printed, "recorded"));
    expect(MAX " --reorder", 0, "recorded");
    expect(MAX " --exhaustive", 0, "recorded");
    expect(MAX, 0, "recorded");
}

// A user-defined kernel, with sizes or data: a run uses the variants found.
TEST_FULL(kernels_of_the_users_are_tuned)
{
    static const hsize_t shape = 700;
    static double values[700];
    static int rows[701];
    hsize_t starts = 701;
    const hid_t file = H5Fcreate("own.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    for (int i = 0; i <= 700; ++i) {
        rows[i] = i;
    }
    assert_true(H5LTmake_dataset_double(file, "a", 1, &shape, values) >= 0);
    assert_true(H5LTmake_dataset_double(file, "b", 1, &shape, values) >= 0);
    assert_true(H5LTmake_dataset_int(file, "start", 1, &starts, rows) >= 0);
    assert_true(H5Fclose(file) >= 0);
    write_text("scale.kernel", scale_text);
#define OWN "bitbudget tune scale.kernel T=DP --wisdom own.yaml"
    expect(OWN " --set a=700,b=700 -p factor=3", 0, "scale               DP   own ");
    expect(OWN " --set a=700,b=700", 0, "recorded");
    expect("bitbudget kernel explain scale.kernel T=DP --set a=700,b=700 --wisdom own.yaml", 0,
           "from: wisdom exact, set own of own.yaml\n");
    expect("bitbudget kernel run scale.kernel T=DP --in own.h5 -p factor=2 --wisdom own.yaml -o "
           "scaled.h5",
           0, "(wisdom exact, set own of own.yaml)");
    expect_text("scaled.h5", "variant_origin", "wisdom exact, set own of own.yaml");
    expect(OWN " --in own.h5", 0, "recorded"); // sizes are compared
    write_text("rows.kernel", "kernel Rows (start: vector INT32; a, b: vector T)\nfor r in b.size\n"
                              "  begin = start[r]\n"
                              "  s = sum (k in start[r + 1] - begin) a[begin + k]\n  b[r] = s\n");
    expect("bitbudget tune rows.kernel T=DP --wisdom own.yaml --set start=701,a=700,b=700", 2,
           "on the elements of start, not only on sizes; --in FILE.h5 reads them");
    expect("bitbudget tune rows.kernel T=DP --wisdom own.yaml --in own.h5", 0, "rows  ");
    write_text("pick.kernel", "kernel Pick (start: vector INT32; a, b: vector T)\nfor r in b.size\n"
                              "  b[r] = a[start[r]]\n");
    expect("bitbudget tune pick.kernel T=DP --wisdom own.yaml --set start=60,a=50,b=40", 0,
           "elements of start and other integers are random from 0 to 49; --in FILE.h5");
    expect("bitbudget tune scale.kernel T=DP U=SP --set a=9,b=9", 2,
           "U=SP: the description has no type");
    expect("bitbudget tune scale.kernel --set a=9,b=9", 2, "elementDataType 'T' is not a type");
    expect("bitbudget tune scale.kernel T=DP", 2,
           "set its sizes in columns x rows, as --set a=2048,");
    expect("bitbudget tune scale.kernel T=DP --set large", 2, "has no benchmark data");
    expect("bitbudget tune scale.kernel T=DP --set a=9", 2, "--set gives no size of b");
    expect("bitbudget tune scale.kernel T=DP --set a=9,bb=9", 2, "no object bb (did you mean b?)");
    expect("bitbudget tune scale.kernel T=DP --set a=9,a=8", 2, "a has two sizes");
    expect("bitbudget tune scale.kernel T=DP --set a=9,b=9z", 2, "expected columns and rows");
    expect("bitbudget tune scale.kernel T=DP --set a=9x2,b=9", 2, "a has 9 columns and 2 rows");
    expect("bitbudget tune scale.kernel T=DP --set a=9,b=8", 2, "writes b beyond its edge");
    expect("bitbudget tune scale.kernel T=DP --set a=9,b=9 -p facto=1", 2, "did you mean factor?");
    expect("bitbudget tune scale.kernel T=DP --set a=9,b=9 --in own.h5", 2, "both give sizes");
    expect("bitbudget tune scale.kernel T=DP --set a=9,b=9 --type DP", 2, "--type needs kernels");
    expect("bitbudget tune scale.kernel rows.kernel --set a=9,b=9", 2, "2 kernels: ");
    expect("bitbudget tune add scale.kernel T=DP --set a=9,b=9", 2, "tune 'scale.kernel' alone");
    expect("bitbudget tune T=DP scale.kernel --set a=9,b=9", 2, "give the file of a kernel before");
    expect("bitbudget tune add --set A=9x9,B=9x9,C=9x9", 2, "add has its own benchmark data");
    expect("bitbudget tune add T=SP", 2, "NAME=TYPE needs a file, as add.kernel T=SP");
    expect("bitbudget tune add --in own.h5", 2,
           "use sizes or --in with a kernel file such as add.kernel");
    expect("bitbudget tune add -p factor=1", 2, "-p needs a kernel file");
    expect("bitbudget tune --set A=9x9", 2, "need a single kernel; name its file");
    expect("bitbudget tune --help", 0, "tune FILE [NAME=TYPE ...] --set A=2048x1024,b=2048");
    expect("bitbudget completion bash", 0, "gemm spmv ' files='kernel'");
    expect("bitbudget tune ./no.kernel T=DP --set a=9", 3, "cannot read './no.kernel'");
}

static int begin(void)
{
    command_line_experiments = &none;
    check_ok(bb_hdf5_library_start());
    return 0;
}

TEST_GROUP(.begin = begin, .has_folder = true);
