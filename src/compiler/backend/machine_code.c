/*
 * Machine code made in a child process with a limit of CPU time.
 *
 * LLVM's instruction selection can loop for ever on rare vector patterns (seen with a product of
 * two masked values: its PMADDWD combine) and can give up on others by ending the process. Neither
 * may end ours: the child is cut off, and the caller tries again with narrower vectors.
 * Large kernels (arithmetic on large numbers, all inlined; generated code) meet passes that take
 * quadratic time, minutes of it: a back end's `reduce` leaves them out.
 * Requires a single-threaded process (it forks).
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <llvm-c/Support.h>

#include "base/compile_limits.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "compiler/backend/backend.h"
#include "compiler/ir/walk.h"

enum { BASE_SECONDS = 6, INSTRUCTIONS_PER_SECOND = 2000 };

/* Instruction selection and register allocation take time by the square of a block's length. */
static uint64_t squares_of_blocks(LLVMModuleRef module) {
    uint64_t sum = 0;
    igi_each_function(f, module) {
        igi_each_block(b, f) {
            uint64_t length = igi_block_length(b);
            sum += length * length;
        }
    }
    return sum;
}

static struct igc_module_size measure(LLVMModuleRef module) {
    struct igc_module_size size = {0};
    igi_each_function(f, module) {
        igi_each_block(b, f) {
            unsigned count = 0;
            igi_each_in_block(i, b) {
                count++;
            }
            size.instructions += count;
            size.blocks++;
            size.longest_block = count > size.longest_block ? count : size.longest_block;
        }
    }
    return size;
}

/* In the child: exit status 0 and the code, or 1 and a message. */
static int emit_to(int fd, LLVMModuleRef module, LLVMTargetMachineRef machine,
                   const struct igc_code_options *options, unsigned seconds,
                   const struct igc_module_size *size) {
    struct rlimit limit = {seconds, seconds + 1};
    setrlimit(RLIMIT_CPU, &limit);
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    LLVMMemoryBufferRef code;
    char *message = NULL;
    LLVMCodeGenFileType kind = options->assembly ? LLVMAssemblyFile : LLVMObjectFile;
    if (options->choose) {
        machine = options->choose(module, machine);
    }
    if (options->reduce) {
        options->reduce(module, size);
    }
    igc_work_add("machine code", squares_of_blocks(module));
    if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, kind, &message, &code)) {
        ig_write_all(fd, message, strlen(message));
        return 1;
    }
    return ig_write_all(fd, LLVMGetBufferStart(code), LLVMGetBufferSize(code)) != 0;
}

static void read_all(int fd, struct ig_text *out) {
    char block[65536];
    for (;;) {
        ssize_t got = read(fd, block, sizeof block);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return;
        }
        ig_text_append(out, block, (size_t)got);
    }
}

static ingot_status judge(int state, unsigned seconds, const struct ig_text *output,
                          struct ig_error *error) {
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0 && output->size && !output->failed) {
        return INGOT_OK;
    }
    if (WIFSIGNALED(state) && (WTERMSIG(state) == SIGXCPU || WTERMSIG(state) == SIGKILL)) {
        return ig_fail(error, INGOT_INTERNAL_ERROR,
                       "LLVM did not finish the machine code within %u s", seconds);
    }
    struct ig_compile_limits limits;
    if (WIFSIGNALED(state) && WTERMSIG(state) == SIGABRT && !ig_compile_limits(&limits, NULL)) {
        return ig_fail(
            error, INGOT_COMPILE_ERROR,
            "LLVM gave up while making machine code, as it does where memory is out: the "
            "limit is %llu bytes (INGOT_COMPILE_MEMORY)",
            (unsigned long long)limits.memory);
    }
    if (WIFSIGNALED(state)) {
        return ig_fail(error, INGOT_INTERNAL_ERROR,
                       "LLVM crashed with signal %d while making machine code", WTERMSIG(state));
    }
    return ig_fail(error, INGOT_INTERNAL_ERROR, "LLVM cannot emit code: %s",
                   ig_text_string(output));
}

ingot_status igc_emit_guarded(LLVMModuleRef module, LLVMTargetMachineRef machine,
                              const struct igc_code_options *options, LLVMMemoryBufferRef *out,
                              struct ig_error *error) {
    struct igc_module_size size = measure(module);
    unsigned seconds = BASE_SECONDS + size.instructions / INSTRUCTIONS_PER_SECOND;
    int ends[2];
    if (pipe(ends)) {
        return ig_fail(error, INGOT_IO_ERROR, "no pipe for the code generator: %s",
                       strerror(errno));
    }
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) {
        close(ends[0]);
        close(ends[1]);
        return ig_fail(error, INGOT_IO_ERROR, "no process for the code generator: %s",
                       strerror(errno));
    }
    if (pid == 0) {
        ig_process_end_with(parent);
        close(ends[0]);
        _exit(emit_to(ends[1], module, machine, options, seconds, &size));
    }
    close(ends[1]);
    struct ig_text output = {0};
    read_all(ends[0], &output);
    close(ends[0]);
    int state = 0;
    while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
    }
    ingot_status status = judge(state, seconds, &output, error);
    if (!status) {
        *out = LLVMCreateMemoryBufferWithMemoryRangeCopy(output.data, output.size, "code");
    }
    ig_text_free(&output);
    return status;
}

ingot_status igc_make_machine_code(struct igc_kernel *kernel,
                                   const struct igc_code_options *options, struct igc_code *code) {
    LLVMMemoryBufferRef object;
    double start = igc_time_now();
    igc_progress_at("machine code");
    ingot_status status =
        igc_emit_guarded(kernel->module, kernel->machine, options, &object, kernel->error);
    igc_time_add("machine code", igc_time_now() - start);
    if (status) {
        return status;
    }
    code->size = LLVMGetBufferSize(object);
    code->bytes = ig_arena_copy(kernel->arena, LLVMGetBufferStart(object), code->size);
    LLVMDisposeMemoryBuffer(object);
    return code->bytes ? INGOT_OK
                       : ig_fail(kernel->error, INGOT_OUT_OF_MEMORY,
                                 "no memory for the %zu bytes of code of kernel %s", code->size,
                                 kernel->name);
}
