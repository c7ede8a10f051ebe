/*
 * What clang's own `clang -cc1` does, for the few things that ingotc asks for. In C++, because
 * clang has no C interface for it. Ends the process without freeing anything.
 */
#include "compiler/bundled/bundled.h"

#include <clang/Basic/Stack.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/FrontendDiagnostic.h>
#include <clang/Frontend/MultiplexConsumer.h>
#include <clang/Frontend/TextDiagnosticBuffer.h>
#include <clang/Sema/Sema.h>
#include <clang/Sema/SemaConsumer.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <unistd.h>

/*
 * The prelude's functions are not looked through again in every compilation. clang lists the
 * functions of device code whose diagnostics wait until it is known what they are called from, and
 * reads all of a precompiled header's at the end of each source: half of its time on a small one.
 * The prelude has no such diagnostics, and functions of the source are followed into it all the
 * same. Functions that sources may call by another declaration, of the same assembler name, stay:
 * to be read is how the code generator comes to know them. The list is private; an explicit
 * instantiation may name it.
 */
using deferred_list = llvm::SmallSetVector<clang::Decl *, 4>;
deferred_list &deferred(clang::Sema &sema);
template <deferred_list clang::Sema::*member> struct name_deferred {
    friend deferred_list &deferred(clang::Sema &sema) {
        return sema.*member;
    }
};
template struct name_deferred<&clang::Sema::DeclsToCheckForDeferredDiags>;

struct forget_deferred : clang::SemaConsumer {
    void InitializeSema(clang::Sema &given) override {
        sema = &given;
    }
    void HandleTranslationUnit(clang::ASTContext &) override {
        deferred(*sema).remove_if(
            [](const clang::Decl *listed) { return !listed->hasAttr<clang::AsmLabelAttr>(); });
        sema->UnusedLocalTypedefNameCandidates.clear(); /* for a warning that is off */
    }
    clang::Sema *sema = nullptr;
};

struct precompile : clang::GeneratePCHAction {
    std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance &compiler,
                                                          llvm::StringRef file) override {
        std::vector<std::unique_ptr<clang::ASTConsumer>> consumers;
        consumers.push_back(std::make_unique<forget_deferred>());
        consumers.push_back(clang::GeneratePCHAction::CreateASTConsumer(compiler, file));
        return std::make_unique<clang::MultiplexConsumer>(std::move(consumers));
    }
};

/* Kernels take their arguments by other means, so their parameters have no names and no values. A
 * debugger would list them beside the variables that hold the arguments. */
struct hide_nameless_parameters : clang::ASTConsumer {
    bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
        for (clang::Decl *declared : group) {
            if (auto *templated = llvm::dyn_cast<clang::FunctionTemplateDecl>(declared)) {
                declared = templated->getTemplatedDecl();
            }
            if (auto *function = llvm::dyn_cast<clang::FunctionDecl>(declared)) {
                hide(*function);
            }
        }
        return true;
    }
    static void hide(clang::FunctionDecl &function) {
        for (clang::ParmVarDecl *parameter : function.parameters()) {
            if (!parameter->getIdentifier() && !parameter->hasAttr<clang::NoDebugAttr>()) {
                parameter->addAttr(clang::NoDebugAttr::CreateImplicit(function.getASTContext()));
            }
        }
    }
};

struct emit_bitcode : clang::EmitBCAction {
    std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance &compiler,
                                                          llvm::StringRef file) override {
        auto generator = clang::EmitBCAction::CreateASTConsumer(compiler, file);
        if (!generator || !compiler.getCodeGenOpts().hasReducedDebugInfo()) {
            return generator;
        }
        std::vector<std::unique_ptr<clang::ASTConsumer>> consumers;
        consumers.push_back(std::make_unique<hide_nameless_parameters>());
        consumers.push_back(std::move(generator));
        return std::make_unique<clang::MultiplexConsumer>(std::move(consumers));
    }
};

static std::unique_ptr<clang::FrontendAction> action_for(clang::frontend::ActionKind kind) {
    switch (kind) {
    case clang::frontend::PrintPreprocessedInput:
        return std::make_unique<clang::PrintPreprocessedAction>();
    case clang::frontend::GeneratePCH:
        return std::make_unique<precompile>();
    case clang::frontend::EmitBC:
        return std::make_unique<emit_bitcode>();
    case clang::frontend::EmitLLVM:
        return std::make_unique<clang::EmitLLVMAction>();
    case clang::frontend::ParseSyntaxOnly:
        return std::make_unique<clang::SyntaxOnlyAction>();
    default:
        return nullptr;
    }
}

[[noreturn]] static void end(bool good) {
    llvm::outs().flush();
    llvm::errs().flush();
    _exit(good ? 0 : 1);
}

static void report_fatal(void *context, const char *message, bool) {
    static_cast<clang::DiagnosticsEngine *>(context)->Report(clang::diag::err_fe_error_backend)
        << message;
    end(false);
}

int igc_bundled_clang(int argc, char **argv) {
    clang::noteBottomOfStack();
    llvm::install_out_of_memory_new_handler();
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();

    auto compiler = std::make_unique<clang::CompilerInstance>();
    auto *early = new clang::TextDiagnosticBuffer;
    clang::DiagnosticsEngine early_diagnostics(new clang::DiagnosticIDs,
                                               new clang::DiagnosticOptions, early);
    llvm::ArrayRef<const char *> arguments(argv + 2, argv + argc);
    bool understood = clang::CompilerInvocation::CreateFromArgs(
        compiler->getInvocation(), arguments, early_diagnostics, argv[0]);
    compiler->createDiagnostics();
    clang::DiagnosticsEngine &diagnostics = compiler->getDiagnostics();
    llvm::install_fatal_error_handler(report_fatal, &diagnostics);
    early->FlushDiagnostics(diagnostics);
    auto action = action_for(compiler->getFrontendOpts().ProgramAction);
    if (understood && !action) {
        llvm::errs() << "error: ingotc's clang has no such action\n";
    }
    if (!understood || !action) {
        compiler->getDiagnosticClient().finish();
        end(false);
    }
    compiler->getFrontendOpts().DisableFree = true;
    bool good = compiler->ExecuteAction(*action);
    action.release();
    compiler.release();
    end(good);
}
