/*
 * clang's front end and lld within ingotc, where it is linked with LLVM's static libraries: then
 * compiling needs no other program. They run as processes of their own all the same (forks of
 * ingotc), so that crashes, limits of time and memory, and strangers' sources are theirs.
 */
#ifndef INGOT_COMPILER_BUNDLED_H
#define INGOT_COMPILER_BUNDLED_H

#ifdef __cplusplus
extern "C" {
#endif

/* The second word of a command line that asks for a tool; what follows is the tool's own. */
#define IGC_AS_CLANG "-cc1" /* clang's own word */
#define IGC_AS_LLD   "-lld"

/* The program that can be asked, this one; NULL: clang and lld are programs of their own. */
const char *igc_bundled_tools(void);
/* What runs its tools within a fork of this program (base/process.h); NULL: `program` is another,
 * or has none. */
typedef int igc_tool_fn(int argc, char **argv);
igc_tool_fn *igc_bundled_inside(const char *program);
void igc_bundled_found(igc_tool_fn *run); /* this program is one */

/* For main of a program that has them, before anything else: runs the tool that the command line
 * asks for, and returns its exit status; -1 when it asks for none. From then on igc_bundled_tools
 * is this program. */
int igc_bundled_start(int argc, char **argv);

/* `argv` begins with the program's name and the word. clang.cpp does what ingotc asks of clang:
 * preprocess, precompile, emit LLVM IR. */
int igc_bundled_clang(int argc, char **argv);
int igc_bundled_lld(int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif
