/* igc_promote_half: comparisons and intrinsics on half become float, and nothing else changes. */
#include <llvm-c/Analysis.h>
#include <llvm-c/IRReader.h>
#include <string.h>

#include "check.h"
#include "compiler/cpu/cpu.h"
#include "compiler/driver/driver.h"

static const char source[] =
    "declare <16 x half> @llvm.floor.v16f16(<16 x half>)\n"
    "declare <16 x half> @llvm.maxnum.v16f16(<16 x half>, <16 x half>)\n"
    "declare <16 x half> @llvm.fma.v16f16(<16 x half>, <16 x half>, <16 x half>)\n"
    "declare half @llvm.sqrt.f16(half)\n"
    "declare <16 x half> @llvm.fabs.v16f16(<16 x half>)\n"
    "declare <16 x float> @llvm.floor.v16f32(<16 x float>)\n"
    "define <16 x half> @f(<16 x half> %a, <16 x half> %b, <16 x float> %c, half %d) {\n"
    "  %floor = call <16 x half> @llvm.floor.v16f16(<16 x half> %a)\n"
    "  %max = call nnan <16 x half> @llvm.maxnum.v16f16(<16 x half> %floor, <16 x half> %b)\n"
    "  %fma = call <16 x half> @llvm.fma.v16f16(<16 x half> %a, <16 x half> %b, <16 x half> %max)\n"
    "  %less = fcmp olt <16 x half> %fma, %b\n"
    "  %chosen = select <16 x i1> %less, <16 x half> %fma, <16 x half> %b\n"
    "  %root = call half @llvm.sqrt.f16(half %d)\n"
    "  %above = fcmp ogt half %root, %d\n"
    "  %abs = call <16 x half> @llvm.fabs.v16f16(<16 x half> %chosen)\n"
    "  %other = call <16 x float> @llvm.floor.v16f32(<16 x float> %c)\n"
    "  %narrow = fptrunc <16 x float> %other to <16 x half>\n"
    "  %sum = fadd <16 x half> %abs, %narrow\n"
    "  %result = select i1 %above, <16 x half> %sum, <16 x half> %abs\n"
    "  ret <16 x half> %result\n"
    "}\n";

static size_t occurrences(const char *text, const char *word) {
    size_t count = 0;
    for (const char *p = text; (p = strstr(p, word)); p++) {
        count++;
    }
    return count;
}

int main(void) {
    LLVMContextRef context = LLVMContextCreate();
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(source, sizeof source - 1, "half");
    LLVMModuleRef module = NULL;
    char *message = NULL;
    CHECK(!LLVMParseIRInContext(context, buffer, &module, &message));
    if (module) {
        igc_promote_half(module);
        CHECK(!LLVMVerifyModule(module, LLVMReturnStatusAction, &message));
        char *text = LLVMPrintModuleToString(module);
        const char *body = strstr(text, "define");
        CHECK(body && occurrences(body, "@llvm.floor.v16f16(") == 0);
        CHECK(body && occurrences(body, "@llvm.maxnum.v16f16(") == 0);
        CHECK(body && occurrences(body, "@llvm.fma.v16f16(") == 0);
        CHECK(body && occurrences(body, "@llvm.sqrt.f16(") == 0);
        CHECK(body && occurrences(body, "@llvm.floor.v16f32(") == 2);
        CHECK(body && occurrences(body, "call nnan <16 x float> @llvm.maxnum.v16f32(") == 1);
        CHECK(body && occurrences(body, "@llvm.fabs.v16f16(") == 1);
        CHECK(body && occurrences(body, "fcmp olt <16 x float>") == 1);
        CHECK(body && occurrences(body, "fcmp ogt float") == 1);
        CHECK(body && occurrences(body, "fadd <16 x half>") == 1);
        LLVMDisposeMessage(text);
        LLVMDisposeModule(module);
    }
    LLVMDisposeMessage(message);
    LLVMContextDispose(context);
    return check_report();
}
