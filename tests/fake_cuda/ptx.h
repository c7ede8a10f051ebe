/*
 * A machine that runs PTX, so that code made for NVIDIA GPUs can be tested where there is none.
 *
 *   ptx_parse.c     text → instructions with resolved registers, labels and variables
 *   ptx_names.c     the names of types and instructions
 *   ptx_run.c       threadgroups, SIMD-groups and the schedule of lanes; branches, barriers
 *   ptx_scalar.c    instructions that one thread executes: arithmetic and conversions
 *   ptx_memory.c    loads, stores, atomics, asynchronous copies
 *   ptx_lanes.c     instructions that lanes execute together: shuffles, votes, matrices
 *   ptx_warpgroup.c     products of four SIMD-groups
 *   ptx_races.c     on request, races in threadgroup memory
 *
 * It is stricter than a GPU: an access outside every allocation, a misaligned one, lanes that wait
 * for each other for ever, and an instruction that it does not know are errors with the line of
 * the PTX text. So are races in threadgroup memory, on request (PTX_RACES=1). It checks results,
 * not speed.
 *
 * Grids that start early (programmatic stream serialization): nothing of the grid ahead is there
 * before griddepcontrol.wait, so a thread that touches global memory before it, or ends without
 * it, is an error. A thread that ends so would not keep its grid from ending before the one ahead,
 * and the grid behind waits for this one only.
 *
 * Two schedules. `converging`: of the lanes of a SIMD-group those at the lowest instruction go on,
 * which brings lanes together again as early as a GPU does. `adverse` (PTX_SCHEDULE=adverse:SEED):
 * lanes run apart in random order, which PTX allows, until an instruction with .sync or a barrier
 * brings them together.
 */
#ifndef FAKE_CUDA_PTX_H
#define FAKE_CUDA_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PTX_LANES         32
#define PTX_MAX_THREADS   1024
#define PTX_MAX_ELEMENTS  4 /* of a vector operand in its own room */
#define PTX_MAX_VECTOR    128
#define PTX_MAX_OPERANDS  8
#define PTX_SHARED_START  1024u
#define PTX_SHARED_WINDOW ((uint64_t)0x51 << 56)
#define PTX_LOCAL_WINDOW  ((uint64_t)0x52 << 56)
#define PTX_PARAM_WINDOW  ((uint64_t)0x53 << 56)
#define PTX_WINDOW_MASK   ((uint64_t)0xff << 56)

/* What createpolicy makes, and loads with a hint expect. */
#define PTX_POLICY UINT64_C(0x14f0000000000000)

enum ptx_kind { PTX_BITS, PTX_UNSIGNED, PTX_SIGNED, PTX_FLOAT, PTX_BFLOAT, PTX_PREDICATE };

struct ptx_type {
    uint8_t kind; /* enum ptx_kind */
    uint8_t bits; /* of an element; 0: no type */
    uint8_t pair; /* .f16x2, .bf16x2 */
};

enum ptx_space { PTX_GENERIC, PTX_GLOBAL, PTX_SHARED, PTX_LOCAL, PTX_PARAM, PTX_CONST };

enum ptx_operand_kind {
    PTX_NOTHING,
    PTX_REGISTER,
    PTX_IMMEDIATE,
    PTX_SPECIAL,  /* value: enum ptx_special */
    PTX_VARIABLE, /* value: index of the variable */
    PTX_VECTOR,   /* elements: registers, or -1 for _ */
    PTX_ADDRESS,  /* base: a register, a variable or neither; value: offset */
    PTX_LABEL,
};

struct ptx_operand {
    uint8_t kind, count;
    bool negated;       /* !%p1 */
    bool base_register; /* of an address */
    int32_t reg;        /* register; base of an address: register or variable, -1: none */
    int32_t second;     /* %r1|%p2; -1: none */
    int32_t elements[PTX_MAX_ELEMENTS];
    int32_t *many; /* all of them, if there are more than that */
    uint64_t value;
    bool is_float; /* an immediate 0f… or 0d… */
};

struct ptx_instruction;
struct ptx_machine;

struct ptx_instruction {
    int opcode; /* enum ptx_opcode */
    int line;
    int32_t guard; /* predicate register, -1: none */
    bool guard_negated;
    struct ptx_type type, from; /* the last two types of the name: result, operand */
    uint8_t space;              /* enum ptx_space */
    uint8_t vector;             /* 1, 2, 4 */
    uint8_t compare, combine;   /* setp: enum ptx_compare, enum ptx_combine */
    uint8_t operation;          /* atom, red, redux, vote, shfl, match …: enum ptx_operation */
    uint8_t rounding;           /* enum ptx_rounding */
    uint8_t wide;               /* mul, mad: enum ptx_width; shf, clz and others alike */
    bool ftz, saturate, approximate, integer_rounding, transposed, to_space, clamp;
    uint8_t matrices, depth; /* ldmatrix .x4; mma: k */
    uint16_t columns;        /* wgmma */
    uint8_t operand_count;
    struct ptx_operand operands[PTX_MAX_OPERANDS];
    char name[64];
    uint64_t memory_hint; /* of the allocation that was used last */
};

enum ptx_compare {
    PTX_EQ,
    PTX_NE,
    PTX_LT,
    PTX_LE,
    PTX_GT,
    PTX_GE,
    PTX_EQU,
    PTX_NEU,
    PTX_LTU,
    PTX_LEU,
    PTX_GTU,
    PTX_GEU,
    PTX_NUM,
    PTX_NAN
};
enum ptx_combine { PTX_ALONE, PTX_WITH_AND, PTX_WITH_OR, PTX_WITH_XOR };
enum ptx_rounding { PTX_NEAREST, PTX_ZERO, PTX_DOWN, PTX_UP, PTX_AWAY };
enum ptx_width { PTX_LOW, PTX_HIGH, PTX_WIDE };
enum ptx_operation {
    PTX_OP_ADD = 1,
    PTX_OP_MIN,
    PTX_OP_MAX,
    PTX_OP_AND,
    PTX_OP_OR,
    PTX_OP_XOR,
    PTX_OP_EXCHANGE,
    PTX_OP_CAS,
    PTX_OP_INC,
    PTX_OP_DEC,
    PTX_OP_ALL,
    PTX_OP_ANY,
    PTX_OP_UNI,
    PTX_OP_BALLOT,
    PTX_OP_UP,
    PTX_OP_DOWN,
    PTX_OP_BFLY,
    PTX_OP_IDX,
    PTX_OP_COMMIT,
    PTX_OP_WAIT,
    PTX_OP_WAIT_ALL,
    PTX_OP_COPY,
    PTX_OP_COUNT,
    PTX_OP_WAIT_GRIDS,
    PTX_OP_LET_START,
};

enum ptx_opcode {
#define X(enumerator, name) PTX_##enumerator,
#include "ptx_opcodes.def"
#undef X
    PTX_OPCODE_COUNT
};

enum ptx_special {
#define X(enumerator, name) PTX_##enumerator,
#include "ptx_specials.def"
#undef X
    PTX_SPECIAL_COUNT
};

struct ptx_variable {
    char *name;
    uint8_t space;
    uint64_t size, align;
    uint64_t offset; /* in shared memory, in the frame's local or parameter bytes */
    void *memory;    /* .global and .const */
    bool is_dynamic; /* .extern .shared */
};

struct ptx_function { /* an entry; functions are all inlined */
    char *name;
    int32_t entry; /* first instruction */
    uint32_t registers, local_bytes;
    uint8_t *register_bits;
};

struct ptx_module {
    struct ptx_instruction *code;
    struct ptx_variable *variables;
    struct ptx_function *functions;
    int32_t code_count, variable_count, function_count;
    uint32_t shared_bytes; /* statics, with PTX_SHARED_START */
    uint32_t max_threads;  /* .maxntid, or 1024 */
    uint32_t threads;      /* .reqntid; 0: any number up to that */
};

/* NULL with a message when the text is not understood. */
struct ptx_module *ptx_parse(const char *text, char *message, size_t message_size);
void ptx_free(struct ptx_module *module);
const struct ptx_function *ptx_find(const struct ptx_module *module, const char *name);
const struct ptx_variable *ptx_variable(const struct ptx_module *module, const char *name);

struct ptx_launch {
    const struct ptx_function *function;
    const void *parameters; /* of the entry's one parameter */
    unsigned grid[3], block[3], dynamic_shared;
    bool starts_early; /* while the grid ahead of it runs */
    /* True when the bytes are global memory of the process; `hint` is for the callee. */
    bool (*is_memory)(uint64_t address, size_t bytes, uint64_t *hint);
};

enum ptx_fault {
    PTX_FINE,
    PTX_BAD_ADDRESS,
    PTX_MISALIGNED,
    PTX_UNKNOWN,
    PTX_STUCK,
    PTX_TRAPPED,
    PTX_RACE,
    PTX_TOO_EARLY
};

/* Runs the grid; on a fault, what it was. */
enum ptx_fault ptx_run(struct ptx_module *module, const struct ptx_launch *launch, char *message,
                       size_t message_size);

/* ---- between the files of the machine ---- */

/* The type of a name such as "f32"; false if it is none. */
bool ptx_type_of(const char *text, struct ptx_type *type);
/* Takes a name such as "add.rn.f32" apart; gives the piece that is not known, or NULL. */
const char *ptx_read_name(char *text, struct ptx_instruction *to);

enum ptx_state { PTX_READY, PTX_AT_SYNC, PTX_AT_BARRIER, PTX_DONE };

struct ptx_copy { /* cp.async that has not happened yet */
    char *to;
    const char *from;
    uint32_t bytes, copied; /* the rest is zeros */
    uint32_t group;
};

#define PTX_MAX_PRODUCTS 64

struct ptx_product {      /* wgmma that has not been waited for */
    uint64_t left, right; /* descriptors; left: 0 for registers */
    bool left_turned, right_turned;
    uint16_t columns;
    uint32_t group;
    uint64_t seen; /* what was read, as a number */
    const struct ptx_instruction *in;
};

struct ptx_thread {
    enum ptx_state state;
    int32_t pc;
    uint32_t index; /* in the threadgroup */
    const struct ptx_function *function;
    uint64_t *registers;
    char *local;
    bool has_waited; /* for the grids ahead of this one */
    uint32_t barrier;
    uint64_t barrier_count; /* 0: all threads */
    int32_t barrier_result; /* a register for how many threads were there and said yes; -1: none */
    bool barrier_vote;
    struct ptx_copy *copies;
    uint32_t copy_count, copy_room, copy_group;
    uint32_t clock, seen[PTX_LANES]; /* ptx_races.c */
    struct ptx_product *products;    /* of a SIMD-group, in its first thread */
    uint32_t product_count, product_group;
};

struct ptx_machine {
    struct ptx_module *module;
    const struct ptx_launch *launch;
    const struct ptx_function *function;
    unsigned block[3]; /* position of the threadgroup */
    uint32_t thread_count;
    char *shared;
    uint32_t shared_bytes;
    struct ptx_shade *shades; /* of the bytes of shared memory; NULL: races are not looked for */
    uint32_t epoch;           /* barriers so far */
    struct ptx_thread *threads;
    bool adverse;
    uint64_t random, steps, max_steps, fair_at;
    enum ptx_fault fault;
    char *message;
    size_t message_size;
};

__attribute__((format(printf, 5, 6))) void ptx_fail(struct ptx_machine *machine,
                                                    const struct ptx_thread *thread,
                                                    const struct ptx_instruction *instruction,
                                                    enum ptx_fault fault, const char *format, ...);
uint32_t ptx_random(struct ptx_machine *machine);

/* The value of an operand, as many bits as the register has; immediates as `type` has them. */
uint64_t ptx_read(struct ptx_machine *machine, const struct ptx_thread *thread,
                  const struct ptx_operand *operand, struct ptx_type type);
uint64_t ptx_read_element(const struct ptx_thread *thread, const struct ptx_operand *operand,
                          int element);
void ptx_write(struct ptx_thread *thread, int32_t reg, uint64_t value);
/* The register of an element of a vector operand; -1: none. */
int32_t ptx_element(const struct ptx_operand *operand, int element);

void ptx_execute(struct ptx_machine *machine, struct ptx_thread *thread,
                 struct ptx_instruction *instruction);
void ptx_access(struct ptx_machine *machine, struct ptx_thread *thread,
                struct ptx_instruction *instruction);
/* Host memory of an address, NULL after a fault. */
void *ptx_memory(struct ptx_machine *machine, struct ptx_thread *thread,
                 struct ptx_instruction *instruction, int space, uint64_t address, size_t bytes,
                 size_t align);
uint64_t ptx_address(struct ptx_machine *machine, const struct ptx_thread *thread,
                     const struct ptx_operand *operand);
uint64_t ptx_variable_address(const struct ptx_machine *machine, const struct ptx_thread *thread,
                              const struct ptx_variable *variable);

/* For lanes together: `mask` of the lanes of the SIMD-group at `threads`. */
bool ptx_is_sync(const struct ptx_instruction *instruction);
uint32_t ptx_member_mask(struct ptx_machine *machine, const struct ptx_thread *thread,
                         const struct ptx_instruction *instruction);
void ptx_execute_lanes(struct ptx_machine *machine, struct ptx_thread *threads, uint32_t mask,
                       struct ptx_instruction *instruction);

/* wgmma, of one of the four SIMD-groups. */
void ptx_execute_warpgroup(struct ptx_machine *machine, struct ptx_thread *threads,
                           struct ptx_instruction *instruction);

/* Races; all do nothing unless they were asked for. */
struct ptx_shade;
bool ptx_races_start(struct ptx_machine *machine);
void ptx_races_synced(struct ptx_machine *machine, struct ptx_thread *threads, uint32_t mask);
void ptx_races_access(struct ptx_machine *machine, const struct ptx_thread *thread,
                      const struct ptx_instruction *instruction, uint32_t at, size_t bytes,
                      bool writes);

/* Half and bfloat numbers. */
float ptx_half_to_float(uint16_t bits);
uint16_t ptx_float_to_half(double value);
float ptx_bfloat_to_float(uint16_t bits);
uint16_t ptx_float_to_bfloat(double value);
/* The combination of two values by an operation of atom and redux. */
uint64_t ptx_combine_values(int operation, struct ptx_type type, uint64_t a, uint64_t b);
double ptx_to_double(uint64_t bits, struct ptx_type type);

#endif
