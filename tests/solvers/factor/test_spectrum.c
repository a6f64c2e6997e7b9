// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/spectrum.h"
#include "tests/solvers/spd_matrices.h"

// Prescribed eigenvalues are returned in order; a scale of 2 multiplies them by 4.
TEST(eigenvalues_are_those_put_in)
{
    enum { N = 90 };
    double out[N], scale[N];
    autofree double *a = dense_new((bb_index)N * N);
    spd_spectrum(N, 1e6, 3, a);
    bb_view view = bb_view_matrix(a, N, N);
    bb_matrix_source source = bb_matrix_source_dense(&view, "A", "1");
    check_ok(bb_spectrum_eigenvalues(&source, NULL, out));
    for (int i = 0; i < N; ++i) {
        check_close(out[i], pow(1e6, -(double)i / (N - 1)), 1e-14, 1.0);
        scale[i] = 2.0;
    }
    check_ok(bb_spectrum_eigenvalues(&source, scale, out));
    check_close(out[0], 4.0, 1e-13, 1.0);
    a[N + 5] = NAN;
    check_ok(bb_spectrum_eigenvalues(&source, NULL, out));
    assert_true(isnan(out[0]) && isnan(out[N - 1]));
}

// A tile u v^T has one singular value, ||u|| ||v||.
TEST(singular_values_are_of_the_tile)
{
    enum { N = 10 };
    double a[N * N], out[4];
    fill_array(a, N * N, i, (1.0 + (double)(i / N)) * (2.0 + (double)(i % N)));
    bb_view view = bb_view_matrix(a, N, N);
    bb_matrix_source source = bb_matrix_source_dense(&view, "A", "1");
    // Rows 4 to 7 (5, 6, 7, 8), columns 1 and 2 (3, 4).
    check_ok(bb_spectrum_singular_values(&source, NULL, 4, 4, 1, 2, out));
    check_relative(out[0], sqrt(25.0 + 36.0 + 49.0 + 64.0) * 5.0, 1e-14);
    check_close(out[1], 0.0, 1e-13, out[0]);
}

// Subnormal values with scales whose product is infinite: 1e-310 (1e155)^2 = 1.
TEST(subnormal_matrices_have_their_spectrum)
{
    enum { N = 12 };
    double out[N], scale[N];
    double a[N * N] = {0.0};
    for (int i = 0; i < N; ++i) {
        a[i * N + i] = 1e-310 * (double)(N - i);
        scale[i] = 1e155;
    }
    bb_view view = bb_view_matrix(a, N, N);
    bb_matrix_source source = bb_matrix_source_dense(&view, "A", "1");
    check_ok(bb_spectrum_eigenvalues(&source, scale, out));
    check_close(out[0], (double)N, 1e-11, 1.0);
    check_close(out[N - 1], 1.0, 1e-11, 1.0);
    check_ok(bb_spectrum_singular_values(&source, scale, 0, N, 0, N, out));
    check_close(out[0], (double)N, 1e-11, 1.0);
}

// Finite values that become infinite when scaled.
TEST(infinite_products_with_the_scale_have_none)
{
    enum { N = 12 };
    double out[N], scale[N];
    autofree double *a = dense_new((bb_index)N * N);
    spd_spectrum(N, 10.0, 3, a);
    fill_array(scale, N, i, 1e200);
    bb_view view = bb_view_matrix(a, N, N);
    bb_matrix_source source = bb_matrix_source_dense(&view, "A", "1");
    check_ok(bb_spectrum_eigenvalues(&source, scale, out));
    assert_true(isnan(out[0]) && isnan(out[N - 1]));
    check_ok(bb_spectrum_singular_values(&source, scale, 0, N, 0, N, out));
    assert_true(isnan(out[0]) && isnan(out[N - 1]));
}
