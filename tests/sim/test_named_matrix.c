// SPDX-License-Identifier: Apache-2.0
//
// Unusable matrices of a user: the message names the key that gives the file.
#include "tests/sim/program.h"
#include "tests/sim/reconstructor/matrices.h"

static int begin(void)
{
    static const char script[] = "import h5py, numpy\n"
                                 "with h5py.File('mine.h5', 'a') as file:\n"
                                 "    file['row'] = numpy.ones(7)\n"
                                 "    file['nan'] = numpy.full((7, 120), numpy.nan)\n"
                                 "    file['few'] = numpy.ones((7, 119))\n"
                                 "    file['odd'] = file['Ctm'][:]\n"
                                 "    file['odd'].attrs['units'] = 'furlong'\n";
    const int code = matrices_begin();
    if (code != 0) {
        return code;
    }
    run_python(script);
    write_text("product.yaml",
               "experiment: product\nmatrix: {file: mine.h5, dataset: Ctm}\npipelines:\n"
               "  - {name: reference, storage: fp64, multiply: fp64, accumulate: fp64}\n");
    return 0;
}

TEST(messages_name_the_key_of_a_matrix)
{
    static const struct {
        const char *study, *override, *text;
    } cases[] = {
        {"product.yaml", "matrix.dataset=nan", ": matrix: 'mine.h5', dataset 'nan': row 0"},
        {"product.yaml", "matrix.dataset=none", ": matrix: 'mine.h5', dataset 'none': no dataset"},
        {"product.yaml", "matrix.dataset=row", ": matrix: 'mine.h5', dataset 'row': "},
        {"product.yaml", "inputs={file: mine.h5, dataset: nan}", ": inputs: 'mine.h5', dataset"},
        {"product.yaml", "inputs={file: mine.h5, dataset: few}", ": inputs: 119 values per vector"},
        {"mine.yaml", "covariance.dataset=Ctm", ": covariance: 'mine.h5', dataset 'Ctm': "},
        {"mine.yaml", "cross_covariance.dataset=odd",
         ": cross_covariance: 'mine.h5', dataset 'odd': values in 'furlong'"},
        {"mine.yaml", "cross_covariance.dataset=few", ": cross_covariance: 119 columns"},
        {"mine.yaml", "truth_covariance.dataset=none", ": truth_covariance: 'mine.h5', dataset"},
        {"mine.yaml", "truth_covariance.dataset=Cmm", ": truth_covariance: 120 x 120"},
        {"mine.yaml", "low_rank={file: mine.h5, dataset: few}", ": low_rank: 7 x 119"},
        {"mine.yaml", "low_rank={file: mine.h5, dataset: nan}", ": low_rank: 'mine.h5', dataset"},
        {CONFIG_AO_SMALL, "telescope.pupil={file: mine.h5, dataset: Ctm}",
         ": telescope.pupil: 'Ctm' in 'mine.h5' has 7 x 120 pixels"},
        {CONFIG_AO_SMALL, "telescope.pupil={file: mine.h5, dataset: none}",
         ": telescope.pupil: 'mine.h5', dataset 'none': "},
        {CONFIG_AO_SMALL,
         "learn={source: covariance_file, covariance: {file: mine.h5, dataset: nan}}",
         ": learn.covariance: 'mine.h5', dataset 'nan': "},
        {CONFIG_WAFER_SMALL,
         "response={generator: file, file: mine.h5, grid: {columns: 20, rows: 20}, slit_points: "
         "{columns: 3, rows: 3}}",
         ": response.file: 'mine.h5', dataset '/operators/"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        CALL("check", cases[i].study, cases[i].override);
        if (run.code != 2 && run.code != 3) {
            print_error("%s: exit %d\n", cases[i].override, run.code);
            fail();
        }
        program_expect(&run, run.code, cases[i].text);
    }
}

TEST_GROUP(.begin = begin, .has_folder = true);
