/*
 * make_metallib OUT.metallib SOURCE.ll...: a library of the kernels of modules in LLVM's text, for
 * tests of the AIR front end. Functions in the named metadata !air.vertex are listed as vertex
 * functions.
 */
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "metallib_writer.h"

enum { MOST = 64, SOURCES = 8 };

static size_t list(LLVMModuleRef module, const char *name, uint32_t type,
                   LLVMMemoryBufferRef bitcode, struct ig_metallib_function *functions,
                   size_t count) {
    LLVMValueRef nodes[MOST], operands[MOST];
    const unsigned found = LLVMGetNamedMetadataNumOperands(module, name);
    if (found > MOST - count) {
        return count;
    }
    LLVMGetNamedMetadataOperands(module, name, nodes);
    for (unsigned i = 0; i < found; i++) {
        size_t length;
        LLVMGetMDNodeOperands(nodes[i], operands);
        functions[count++] = (struct ig_metallib_function){
            .name = LLVMGetValueName2(operands[0], &length),
            .type = type,
            .module = LLVMGetBufferStart(bitcode),
            .module_size = LLVMGetBufferSize(bitcode),
        };
    }
    return count;
}

/* Names and code stay in memory, for the library. */
struct source {
    LLVMModuleRef module;
    LLVMMemoryBufferRef bitcode;
};

/* Adds the functions of a file. 0: none, or none can be read. */
static size_t list_file(LLVMContextRef context, const char *path, struct source *source,
                        struct ig_metallib_function *functions, size_t count) {
    LLVMMemoryBufferRef text;
    char *message = NULL;
    if (LLVMCreateMemoryBufferWithContentsOfFile(path, &text, &message) ||
        LLVMParseIRInContext(context, text, &source->module, &message)) {
        fprintf(stderr, "%s: %s\n", path, message);
        return 0;
    }
    source->bitcode = LLVMWriteBitcodeToMemoryBuffer(source->module);
    count =
        list(source->module, "air.kernel", IG_METALLIB_KERNEL, source->bitcode, functions, count);
    return list(source->module, "air.vertex", IG_METALLIB_VERTEX, source->bitcode, functions,
                count);
}

int main(int argc, char **argv) {
    LLVMContextRef context = LLVMContextCreate();
    struct ig_metallib_function functions[MOST];
    struct source sources[SOURCES] = {0};
    size_t count = 0;
    if (argc < 3 || argc - 2 > SOURCES) {
        fprintf(stderr, "usage: make_metallib OUT.metallib SOURCE.ll... (%d at most)\n", SOURCES);
        return 2;
    }
    for (int i = 2; i < argc; i++) {
        count = list_file(context, argv[i], &sources[i - 2], functions, count);
        if (!count) {
            return 1;
        }
    }
    struct ig_text out = {0};
    struct ig_error error = {0};
    metallib_write(functions, count, &out);
    if (out.failed || ig_file_write(argv[1], out.data, out.size, &error)) {
        fprintf(stderr, "%s\n", ig_error_text(&error));
        return 1;
    }
    ig_text_free(&out);
    for (int i = 0; i < argc - 2; i++) {
        LLVMDisposeMemoryBuffer(sources[i].bitcode);
        LLVMDisposeModule(sources[i].module);
    }
    LLVMContextDispose(context);
    return 0;
}
