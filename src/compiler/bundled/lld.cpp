/* lld's own main, for ELF alone. In C++, because lld has no C interface. */
#include "compiler/bundled/bundled.h"

#include <lld/Common/Driver.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>
#include <vector>

LLD_HAS_DRIVER(elf)

int igc_bundled_lld(int argc, char **argv) {
    llvm::install_out_of_memory_new_handler();
    std::vector<const char *> arguments(argv + 1, argv + argc);
    arguments[0] = "ld.lld";
    bool ends_process = true; /* sooner than by freeing everything */
    return !lld::elf::link(arguments, llvm::outs(), llvm::errs(), ends_process, false);
}

/* LLVM as distributions build it calls the extensions that it was built with (Polly); none is
 * linked in, and nothing here asks for one. */
#define HANDLE_EXTENSION(Ext)                                                                      \
    llvm::PassPluginLibraryInfo get##Ext##PluginInfo();                                            \
    llvm::PassPluginLibraryInfo get##Ext##PluginInfo() {                                           \
        return {LLVM_PLUGIN_API_VERSION, #Ext, "", [](llvm::PassBuilder &) {}};                    \
    }
#include <llvm/Support/Extension.def>
