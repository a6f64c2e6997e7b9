// SPDX-License-Identifier: Apache-2.0
//
// Pipelines of studies that multiply a matrix by vectors: each record of `pipelines:` has the
// storage of the matrix and the formats of products and sums.
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

/// Formats of a stage.
typedef struct bb_stage_formats {
    int storage;    ///< bb_format, up to fp16
    int arithmetic; ///< bb_format, up to fp16; -1: not given
} bb_stage_formats;

/// Names of the stage formats, narrowest last (a prefix of bb_format).
extern const char *const bb_stage_format_names[];

/// Arithmetic of a stage; if not given that of its storage, for rows at least fp32.
bb_format bb_stage_formats_arithmetic(bb_chain_stage stage, const bb_stage_formats *formats);

/// True if a stage has a format other than fp64.
bool bb_stage_formats_narrow(bb_chain_stage stage, const bb_stage_formats *formats);

/// Keys of `search:`, with max_loss (storage_search.h).
typedef struct bb_product_search_config {
    bb_list codecs; ///< list of bb_codec_config; empty: all that the pipeline supports
    bb_list stages; ///< list of bb_chain_stage: stages whose formats are searched
} bb_product_search_config;

/// Record of `pipelines:`. Products and sums are in one of bb_working_format_names.
typedef struct bb_product_pipeline {
    const char *name;
    bb_codec_config storage; ///< codec -1: not given, max_loss finds it
    int scale;               ///< bb_row_scale
    int multiply;            ///< bb_format, a working one
    int accumulate;          ///< bb_format, a working one
    bb_index accumulate_run; ///< products per partial sum in their own format
    int device;              ///< as bb_study.device; -1: the device of the study
    bb_index draws;          ///< number of encodings with independent rounding, including draw 0
    bb_delivery_config delivery;              ///< wafer experiment only
    bb_stage_formats stages[BB_CHAIN_STAGES]; ///< wafer experiment only
    double max_loss;                          ///< limit of the loss in nm; NaN: no search; wafer
                                              ///< experiment only
    bb_product_search_config search;
} bb_product_pipeline;

extern const bb_schema bb_product_pipeline_schema;

/// True if a pipeline's storage is searched.
bool bb_product_pipeline_searches(const bb_product_pipeline *pipeline);

/// True if any stage of a pipeline is narrow.
bool bb_product_pipeline_narrows(const bb_product_pipeline *pipeline);

/// True if the formats of any stage of a pipeline are searched.
bool bb_product_pipeline_searches_stages(const bb_product_pipeline *pipeline);

/// Isolates the loss of one stage of a pipeline: the product is the reference's, in one draw and on
/// time. `stage` BB_CHAIN_STAGES isolates the product, with all stages in fp64.
bb_product_pipeline bb_product_pipeline_isolate(const bb_product_pipeline *pipeline,
                                                const bb_product_pipeline *reference, int stage);

/// Formats of a pipeline's stage as text, such as "bf16 in fp32".
void bb_product_pipeline_describe_stage(const bb_product_pipeline *pipeline, bb_chain_stage stage,
                                        char *out, size_t bytes);

/// True if scale, sums, draws and device of a pipeline are compatible with its storage; if not,
/// writes a message.
bool bb_product_pipeline_allows(const bb_product_pipeline *pipeline, int study_device,
                                char *sentence, size_t sentence_bytes);

/// Index of the reference among bb_product_pipeline `pipelines`.
bb_index bb_product_pipelines_reference(const bb_list *pipelines);

/// Checks a study's bb_product_pipeline `pipelines`: names, a reference in full precision, sums,
/// and a storage without rounding in the sweep that has products on the requested device. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_product_pipelines_check(const bb_list *pipelines, int study_device,
                                                const bb_config *config, bb_problems *problems);

/// Checks studies without corrections to a machine: no late or missed delivery, no narrow stage
/// before the product, and no max_loss. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_product_pipelines_refuse_wafer_keys(const bb_list *pipelines,
                                                            const bb_config *config,
                                                            bb_problems *problems);

/// Creates the operator with a pipeline's arithmetic. Errors: from bb_coded_operator_create.
BB_CHECKED bb_status bb_product_pipeline_operator(const bb_product_pipeline *pipeline,
                                                  bb_device *device, const bb_coded_matrix *matrix,
                                                  bb_coded_operator **out);

/// Creates the operator for a matrix on a GPU, whose ownership it takes. Errors: those of
/// bb_coded_operator_of_device_matrix.
BB_CHECKED bb_status bb_product_pipeline_operator_there(const bb_product_pipeline *pipeline,
                                                        bb_device *device,
                                                        struct bb_device_matrix **matrix,
                                                        bb_coded_operator **out);

/// Device of a pipeline's products for plans: by the pipeline's key, else the study's, else the
/// host.
bb_device_kind bb_product_pipeline_device(const bb_product_pipeline *pipeline, int study_device);

/// Devices of a study's pipelines, by kind; zero-initialise.
typedef struct bb_product_devices {
    bb_device *opened[BB_DEVICE_KIND_COUNT]; ///< NULL if no pipeline uses it
    /// Contexts of devices with assembled kernels (solvers/kernels/objects/kernel_context.h).
    struct bb_kernel_context *contexts[BB_DEVICE_KIND_COUNT];
    struct bb_kernel_variants *variants; ///< set by bb_product_devices_vary; NULL: default kernels
} bb_product_devices;

/// Selects the kernel variants of a study and its caller, both borrowed, for devices opened
/// afterwards. Errors: from bb_kernel_variants_create.
BB_CHECKED bb_status bb_product_devices_vary(bb_product_devices *devices,
                                             const bb_kernel_keys *kernels,
                                             const bb_kernel_wish *wish);

/// Index of the device of a kind that this process uses; processes of a run share the GPUs of their
/// host in turn.
bb_index bb_product_devices_ordinal(bb_device_kind kind);

/// Selects a pipeline's device by its key and its study's, and opens it unless it is open. With
/// several GPUs each process of a team uses the one of its rank. Errors as bb_device_choice_make
/// and bb_device_open.
BB_CHECKED bb_status bb_product_devices_open(bb_product_devices *devices,
                                             const bb_product_pipeline *pipeline, int study_device,
                                             bb_device_kind *out);

/// Creates the operator with a pipeline's arithmetic on a device opened for it. Errors: those of
/// bb_coded_operator_create and bb_coded_operator_assemble.
BB_CHECKED bb_status bb_product_devices_operator(const bb_product_devices *devices,
                                                 bb_device_kind kind,
                                                 const bb_product_pipeline *pipeline,
                                                 const bb_coded_matrix *matrix,
                                                 bb_coded_operator **out);
void bb_product_devices_close(bb_product_devices *devices);

#endif
