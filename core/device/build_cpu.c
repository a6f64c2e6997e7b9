// SPDX-License-Identifier: Apache-2.0
//
// Builds for the cpu: a shared object from the host compiler, or a prebuilt one if there is no
// compiler; the thread pool runs its entries over ranges of items.
#include "core/device/build_ops.h"
#include "core/device/host_compiler.h"
#include "core/device/prebuilt.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*entry_function)(const void *const *arguments, int64_t begin, int64_t end);

// Shared object of a compiled source and its origin.
typedef struct loaded_object {
    void *library;
    const char *flags; // static text
    bool is_prebuilt;
} loaded_object;

// A source that was compiled and loaded. It stays cached for a while after its last use:
// experiments request the same kernels again, and a compilation costs a tenth of a second.
typedef struct loaded_text {
    char *text;
    char *compiler_name;
    loaded_object object;
    bb_index uses;
    uint64_t last_use;
} loaded_text;

enum { KEPT_TEXTS = 128 };
static loaded_text kept[KEPT_TEXTS];
static uint64_t use_count;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

typedef struct cpu_build {
    loaded_object object;
    bool is_kept;                 // the object belongs to a cached text
    const struct link_map *place; // handle in the list of loaded libraries
    char compiler[256];
} cpu_build;

// Exports the compiler's version from the compiled object.
static const char version_text[] =
    "\n#ifdef __clang__\nconst char bb_compiler_version[] = __VERSION__;\n"
    "#else\nconst char bb_compiler_version[] = \"GCC \" __VERSION__;\n#endif\n";

static void unload_text(loaded_text *text)
{
    if (text->object.library != NULL) {
        (void)dlclose(text->object.library);
    }
    free(text->text);
    free(text->compiler_name);
    *text = (loaded_text){.text = NULL};
}

// Gets a source that is already loaded; false if there is none.
static bool get_cached(const char *text, const char *name, cpu_build *cpu)
{
    (void)pthread_mutex_lock(&kept_lock);
    for (int i = 0; i < KEPT_TEXTS && !cpu->is_kept; ++i) {
        if (kept[i].text != NULL && strcmp(kept[i].text, text) == 0 &&
            strcmp(kept[i].compiler_name, name) == 0) {
            ++kept[i].uses;
            kept[i].last_use = ++use_count;
            cpu->object = kept[i].object;
            cpu->is_kept = true;
        }
    }
    (void)pthread_mutex_unlock(&kept_lock);
    return cpu->is_kept;
}

// Caches a loaded source in place of the least recently used one that nothing uses.
static void cache_text(const char *text, const char *name, cpu_build *cpu)
{
    loaded_text *place = NULL;
    (void)pthread_mutex_lock(&kept_lock);
    for (int i = 0; i < KEPT_TEXTS; ++i) {
        if (kept[i].uses == 0 && (place == NULL || kept[i].last_use < place->last_use)) {
            place = &kept[i];
        }
    }
    if (place != NULL) {
        unload_text(place);
        *place = (loaded_text){strdup(text), strdup(name), cpu->object, 1, ++use_count};
        if (place->text != NULL && place->compiler_name != NULL) {
            cpu->is_kept = true;
        } else { // compiled again next time
            place->object.library = NULL;
            unload_text(place);
        }
    }
    (void)pthread_mutex_unlock(&kept_lock);
}

void bb_build_cpu_discard_unused(void)
{
    (void)pthread_mutex_lock(&kept_lock);
    for (int i = 0; i < KEPT_TEXTS; ++i) {
        if (kept[i].uses == 0) {
            unload_text(&kept[i]);
        }
    }
    (void)pthread_mutex_unlock(&kept_lock);
}

static void release_text(const cpu_build *cpu)
{
    (void)pthread_mutex_lock(&kept_lock);
    for (int i = 0; i < KEPT_TEXTS; ++i) {
        if (kept[i].object.library == cpu->object.library) {
            --kept[i].uses;
        }
    }
    (void)pthread_mutex_unlock(&kept_lock);
}

static void destroy(void **build)
{
    const cpu_build *cpu = *build;
    if (cpu != NULL && cpu->is_kept) {
        release_text(cpu);
    } else if (cpu != NULL && cpu->object.library != NULL) {
        (void)dlclose(cpu->object.library);
    }
    bb_memory_release(build);
}

// Compiles into the folder of prebuilt kernels unless the file exists, and loads it from there.
static bb_status load_compiled(const char *text, bb_text *log, loaded_object *out)
{
    bb_status status = bb_prebuilt_load(text, &out->flags, &out->library);
    if (status == BB_UNSUPPORTED || status == BB_IO) {
        bb_status_clear();
        BB_TRY(bb_prebuilt_make(text, log));
        status = bb_prebuilt_load(text, &out->flags, &out->library);
    }
    BB_TRY(status);
    out->is_prebuilt = true;
done:
    return status;
}

// Logs the compiler once per process; each record of a run has it too.
static void log_prebuilt(const char *lack)
{
    static atomic_flag logged = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&logged)) {
        bb_log_info("using prebuilt kernels: %s", lack);
    }
}

// Compiles on this host or, without a compiler, loads the prebuilt kernel.
static bb_status load(const char *text, bb_text *log, loaded_object *out)
{
    bb_status status = BB_OK;
    bb_status_record lack = {"", ""};
    bb_status_record reason;
    if (bb_prebuilt_is_making()) {
        BB_TRY(load_compiled(text, log, out));
        goto done;
    }
    status = bb_host_compiler_load(text, log, &out->flags, &out->library);
    if (status == BB_UNSUPPORTED) {
        bb_status_save(&lack);
        bb_status_clear();
        status = bb_prebuilt_load(text, &out->flags, &out->library);
        bb_status_save(&reason);
        BB_REQUIRE(status != BB_UNSUPPORTED, BB_UNSUPPORTED, "%.400s; %.500s", lack.message,
                   reason.message);
        out->is_prebuilt = true;
    }
    BB_TRY(status);
    if (out->is_prebuilt) {
        log_prebuilt(lack.message);
    }
done:
    return status;
}

static bb_status create(bb_device *device, const char *source, bb_text *log, void **out)
{
    bb_status status = BB_OK;
    void *build = NULL;
    char *text = NULL;
    (void)device;
    BB_TRY(bb_memory_zeroed(1, sizeof(cpu_build), &build));
    cpu_build *cpu = build;
    BB_TRY(bb_memory_printf(&text, "%s%s", source, version_text));
    const bool is_loaded = get_cached(text, bb_host_compiler_name(), cpu);
    if (!is_loaded) {
        BB_TRY(load(text, log, &cpu->object));
    }
    const loaded_object *object = &cpu->object;
    const char *version = dlsym(object->library, "bb_compiler_version");
    BB_REQUIRE(version != NULL && dlinfo(object->library, RTLD_DI_LINKMAP, &cpu->place) == 0,
               BB_INVALID, "%s compiled a different source from the one given",
               bb_host_compiler_name());
    (void)snprintf(cpu->compiler, sizeof cpu->compiler, "%.60s, %.60s, %s",
                   object->is_prebuilt ? "prebuilt" : bb_host_compiler_name(), version,
                   object->flags);
    if (!is_loaded && log->length == 0) { // compiler messages are repeated each time
        cache_text(text, bb_host_compiler_name(), cpu);
    }
    *out = build;
    build = NULL;
done:
    BB_RELEASE(&text);
    destroy(&build);
    return status;
}

// Symbols of libraries that the object links are not entries.
static bb_status find_entry(const cpu_build *cpu, const char *entry, entry_function *out)
{
    bb_status status = BB_OK;
    Dl_info about;
    void *place = NULL;
    void *address = dlsym(cpu->object.library, entry);
    BB_REQUIRE(address != NULL && dladdr1(address, &about, &place, RTLD_DL_LINKMAP) != 0 &&
                   place == cpu->place,
               BB_INVALID, "the source has no entry '%s'", entry);
    *(void **)out = address; // POSIX lets function addresses be returned as object pointers
done:
    return status;
}

static bb_status find_limits(void *build, const char *entry, bb_build_limits *out)
{
    entry_function function = NULL;
    *out = (bb_build_limits){.group_items = 1};
    return find_entry(build, entry, &function);
}

static bool rounds(bb_device *device)
{
    (void)device;
    return true;
}

typedef struct call {
    entry_function function;
    const void *addresses[BB_LAUNCH_MAX_ARGUMENTS];
} call;

static bb_status run_range(void *context, bb_index begin, bb_index end)
{
    const call *work = context;
    work->function(work->addresses, begin, end);
    return BB_OK;
}

static bb_status launch(void *build, const char *entry, const bb_launch_shape *shape,
                        const bb_launch_argument *arguments, bb_index count)
{
    bb_status status = BB_OK;
    call work = {0};
    BB_TRY(find_entry(build, entry, &work.function));
    BB_TRY(bb_build_check_group(entry, shape, 1));
    for (bb_index i = 0; i < count; ++i) {
        work.addresses[i] = arguments[i].scalar != NULL ? arguments[i].scalar : arguments[i].block;
    }
    BB_TRY(
        bb_thread_ranges(shape->groups[0] * shape->groups[1], shape->cpu_grain, run_range, &work));
done:
    return status;
}

static const char *compiler(const void *build)
{
    return ((const cpu_build *)build)->compiler;
}

const bb_build_ops bb_build_cpu_ops = {
    .create = create,
    .destroy = destroy,
    .find_limits = find_limits,
    .rounds = rounds,
    .launch = launch,
    .compiler = compiler,
};
