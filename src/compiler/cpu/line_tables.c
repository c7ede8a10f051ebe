/*
 * Line tables, so that gdb and perf show lines of the Metal source.
 *
 * Clang's debug information belongs to the scalar kernel. Each vectorised function gets a
 * description of its own in the kernel's file, to which the vectoriser attaches the lines of the
 * scalar instructions; so do the functions around them, of which only the calls get a line, since
 * LLVM needs one where it inlines. Does nothing for a kernel without debug information.
 */
#include <llvm-c/DebugInfo.h>
#include <string.h>

#include "compiler/cpu/cpu.h"
#include "compiler/ir/walk.h"

void igc_lines_start(struct igc_lines *lines, LLVMModuleRef module, LLVMValueRef kernel) {
    static const char producer[] = "ingotc";
    *lines = (struct igc_lines){0};
    LLVMMetadataRef described = LLVMGetSubprogram(kernel);
    if (!described) {
        return;
    }
    lines->builder = LLVMCreateDIBuilder(module);
    lines->file = LLVMDIScopeGetFile(described);
    lines->line = LLVMDISubprogramGetLine(described);
    LLVMDIBuilderCreateCompileUnit(lines->builder, LLVMDWARFSourceLanguageC_plus_plus_14,
                                   lines->file, producer, sizeof producer - 1, true, "", 0, 0, "",
                                   0, LLVMDWARFEmissionLineTablesOnly, 0, false, false, "", 0, "",
                                   0);
    lines->type =
        LLVMDIBuilderCreateSubroutineType(lines->builder, lines->file, NULL, 0, LLVMDIFlagZero);
}

LLVMMetadataRef igc_lines_describe(struct igc_lines *lines, const char *name, const char *symbol) {
    return lines->builder ? LLVMDIBuilderCreateFunction(lines->builder, lines->file, name,
                                                        strlen(name), symbol, strlen(symbol),
                                                        lines->file, lines->line, lines->type, true,
                                                        true, lines->line, LLVMDIFlagZero, true)
                          : NULL;
}

void igc_lines_finish(struct igc_lines *lines, LLVMModuleRef module) {
    if (!lines->builder) {
        return;
    }
    LLVMContextRef context = LLVMGetModuleContext(module);
    igi_each_function(f, module) {
        size_t length;
        const char *name = LLVMGetValueName2(f, &length);
        if (LLVMIsDeclaration(f) || LLVMGetSubprogram(f)) {
            continue;
        }
        LLVMMetadataRef description = igc_lines_describe(lines, name, name);
        LLVMMetadataRef place =
            LLVMDIBuilderCreateDebugLocation(context, lines->line, 0, description, NULL);
        LLVMSetSubprogram(f, description);
        igi_each_instruction(in, f) {
            if (LLVMIsACallInst(in)) {
                LLVMInstructionSetDebugLoc(in, place);
            }
        }
    }
    LLVMDIBuilderFinalize(lines->builder);
}

void igc_lines_free(struct igc_lines *lines) {
    if (lines->builder) {
        LLVMDisposeDIBuilder(lines->builder);
    }
    lines->builder = NULL;
}
