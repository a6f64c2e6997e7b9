// SPDX-License-Identifier: Apache-2.0
//
// Pipelines of studies whose work is a matrix times vectors: one record of `pipelines:` says how
// the matrix is stored and in which formats it is multiplied and summed.
#ifndef BB_SIM_PIPELINES_PRODUCT_PIPELINE_H
#define BB_SIM_PIPELINES_PRODUCT_PIPELINE_H

#include "physics/wafer/overlay/delivery.h"
#include "precision/coded_matrix.h"
#include "sim/kernels/kernel_keys.h"
#include "sim/pipelines/draws.h"
#include "sim/run/device_choice.h"
#include "sim/run/study.h"
#include "solvers/operator/coded_operator.h"

/// Stages before the product in the controller's chain, of the wafer experiment: T <- A T + B q,
/// S = W T, and the rows of the matrix.
typedef enum bb_chain_stage {
    BB_CHAIN_HEAT,
    BB_CHAIN_INTERPOLATION,
    BB_CHAIN_ROWS,
    BB_CHAIN_STAGES,
} bb_chain_stage;

extern const char *const bb_chain_stage_names[];

/// How a stage is stored and computed.
typedef struct bb_stage_formats {
    int storage;    ///< bb_format, up to fp16
    int arithmetic; ///< likewise; -1: not given
} bb_stage_formats;

/// Names of those formats, narrowest last (a prefix of bb_format).
extern const char *const bb_stage_format_names[];

/// The arithmetic of a stage: where not given its storage, of rows at least fp32.
bb_format bb_stage_formats_arithmetic(bb_chain_stage stage, const bb_stage_formats *formats);

/// Whether a stage has a format other than fp64.
bool bb_stage_formats_narrow(bb_chain_stage stage, const bb_stage_formats *formats);

/// Keys of `search:`, with max_loss (storage_search.h).
typedef struct bb_product_search_config {
    bb_list codecs; ///< of bb_codec_config; none: all that the pipeline takes
    bb_list stages; ///< of bb_chain_stage: those whose formats are to be found
} bb_product_search_config;

/// Products and sums are in one of bb_working_format_names.
typedef struct bb_product_pipeline {
    const char *name;
    bb_codec_config storage; ///< codec -1: not given, max_loss finds it
    int scale;               ///< bb_row_scale
    int multiply;            ///< bb_format, a working one
    int accumulate;          ///< bb_format, a working one
    bb_index accumulate_run; ///< products summed in the format of products before a sum takes them
    int device;              ///< as bb_study.device; -1: the study's
    bb_index draws;          ///< codings with roundings of their own, the plain one included
    bb_delivery_config delivery;              ///< of the wafer experiment
    bb_stage_formats stages[BB_CHAIN_STAGES]; ///< likewise
    double max_loss;                          ///< likewise, in nm; NaN: nothing is searched
    bb_product_search_config search;
} bb_product_pipeline;

extern const bb_schema bb_product_pipeline_schema;

/// Whether its storage is to be found.
bool bb_product_pipeline_searches(const bb_product_pipeline *pipeline);

/// Whether any of its stages is narrow.
bool bb_product_pipeline_narrows(const bb_product_pipeline *pipeline);

/// Whether the formats of any of its stages are to be found.
bool bb_product_pipeline_searches_stages(const bb_product_pipeline *pipeline);

/// A pipeline that loses by one stage of another alone: the product is the reference's, in one
/// draw and on time. `stage` BB_CHAIN_STAGES: by the product alone, the stages are fp64.
bb_product_pipeline bb_product_pipeline_isolate(const bb_product_pipeline *pipeline,
                                                const bb_product_pipeline *reference, int stage);

/// The formats of a pipeline's stage in words, "bf16 in fp32".
void bb_product_pipeline_describe_stage(const bb_product_pipeline *pipeline, bb_chain_stage stage,
                                        char *out, size_t bytes);

/// Whether scale, sums, draws and device of a pipeline go with its storage; else a sentence.
bool bb_product_pipeline_allows(const bb_product_pipeline *pipeline, int study_device,
                                char *sentence, size_t sentence_bytes);

/// Index of the reference among bb_product_pipeline `pipelines`.
bb_index bb_product_pipelines_reference(const bb_list *pipelines);

/// The rules on a study's bb_product_pipeline `pipelines`: names, a reference in full precision,
/// sums, storage, which is not rounded in the sweep, and that the device asked for has products
/// with it. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_product_pipelines_check(const bb_list *pipelines, int study_device,
                                                const bb_config *config, bb_problems *problems);

/// The rule of studies without a machine to correct: nothing late or missed, no narrow stage before
/// the product, and no max_loss.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_product_pipelines_refuse_wafer_keys(const bb_list *pipelines,
                                                            const bb_config *config,
                                                            bb_problems *problems);

/// The operator of a pipeline's arithmetic. Errors: those of bb_coded_operator_create.
BB_CHECKED bb_status bb_product_pipeline_operator(const bb_product_pipeline *pipeline,
                                                  bb_device *device, const bb_coded_matrix *matrix,
                                                  bb_coded_operator **out);

/// The same of a matrix on a GPU, which it takes. Errors: those of
/// bb_coded_operator_of_device_matrix.
BB_CHECKED bb_status bb_product_pipeline_operator_there(const bb_product_pipeline *pipeline,
                                                        bb_device *device,
                                                        struct bb_device_matrix **matrix,
                                                        bb_coded_operator **out);

/// For plans: where a pipeline's products run, by its wish, its study's and, where they leave it
/// open, the host.
bb_device_kind bb_product_pipeline_device(const bb_product_pipeline *pipeline, int study_device);

/// The devices that a study's pipelines compute on, by kind; zero-initialise.
typedef struct bb_product_devices {
    bb_device *opened[BB_DEVICE_KIND_COUNT]; ///< NULL where no pipeline computes on it
    /// Of those whose products are assembled (solvers/kernels/objects/kernel_context.h).
    struct bb_kernel_context *contexts[BB_DEVICE_KIND_COUNT];
    struct bb_kernel_variants
        *variants; ///< of bb_product_devices_vary; NULL: kernels run as the default
} bb_product_devices;

/// Has kernels of the devices that are opened afterwards run in the variants that a study and a
/// caller ask for, which are borrowed. Errors: those of bb_kernel_variants_create.
BB_CHECKED bb_status bb_product_devices_vary(bb_product_devices *devices,
                                             const bb_kernel_keys *kernels,
                                             const bb_kernel_wish *wish);

/// The device of a kind that this process computes on: processes of a run share the GPUs of their
/// host in turn.
bb_index bb_product_devices_ordinal(bb_device_kind kind);

/// Chooses a pipeline's device by its own wish and its study's, and opens it unless it is open: of
/// several GPUs each process of a team takes the one of its rank.
/// Errors as bb_device_choice_make and bb_device_open.
BB_CHECKED bb_status bb_product_devices_open(bb_product_devices *devices,
                                             const bb_product_pipeline *pipeline, int study_device,
                                             bb_device_kind *out);

/// The operator of a pipeline's arithmetic on a device that was opened for it. Errors: those of
/// bb_coded_operator_create and bb_coded_operator_assemble.
BB_CHECKED bb_status bb_product_devices_operator(const bb_product_devices *devices,
                                                 bb_device_kind kind,
                                                 const bb_product_pipeline *pipeline,
                                                 const bb_coded_matrix *matrix,
                                                 bb_coded_operator **out);
void bb_product_devices_close(bb_product_devices *devices);

#endif
