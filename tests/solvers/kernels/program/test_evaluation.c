// SPDX-License-Identifier: Apache-2.0
//
// The evaluator against hand arithmetic: the order of sums, types, boundaries, skip, and Listing 2.
#include "tests/solvers/kernels/program_fixture.h"

#define LISTING "configs/kernels/listing2.xml"

// The declared order, implemented independently: 128 lanes by fma, chunks of 8192, halves joined.
static double ordered_dot(const double *a, const double *b, bb_index count)
{
    static double chunks[8];
    double lanes[128];
    bb_index parts = 0;
    for (bb_index begin = 0; begin < count; begin += 8192) {
        fill_array(lanes, 128, i, 0.0);
        for (bb_index i = begin; i < count && i < begin + 8192; ++i) {
            lanes[i % 128] = fma(a[i], b[i], lanes[i % 128]);
        }
        for (int width = 64; width > 0; width /= 2) {
            fill_array(lanes, width, i, lanes[i] + lanes[i + width]);
        }
        chunks[parts++] = lanes[0];
    }
    // Up to 128 chunks have a lane each.
    fill_array(lanes, 128, i, i < parts ? chunks[i] : 0.0);
    for (int width = 64; width > 0 && parts > 1; width /= 2) {
        fill_array(lanes, width, i, lanes[i] + lanes[i + width]);
    }
    return lanes[0];
}

TEST(listing_2_multiplies_a_matrix_and_a_vector)
{
    double matrix[3][5];
    double vector[5];
    double product[3] = {0};
    for (int k = 0; k < 5; ++k) {
        vector[k] = 1.0 / (k + 1);
        for (int i = 0; i < 3; ++i) {
            matrix[i][k] = i + 10 * k + 0.1;
        }
    }
    autocall(fixture_release) program_fixture fixture;
    fixture_make_file(&fixture, LISTING, "USED_FLOAT", "DP");
    fixture_bind(&fixture, "A", 5, 3, matrix);
    fixture_bind(&fixture, "b", 5, 1, vector);
    fixture_bind(&fixture, "c", 3, 1, product);
    fixture_evaluate(&fixture);
    for (int i = 0; i < 3; ++i) {
        assert_true(product[i] == ordered_dot(matrix[i], vector, 5));
    }
}

TEST(long_rows_are_summed_in_the_declared_order)
{
    enum { COLUMNS = 20001 };
    double *row = malloc(COLUMNS * sizeof *row);
    double *vector = malloc(COLUMNS * sizeof *vector);
    double product = 0.0;
    assert_true(row != NULL && vector != NULL);
    for (int k = 0; k < COLUMNS; ++k) {
        row[k] = sin(k);
        vector[k] = cos(3.0 * k);
    }
    program_fixture fixture;
    fixture_make_file(&fixture, LISTING, "USED_FLOAT", "DP");
    fixture_bind(&fixture, "A", COLUMNS, 1, row);
    fixture_bind(&fixture, "b", COLUMNS, 1, vector);
    fixture_bind(&fixture, "c", 1, 1, &product);
    fixture_evaluate(&fixture);
    assert_true(product == ordered_dot(row, vector, COLUMNS));
    fixture_release(&fixture);
    free(row);
    free(vector);
}

TEST(sizes_that_do_not_fit_are_told_with_what_is_reached)
{
    float numbers[16] = {0};
    autocall(fixture_release) program_fixture fixture;
    fixture_make_file(&fixture, LISTING, "USED_FLOAT", "SP");
    fixture_bind(&fixture, "A", 4, 3, numbers);
    fixture_bind(&fixture, "b", 3, 1, numbers);
    fixture_bind(&fixture, "c", 3, 1, numbers + 12);
    fixture_check_binding(&fixture, "k:11:7: access_b reads b beyond its edge: element 0 to 3 of 0 "
                                    "to 2; add a boundary (clamp, zero, mirror, periodic, skip)\n");
}

TEST(nothing_comes_of_an_empty_row)
{
    float product[2] = {7.0F, 7.0F};
    autocall(fixture_release) program_fixture fixture;
    fixture_make_file(&fixture, LISTING, "USED_FLOAT", "SP");
    fixture_bind(&fixture, "A", 0, 2, NULL);
    fixture_bind(&fixture, "b", 0, 1, NULL);
    fixture_bind(&fixture, "c", 2, 1, product);
    fixture_evaluate(&fixture);
    assert_true(product[0] == 0.0F && product[1] == 0.0F);
}

// INT32 numbers are summed in DP, with partial sums in DP.
TEST(declared_parts_join_in_the_type_of_the_sums)
{
    enum { COUNT = 3 * 8192 + 5 };
    static int32_t numbers[COUNT];
    double sums[2] = {0.0, 0.0};
    autocall(fixture_release) program_fixture fixture;
    fixture_make(&fixture,
                 "<ParallelAlgorithm name='k' dimensions='1' ICFType='DP' ICFInit='0; 0'"
                 " ICF='#acc(0) + #in(0); #acc(1) + #in(1)' ICFAssociative='true'>"
                 "<DataObjects>"
                 "<DataObject name='a' structure='vector' elementDataType='INT32'/>"
                 "<DataObject name='s' structure='vector' elementDataType='DP'/>"
                 "</DataObjects><Children>"
                 "<DataAccessRead name='r' source='a' selectorFunction='v0'/>"
                 "<DataAccessWrite name='w' destination='s' selectorFunction='0'/>"
                 "</Children><Connections>"
                 "<Connection source='a.Size(0)' destination='k.Range(0)'/>"
                 "<Connection source='k.i(0)' destination='r.v(0)'/>"
                 "<Connection source='r.out' destination='k.func(0)'/>"
                 "<Connection source='r.out' destination='k.func(1)'/>"
                 "<Connection source='k.out' destination='w.in'/>"
                 "</Connections></ParallelAlgorithm>",
                 NULL, NULL);
    for (int i = 0; i < COUNT; ++i) {
        numbers[i] = i % 7;
        sums[1] += i % 7;
    }
    fixture_bind(&fixture, "a", COUNT, 1, numbers);
    fixture_bind(&fixture, "s", 1, 1, sums);
    fixture_evaluate(&fixture);
    assert_true(sums[0] == sums[1]);
}

TEST(statements_run_in_the_order_they_are_written)
{
    double u[2] = {10.0, 20.0};
    double d[2] = {1.0, 2.0};
    double c[2] = {0.0, 0.0};
    autocall(fixture_release) program_fixture fixture;
    fixture_make_file(&fixture, "tests/solvers/kernels/cases/after.kernel", "T", "DP");
    fixture_bind(&fixture, "u", 2, 1, u);
    fixture_bind(&fixture, "d", 2, 1, d);
    fixture_bind(&fixture, "c", 2, 1, c);
    fixture_evaluate(&fixture);
    for (int i = 0; i < 2; ++i) {
        assert_true(c[i] == d[i] + 1.0 && u[i] == 2.0 * c[i]);
    }
}
