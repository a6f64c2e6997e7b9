// SPDX-License-Identifier: Apache-2.0
//
// Provenance of dumped rows: rows of other grids are refused, rows of another study are reported,
// and rows of a user's file are accepted unchecked.
#include "sim/output/image.h"
#include "tests/sim/dumped.h"

static int enter_with_rows(void)
{
    check_ok(bb_hdf5_library_start());
    CALL_EXPECT(0, "results: ", "run", CONFIG_WAFER_SMALL, "-q", "-o", "rows.h5", "--dump", "rows");
    return 0;
}

// Other grids with the same numbers of cells and points are refused before any row is applied.
TEST(rows_of_other_grids_are_refused)
{
    static const struct {
        const char *keys[2];
        const char *words;
    } cases[] = {
        {{"response.grid={columns: 37, rows: 40}", NULL},
         "'rows.h5', dataset '/operators/C_x_0': made with mesh_columns = 40, expected the 37 "
         "columns of response.grid"},
        {{"response.slit_points={columns: 3, rows: 10}", "response.field_rows=46"},
         "made with row_columns = 6, expected the 3 columns of slit points"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        CALL_EXPECT(2, cases[c].words, "run", CONFIG_WAFER_SMALL, "response.generator=file",
                    "response.file=rows.h5", "-q", "-o", "other.h5", cases[c].keys[0],
                    cases[c].keys[1]);
        assert_int_not_equal(access("other.h5", F_OK), 0);
    }
}

// Rows that fit but were made for other keys or another field are accepted with a warning.
TEST_FULL(rows_of_another_study_are_named)
{
    static const struct {
        const char *keys[2];
        const char *words;
    } cases[] = {
        {{"wafer.thickness_um=700", NULL},
         "'rows.h5', dataset '/operators/C_x_0' was made for another study: wafer ('thickness_um: "
         "775.0' there, 'thickness_um: 700.0' here)"},
        {{"clamp.tangential_stiffness_n_per_m3=2e11", NULL}, "made for another study: clamp ("},
        {{"clamp.burls.seed=2", NULL}, "clamp ('seed: 1' there"},
        {{"scan.order=given", "scan.sequence=[50, 49, 95]"},
         "'/operators/C_x_2' was made for another study: field ('centre_mm: ["},
        {{"scan.dose_mj_per_cm2=31", "mesh.substeps=2"}, NULL},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        CALL_EXPECT(0, cases[c].words == NULL ? "results: " : cases[c].words, "run",
                    CONFIG_WAFER_SMALL, "response.generator=file", "response.file=rows.h5", "-q",
                    "--force", "-o", "named.h5", cases[c].keys[0], cases[c].keys[1]);
        assert_true(cases[c].words != NULL || strstr(run.printed, "another study") == NULL);
    }
}

// A user's file without metadata is accepted without a warning.
TEST(rows_without_metadata_are_taken)
{
    static const char *const names[] = {"C_x_0", "C_x_2", "C_y_0", "C_y_2", "C_z_0", "C_z_2"};
    enum { NAMES = sizeof names / sizeof *names };
    bb_matrix_file *files[NAMES] = {NULL};
    char dataset[32];
    bb_results *results = empty_results();
    for (int i = 0; i < NAMES; ++i) {
        (void)snprintf(dataset, sizeof dataset, "/operators/%s", names[i]);
        files[i] = opened("rows.h5", dataset);
        assert_true(bb_matrix_file_metadata(files[i])->mesh_rows == 37.0);
        assert_true(bb_matrix_file_metadata(files[i])->row_rows == 23.0);
        check_ok(bb_results_operator(results, names[i], "mine", bb_matrix_file_source(files[i])));
    }
    check_ok(bb_image_write(results, "mine.h5"));
    bb_results_destroy(&results);
    for (int i = 0; i < NAMES; ++i) {
        bb_matrix_file_close(&files[i]);
    }
    files[0] = opened("mine.h5", "/operators/C_x_0");
    assert_true(bb_matrix_file_metadata(files[0])->mesh_rows == 0.0);
    assert_string_equal(bb_matrix_file_metadata(files[0])->made_for, "");
    bb_matrix_file_close(&files[0]);
    CALL_EXPECT(0, "results: from_mine.h5", "run", CONFIG_WAFER_SMALL, "response.generator=file",
                "response.file=mine.h5", "wafer.thickness_um=700", "-q", "-o", "from_mine.h5");
    assert_null(strstr(run.printed, "another study"));
}

// Edits a copy of the rows by Python code, in which `f` is the file and `g` its group of operators.
static void edit_rows(const char *path, const char *line)
{
    char command[1024];
    (void)snprintf(command, sizeof command,
                   "cp rows.h5 %s && /usr/bin/python3 -c \"import h5py\nf=h5py.File('%s','r+')\n"
                   "g=f['operators']\n%s\"",
                   path, path, line);
    assert_int_equal(system(command), 0);
}

static void run_rows(const char *path, const char *out)
{
    char key[64];
    (void)snprintf(key, sizeof key, "response.file=%s", path);
    CALL("run", CONFIG_WAFER_SMALL, key, "response.generator=file", "--force", "-q", "-o", out);
}

// Rows in um/K give the same result as the same rows in m/K; rows in a wrong unit are refused.
TEST(rows_in_other_units_give_the_same)
{
    edit_rows("micro.h5", "for k in g:\n  if 'digest' in g[k].attrs and k[0]=='C':\n"
                          "    g[k][...]=g[k][...]*1e6\n    g[k].attrs['units']='um/K'\n"
                          "    del g[k].attrs['digest']\ndel f.attrs['source']");
    run_rows("rows.h5", "by_m.h5");
    program_expect(&run, 0, "results: by_m.h5");
    run_rows("micro.h5", "by_um.h5");
    program_expect(&run, 0, "results: by_um.h5");
    autoptr(bb_results) metres = read_results("by_m.h5");
    autoptr(bb_results) microns = read_results("by_um.h5");
    check_relative(driver_dataset(microns, "overlay_reference_rms_nm")->numbers[0],
                   driver_dataset(metres, "overlay_reference_rms_nm")->numbers[0], 1e-12);
    edit_rows("kelvin.h5", "g['C_x_0'].attrs['units']='K'");
    run_rows("kelvin.h5", "none.h5");
    program_expect(&run, 2,
                   "'kelvin.h5', dataset '/operators/C_x_0': values in 'K', expected one of: m/K, "
                   "mm/K, um/K, nm/K");
}

// Rows that name another axis are refused; a name with several axes counts as none.
TEST_FULL(rows_of_another_axis_are_refused)
{
    static const struct {
        const char *line;
        int code;
        const char *words;
    } cases[] = {
        {"del g['C_x_0'].attrs['axis']\n"
         "g['C_x_0'].attrs['long_name']=g['C_y_0'].attrs['long_name']",
         2, "dataset '/operators/C_x_0': attributes axis or long_name name axis y, expected x"},
        {"g.move('C_x_0','old')\ng['C_x_0']=g['C_z_0']", 2, "name axis z, expected x"},
        {"g['C_y_2'].attrs['axis']='X'", 2, "name axis x, expected y"},
        {"g['C_x_0'].attrs['long_name']='by lines of y, then x'", 0, "results: "},
        {"g['C_x_0'].attrs['long_name']='y'\ng['C_x_0'].attrs['axis']='x'", 0, "results: "},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        edit_rows("axis.h5", cases[c].line);
        run_rows("axis.h5", "by_axis.h5");
        program_expect(&run, cases[c].code, cases[c].words);
    }
}

// Text attributes of variable length, as h5py and xarray write them, are read too; overlong ones
// are ignored.
TEST(texts_of_any_length_are_read)
{
    run_python("import h5py\n"
               "with h5py.File('texts.h5', 'w') as file:\n"
               "    for name, length in (('short', 12), ('long', 10000)):\n"
               "        file[name] = [[1.0, 2.0], [3.0, 4.0]]\n"
               "        file[name].attrs['made_for'] = 'x' * length\n");
    autoclose(bb_matrix_file) file = opened("texts.h5", "/short");
    assert_string_equal(bb_matrix_file_metadata(file)->made_for, "xxxxxxxxxxxx");
    bb_matrix_file_close(&file);
    file = opened("texts.h5", "/long");
    assert_string_equal(bb_matrix_file_metadata(file)->made_for, "");
}

// Texts that are too long for an attribute are distinguished by their digest.
TEST(long_origins_are_digests)
{
    static char text[BB_MATRIX_METADATA_BYTES + 1];
    bb_matrix_metadata one = {0};
    bb_matrix_metadata two = {0};
    memset(text, 'a', BB_MATRIX_METADATA_BYTES - 1);
    bb_matrix_metadata_set_text(&one, text);
    assert_string_equal(one.made_for, text);
    text[BB_MATRIX_METADATA_BYTES - 1] = 'a';
    bb_matrix_metadata_set_text(&one, text);
    text[0] = 'b';
    bb_matrix_metadata_set_text(&two, text);
    assert_true(strncmp(one.made_for, "digest: ", 8) == 0);
    assert_int_equal(strlen(one.made_for), 8 + 32 + 1);
    assert_string_not_equal(one.made_for, two.made_for);
}

// A pipeline named y or z does not change the axis of its decoded C_x; a title may name an axis.
TEST(names_of_pipelines_are_no_axes)
{
    static const char *const datasets[] = {"/operators/C_0", "/operators/C_1", "/operators/C_2"};
    static const struct {
        const char *edit;
        int axis;
    } titles[] = {
        {"a['axis'] = 'z'", 2},
        {"del a['axis']", -1},
        {"a['long_name'] = 'displacement y, decoded, of pipeline z'", 1},
        {"a['long_name'] = 'rows of pipeline x'", -1},
        {"a['long_name'] = 'pipelined rows, y'", 1},
    };
    write_text("decode.yaml",
               "experiment: product\ndevice: cpu\nmatrix: {file: rows.h5, dataset: "
               "/operators/C_x_0}\npipelines:\n"
               "  - {name: reference, storage: fp64, multiply: fp64, accumulate: fp64}\n"
               "  - {name: y, storage: fp32, multiply: fp64, accumulate: fp64}\n"
               "  - {name: z, storage: fp16, scale: row, multiply: fp64, accumulate: fp64}\n");
    CALL_EXPECT(0, "results: outputs/product-decode.h5", "run", "decode.yaml", "-q", "--dump", "C");
    for (size_t i = 0; i < sizeof datasets / sizeof *datasets; ++i) {
        autoclose(bb_matrix_file) file = opened("outputs/product-decode.h5", datasets[i]);
        assert_int_equal(bb_matrix_file_axis(file), 0);
    }
    for (size_t i = 0; i < sizeof titles / sizeof *titles; ++i) {
        char command[256];
        (void)snprintf(
            command, sizeof command,
            "/usr/bin/python3 -c \"import h5py; "
            "a = h5py.File('outputs/product-decode.h5', 'a')['operators/C_1'].attrs; %s\"",
            titles[i].edit);
        assert_int_equal(system(command), 0);
        autoclose(bb_matrix_file) file = opened("outputs/product-decode.h5", "/operators/C_1");
        assert_int_equal(bb_matrix_file_axis(file), titles[i].axis);
    }
}

// Resolved configurations, printed or in /provenance, find the same files from any other folder.
TEST(resolved_copies_run_in_other_folders)
{
    static const char script[] =
        "set -e\n"
        "mkdir -p typed/data elsewhere\n"
        "cp rows.h5 typed/data/rows.h5\n"
        "printf 'experiment: product\\ndevice: cpu\\nmatrix: {file: data/rows.h5, dataset: "
        "/operators/C_x_0}\\npipelines:\\n  - {name: reference, storage: fp64, multiply: fp64, "
        "accumulate: fp64}\\n' > typed/study.yaml\n"
        "\"$1\" config --resolved typed/study.yaml > elsewhere/printed.yaml\n"
        "\"$1\" run typed/study.yaml -q -o typed/typed.h5\n"
        "/usr/bin/python3 -c \"import h5py; "
        "print(h5py.File('typed/typed.h5')['provenance/config_resolved'].asstr()[()])\" > "
        "elsewhere/kept.yaml\n"
        "cd elsewhere\n"
        "\"$1\" run printed.yaml -q -o printed.h5\n"
        "\"$1\" run kept.yaml -q -o kept.h5\n";
    write_text("folders.sh", script);
    assert_int_equal(system("sh folders.sh " BB_BINARY_DIR "/bitbudget"), 0);
}

TEST_GROUP(.begin = enter_with_rows, .has_folder = true);
