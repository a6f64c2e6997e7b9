// SPDX-License-Identifier: Apache-2.0
#include "sim/ao_attempt.h"

#include "core/memory.h"

#include <math.h>

static bb_status nan_filled(bb_index count, double **out)
{
    BB_RETURN_IF_FAILED(BB_ALLOCATE(count, out));
    for (bb_index i = 0; i < count; ++i) {
        (*out)[i] = NAN;
    }
    return BB_OK;
}

bb_status bb_ao_attempt_create(bb_index targets, bb_index wavelengths, bb_ao_attempt *out)
{
    bb_status status = BB_OK;
    *out = (bb_ao_attempt){.encode_seconds = NAN,
                           .solve_seconds = NAN,
                           .operator_bytes = NAN,
                           .fp32_bytes = NAN,
                           .flops = NAN,
                           .flops_dense = NAN};
    BB_TRY(BB_ZEROED(targets, &out->r));
    BB_TRY(nan_filled(targets * wavelengths, &out->strehl));
    BB_TRY(nan_filled(targets, &out->residual_m));
    BB_TRY(nan_filled((bb_index)BB_AO_PSF_PIXELS * BB_AO_PSF_PIXELS, &out->psf));
done:
    return status;
}

void bb_ao_attempt_release(bb_ao_attempt *attempt, bb_index targets)
{
    for (bb_index t = 0; attempt->r != NULL && t < targets; ++t) {
        BB_RELEASE(&attempt->r[t]);
    }
    BB_RELEASE(&attempt->r);
    BB_RELEASE(&attempt->strehl);
    BB_RELEASE(&attempt->residual_m);
    BB_RELEASE(&attempt->psf);
}

// The numbers of one pipeline that fill one column each.
typedef struct column {
    const char *path, *unit, *long_name;
    bool measured;
    double (*value)(const bb_ao_attempt *attempt, const bb_ao_attempt *reference);
} column;

static double strehl(const bb_ao_attempt *attempt, const bb_ao_attempt *reference)
{
    (void)reference;
    return attempt->strehl[0];
}

static double strehl_loss(const bb_ao_attempt *attempt, const bb_ao_attempt *reference)
{
    return reference->strehl[0] - attempt->strehl[0];
}

static double relative_error(const bb_ao_attempt *attempt, const bb_ao_attempt *reference)
{
    return fabs(strehl_loss(attempt, reference)) / reference->strehl[0];
}

static double residual_nm(const bb_ao_attempt *attempt, const bb_ao_attempt *reference)
{
    (void)reference;
    return 1e9 * attempt->residual_m[0];
}

static double operator_bytes(const bb_ao_attempt *attempt, const bb_ao_attempt *reference)
{
    (void)reference;
    return attempt->operator_bytes;
}

static double compression_ratio(const bb_ao_attempt *attempt, const bb_ao_attempt *reference)
{
    (void)reference;
    return attempt->fp32_bytes / attempt->operator_bytes;
}

static double flops(const bb_ao_attempt *attempt, const bb_ao_attempt *reference)
{
    (void)reference;
    return attempt->flops;
}

static double flops_dense(const bb_ao_attempt *attempt, const bb_ao_attempt *reference)
{
    (void)reference;
    return attempt->flops_dense;
}

static double encode_seconds(const bb_ao_attempt *attempt, const bb_ao_attempt *reference)
{
    (void)reference;
    return attempt->encode_seconds;
}

static double solve_seconds(const bb_ao_attempt *attempt, const bb_ao_attempt *reference)
{
    (void)reference;
    return attempt->solve_seconds;
}

static double energy(const bb_ao_attempt *attempt, const bb_ao_attempt *reference)
{
    (void)attempt;
    (void)reference;
    return NAN; // no energy counter is read on the cpu
}

static const column columns[] = {
    {"results/strehl", "1", "Strehl ratio, first target and wavelength", false, strehl},
    {"results/strehl_loss", "1", "Strehl ratio of the reference minus this one's", false,
     strehl_loss},
    {"results/qoi_relative_error", "1", "|SR - SR_ref| / SR_ref", false, relative_error},
    {"results/residual_rms_nm", "nm", "rms of the residual wavefront, first target", false,
     residual_nm},
    {"results/operator_bytes", "byte", "stored lower triangle, each tile in its format", false,
     operator_bytes},
    {"results/compression_ratio", "1", "bytes of the triangle in fp32 over operator_bytes", false,
     compression_ratio},
    {"results/flops", "1", "operations done: factor and solves", false, flops},
    {"results/flops_dense_equivalent", "1", "n^3 / 3 + 2 n^2 m", false, flops_dense},
    {"results/encode_time_s", "s", "assembling, scaling and rounding the covariance", true,
     encode_seconds},
    {"results/solve_time_s", "s", "factor and solves", true, solve_seconds},
    {"results/energy_j", "J", "energy of the solve", true, energy},
};

static bb_status publish_columns(const bb_ao_study *study, const bb_ao_attempt *attempts,
                                 bb_results *results)
{
    bb_status status = BB_OK;
    double values[BB_STUDY_PIPELINES];
    const bb_ao_attempt *reference = &attempts[bb_ao_study_reference(study)];
    for (size_t c = 0; c < sizeof columns / sizeof *columns; ++c) {
        for (bb_index p = 0; p < study->pipelines.count; ++p) {
            values[p] = columns[c].value(&attempts[p], reference);
        }
        BB_TRY((columns[c].measured ? bb_results_measured : bb_results_values)(
            results, columns[c].path, columns[c].unit, columns[c].long_name, "pipeline", values));
    }
done:
    return status;
}

static bb_status publish_texts(const bb_ao_study *study, const bb_ao_attempt *attempts,
                               bb_results *results)
{
    bb_status status = BB_OK;
    const bb_ao_pipeline *pipelines = study->pipelines.items;
    const char *names[BB_STUDY_PIPELINES];
    const char *states[BB_STUDY_PIPELINES];
    const char *details[BB_STUDY_PIPELINES];
    const char *devices[BB_STUDY_PIPELINES];
    bb_index count = study->pipelines.count;
    for (bb_index p = 0; p < count; ++p) {
        names[p] = pipelines[p].name;
        states[p] = bb_outcome_name(attempts[p].outcome.kind);
        details[p] = attempts[p].outcome.detail;
        devices[p] = bb_device_operations(attempts[p].device)->name;
    }
    BB_TRY(bb_results_text_axis(results, "results/pipeline", "name of the pipeline", count, names));
    BB_TRY(bb_results_texts(results, "results/status", "ok, or how the computation failed",
                            "pipeline", states));
    BB_TRY(bb_results_texts(results, "results/status_detail", "where and what failed", "pipeline",
                            details));
    BB_TRY(bb_results_texts(results, "results/device", "device that computed", "pipeline",
                            devices));
done:
    return status;
}

// strehl_by and residual_rms_by_nm over their axes.
static bb_status publish_directions(const bb_ao_study *study, const bb_ao_attempt *attempts,
                                    bb_results *results)
{
    bb_status status = BB_OK;
    bb_index targets = study->targets.count;
    bb_index wavelengths = study->wavelengths_um.count;
    bb_index count = study->pipelines.count;
    double *strehls = NULL;   // [count][targets][wavelengths]
    double *residuals = NULL; // [count][targets]
    double *indices = NULL;   // [targets]
    BB_TRY(BB_ALLOCATE(count * targets * wavelengths, &strehls));
    BB_TRY(BB_ALLOCATE(count * targets, &residuals));
    BB_TRY(BB_ALLOCATE(targets, &indices));
    for (bb_index p = 0; p < count; ++p) {
        for (bb_index i = 0; i < targets * wavelengths; ++i) {
            strehls[p * targets * wavelengths + i] = attempts[p].strehl[i];
        }
        for (bb_index t = 0; t < targets; ++t) {
            residuals[p * targets + t] = 1e9 * attempts[p].residual_m[t];
        }
    }
    for (bb_index t = 0; t < targets; ++t) {
        indices[t] = (double)t;
    }
    BB_TRY(bb_results_axis(results, "results/target", "1", "index of the target", targets,
                           indices));
    BB_TRY(bb_results_axis(results, "results/wavelength", "um", "wavelength", wavelengths,
                           study->wavelengths_um.items));
    BB_TRY(bb_results_values(results, "results/strehl_by", "1", "Strehl ratio",
                             "pipeline, target, wavelength", strehls));
    BB_TRY(bb_results_values(results, "results/residual_rms_by_nm", "nm",
                             "rms of the residual wavefront", "pipeline, target", residuals));
done:
    BB_RELEASE(&strehls);
    BB_RELEASE(&residuals);
    BB_RELEASE(&indices);
    return status;
}

static bb_status publish_images(const bb_ao_study *study, const bb_tomography *problem,
                                const bb_ao_attempt *attempts, bb_results *results)
{
    enum { EDGE = BB_AO_PSF_PIXELS };
    bb_status status = BB_OK;
    const bb_point_spread_grid *grid = bb_point_spread_layout(problem->targets[0].spread);
    const double *wavelengths_um = study->wavelengths_um.items;
    double pixel_mas = 1e-6 * wavelengths_um[0] / ((double)grid->pixels * grid->pixel_m) *
                       (180.0 / M_PI) * 3600.0e3;
    double offsets[EDGE];
    double *images = NULL; // [pipelines][EDGE][EDGE]
    BB_TRY(BB_ALLOCATE(study->pipelines.count * EDGE * EDGE, &images));
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        for (bb_index i = 0; i < (bb_index)EDGE * EDGE; ++i) {
            images[p * EDGE * EDGE + i] = attempts[p].psf[i];
        }
    }
    for (int i = 0; i < EDGE; ++i) {
        offsets[i] = pixel_mas * (double)(i - EDGE / 2);
    }
    BB_TRY(bb_results_axis(results, "results/psf_y", "mas", "offset from the axis", EDGE, offsets));
    BB_TRY(bb_results_axis(results, "results/psf_x", "mas", "offset from the axis", EDGE, offsets));
    BB_TRY(bb_results_values(results, "results/psf", "1",
                             "long-exposure point spread, 1 at the diffraction-limited peak; first "
                             "target and wavelength",
                             "pipeline, psf_y, psf_x", images));
done:
    BB_RELEASE(&images);
    return status;
}

bb_status bb_ao_attempts_publish(const bb_ao_study *study, const bb_tomography *problem,
                                 const bb_ao_attempt *attempts, bb_results *results)
{
    bb_status status = BB_OK;
    BB_TRY(publish_texts(study, attempts, results));
    BB_TRY(publish_columns(study, attempts, results));
    BB_TRY(publish_directions(study, attempts, results));
    BB_TRY(publish_images(study, problem, attempts, results));
done:
    return status;
}
