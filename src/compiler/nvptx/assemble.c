/* Machine code for one card from PTX, by NVIDIA's ptxas: only for targets like "sm_90.cubin". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "base/file.h"
#include "base/process.h"
#include "compiler/nvptx/nvptx.h"

static ingot_status run_ptxas(const char *program, const char *card, const char *in,
                              const char *out, struct ig_error *error) {
    char arch[32];
    snprintf(arch, sizeof arch, "-arch=%s", card);
    const char *arguments[] = {program, arch, in, "-o", out, NULL};
    struct ig_process_result result;
    ingot_status status = ig_process_run(
        &(struct ig_process){.arguments = arguments, .seconds = 300}, &result, error);
    if (status) {
        return ig_fail(error, INGOT_NO_COMPILER,
                       "ptxas, which makes machine code for %s, was not found: put NVIDIA's ptxas "
                       "into PATH, set INGOT_PTXAS to where it is, or ask for the target %s, which "
                       "needs none",
                       card, card);
    }
    if (result.exit_code || result.signal || result.timed_out) {
        status = ig_fail(error, INGOT_COMPILE_ERROR, "%s failed (status %d, signal %d%s): %s",
                         program, result.exit_code, result.signal,
                         result.timed_out ? ", out of time" : "", ig_text_string(&result.errors));
    }
    ig_process_result_free(&result);
    return status;
}

/* The code, and behind it INGOT_CUDA_WAIT if the PTX has it: machine code does not show it. */
static const void *with_note(struct ig_arena *arena, const char *bytes, size_t *size,
                             const void *ptx, size_t ptx_size) {
    const size_t length = memmem(ptx, ptx_size, INGOT_CUDA_WAIT, strlen(INGOT_CUDA_WAIT))
                              ? sizeof INGOT_CUDA_WAIT
                              : 0;
    char *copy = ig_arena_array(arena, *size + length + 1, 1);
    if (copy) {
        memcpy(copy, bytes, *size);
        memcpy(copy + *size, INGOT_CUDA_WAIT, length);
        *size += length;
    }
    return copy;
}

ingot_status igp_assemble(struct ig_arena *arena, const char *card, const void *ptx, size_t size,
                          const void **cubin, size_t *cubin_size, struct ig_error *error) {
    const char *named = ig_environment("INGOT_PTXAS");
    char *folder = NULL, *bytes = NULL;
    ingot_status status = ig_folder_temporary(&folder, error);
    if (status) {
        return status;
    }
    const char *in = ig_arena_printf(arena, "%s/kernel.ptx", folder);
    const char *out = ig_arena_printf(arena, "%s/kernel.cubin", folder);
    status = in && out ? ig_file_write(in, ptx, size, error)
                       : ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to assemble a kernel");
    if (!status) {
        status = run_ptxas(named && *named ? named : "ptxas", card, in, out, error);
    }
    if (!status) {
        status = ig_file_read(out, 0, &bytes, cubin_size, error);
    }
    if (!status && !(*cubin = with_note(arena, bytes, cubin_size, ptx, size))) {
        status =
            ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for %zu bytes of code", *cubin_size);
    }
    free(bytes);
    ig_folder_remove(folder);
    free(folder);
    return status;
}
