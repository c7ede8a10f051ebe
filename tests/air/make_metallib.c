/*
 * make_metallib OUT.metallib SOURCE.ll: a library of the kernels of a module in LLVM's text, for
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

enum { MOST = 64 };

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

int main(int argc, char **argv) {
    LLVMContextRef context = LLVMContextCreate();
    LLVMMemoryBufferRef text;
    LLVMModuleRef module;
    char *message = NULL;
    if (argc != 3) {
        fprintf(stderr, "usage: make_metallib OUT.metallib SOURCE.ll\n");
        return 2;
    }
    if (LLVMCreateMemoryBufferWithContentsOfFile(argv[2], &text, &message) ||
        LLVMParseIRInContext(context, text, &module, &message)) {
        fprintf(stderr, "%s: %s\n", argv[2], message);
        return 1;
    }
    LLVMMemoryBufferRef bitcode = LLVMWriteBitcodeToMemoryBuffer(module);
    struct ig_metallib_function functions[MOST];
    size_t count = list(module, "air.kernel", IG_METALLIB_KERNEL, bitcode, functions, 0);
    count = list(module, "air.vertex", IG_METALLIB_VERTEX, bitcode, functions, count);
    struct ig_text out = {0};
    struct ig_error error = {0};
    metallib_write(functions, count, &out);
    if (out.failed || ig_file_write(argv[1], out.data, out.size, &error)) {
        fprintf(stderr, "%s\n", ig_error_text(&error));
        return 1;
    }
    ig_text_free(&out);
    LLVMDisposeMemoryBuffer(bitcode);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
    return 0;
}
