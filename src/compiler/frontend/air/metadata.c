/*
 * What Apple's compiler says of a kernel: !air.kernel names the function and gives each argument a
 * node of keys and values. Nothing of it is trusted: kinds and counts are checked, and what is
 * missing has a default or is refused.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/frontend/air/air.h"

struct node {
    unsigned count;
    LLVMValueRef *operands;
};

static ingot_status damaged(const struct iga_module *m, const char *what) {
    return ig_fail(m->error, INGOT_COMPILE_ERROR,
                   "%s: the metadata of %s is damaged, or newer than ingot knows: %s", m->source,
                   m->name, what);
}

/* A node's operands; none for what is no node. */
static struct node open_node(struct iga_module *m, LLVMValueRef value) {
    struct node node = {0};
    unsigned length;
    if (!value || !LLVMIsAMDNode(value) || LLVMGetMDString(value, &length)) {
        return node;
    }
    const unsigned count = LLVMGetMDNodeNumOperands(value);
    node.operands = ig_arena_array(m->arena, count + 1, sizeof *node.operands);
    if (node.operands) {
        node.count = count;
        LLVMGetMDNodeOperands(value, node.operands);
    }
    return node;
}

/* The arena's copy; NULL for what is no string. */
static const char *string_at(struct iga_module *m, const struct node *node, unsigned at) {
    unsigned length;
    LLVMValueRef value = at < node->count ? node->operands[at] : NULL;
    const char *text = value && LLVMIsAMDString(value) ? LLVMGetMDString(value, &length) : NULL;
    return text ? ig_arena_copy(m->arena, text, length) : NULL;
}

static bool number_at(const struct node *node, unsigned at, uint64_t *number) {
    LLVMValueRef value = at < node->count ? node->operands[at] : NULL;
    if (!value || !LLVMIsAConstantInt(value) || LLVMGetIntTypeWidth(LLVMTypeOf(value)) > 64) {
        return false;
    }
    *number = LLVMConstIntGetZExtValue(value);
    return true;
}

/* The place of what follows a key; node->count when there is no such key. */
static unsigned after(struct iga_module *m, const struct node *node, const char *key) {
    for (unsigned i = 0; i + 1 < node->count; i++) {
        const char *text = string_at(m, node, i);
        if (text && !strcmp(text, key)) {
            return i + 1;
        }
    }
    return node->count;
}

static bool has(struct iga_module *m, const struct node *node, const char *key) {
    for (unsigned i = 0; i < node->count; i++) {
        const char *text = string_at(m, node, i);
        if (text && !strcmp(text, key)) {
            return true;
        }
    }
    return false;
}

static uint64_t number_of(struct iga_module *m, const struct node *node, const char *key,
                          uint64_t otherwise) {
    uint64_t number = otherwise;
    number_at(node, after(m, node, key), &number);
    return number;
}

void iga_scalar_type(const char *type_name, uint32_t *scalar, uint32_t *components) {
    static const struct {
        const char *name;
        uint32_t scalar;
    } types[] = {
        {"bool", INGOT_SCALAR_BOOL}, {"char", INGOT_SCALAR_I8},     {"uchar", INGOT_SCALAR_U8},
        {"short", INGOT_SCALAR_I16}, {"ushort", INGOT_SCALAR_U16},  {"int", INGOT_SCALAR_I32},
        {"uint", INGOT_SCALAR_U32},  {"long", INGOT_SCALAR_I64},    {"ulong", INGOT_SCALAR_U64},
        {"half", INGOT_SCALAR_F16},  {"bfloat", INGOT_SCALAR_BF16}, {"float", INGOT_SCALAR_F32},
    };
    static const char packed[] = "packed_";
    *scalar = *components = 0;
    if (!strncmp(type_name, packed, sizeof packed - 1)) {
        type_name += sizeof packed - 1;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const size_t length = strlen(types[i].name);
        const char *rest = type_name + length;
        if (!strncmp(type_name, types[i].name, length) &&
            (!*rest || (*rest >= '2' && *rest <= '4' && !rest[1]))) {
            *scalar = types[i].scalar;
            *components = *rest ? (uint32_t)(*rest - '0') : 1;
        }
    }
}

/* ---- arguments ---- */

static ingot_status read_buffer(struct iga_module *m, const struct node *node,
                                struct iga_argument *argument) {
    const uint64_t space = number_of(m, node, "air.address_space", 1);
    const uint64_t index = number_of(m, node, "air.location_index", UINT64_MAX);
    if (space < 1 || space > 3 || index > UINT32_MAX) {
        return damaged(m, "a buffer has no index, or an address space that Metal does not have");
    }
    static const uint32_t spaces[] = {0, INGOT_SPACE_DEVICE, INGOT_SPACE_CONSTANT,
                                      INGOT_SPACE_THREADGROUP};
    argument->space = spaces[space];
    argument->index = (uint32_t)index;
    argument->size = number_of(m, node, "air.arg_type_size", 1);
    argument->align = number_of(m, node, "air.arg_type_align_size", 1);
    /* a size that is stated is a reference's, or that of an array */
    argument->is_reference = number_of(m, node, "air.buffer_size", 0) == argument->size;
    argument->is_writable = has(m, node, "air.read_write") || has(m, node, "air.write");
    return INGOT_OK;
}

/* A conditional argument's node names the global that says whether it is there. */
static LLVMValueRef read_condition(struct iga_module *m, const struct node *node) {
    const unsigned at = after(m, node, "air.function_constant");
    const struct node condition = open_node(m, at < node->count ? node->operands[at] : NULL);
    LLVMValueRef global = condition.count ? condition.operands[0] : NULL;
    return global && LLVMIsAGlobalVariable(global) ? global : NULL;
}

static ingot_status read_argument(struct iga_module *m, const struct node *node,
                                  unsigned parameter_count, struct iga_kernel *kernel) {
    uint64_t parameter;
    if (!number_at(node, 0, &parameter) || parameter >= parameter_count) {
        return damaged(m, "an argument does not say which parameter it is");
    }
    struct iga_argument *argument = &kernel->arguments[parameter];
    argument->parameter = (unsigned)parameter;
    for (unsigned i = 1; i < node->count && !argument->role; i++) {
        const char *text = string_at(m, node, i);
        argument->role = text && !strncmp(text, "air.", 4) && strcmp(text, "air.function_constant")
                             ? text
                             : NULL;
    }
    if (!argument->role) {
        return damaged(m, "an argument does not say what it is");
    }
    const char *name = string_at(m, node, after(m, node, "air.arg_name"));
    const char *type = string_at(m, node, after(m, node, "air.arg_type_name"));
    argument->name = name ? name : ig_arena_printf(m->arena, "argument%u", argument->parameter);
    argument->type_name = type ? type : "char";
    argument->is_unused = has(m, node, "air.arg_unused");
    argument->condition = read_condition(m, node);
    if (!strcmp(argument->role, "air.buffer") || !strcmp(argument->role, "air.indirect_buffer")) {
        argument->kind = IGA_BUFFER;
        return read_buffer(m, node, argument);
    }
    argument->kind = IGA_OTHER; /* entry.c knows the positions, and refuses what is none */
    return INGOT_OK;
}

static ingot_status read_arguments(struct iga_module *m, LLVMValueRef list,
                                   struct iga_kernel *kernel) {
    const struct node nodes = open_node(m, list);
    const unsigned count = LLVMCountParams(kernel->function);
    kernel->arguments = ig_arena_array(m->arena, count + 1, sizeof *kernel->arguments);
    if (!kernel->arguments) {
        return ig_fail(m->error, INGOT_OUT_OF_MEMORY, "no memory for the arguments of %s", m->name);
    }
    kernel->argument_count = count;
    for (unsigned i = 0; i < nodes.count; i++) {
        const struct node node = open_node(m, nodes.operands[i]);
        ingot_status status = read_argument(m, &node, count, kernel);
        if (status) {
            return status;
        }
    }
    for (unsigned i = 0; i < count; i++) {
        if (!kernel->arguments[i].role) {
            return damaged(m, "a parameter of the function is not described");
        }
    }
    return INGOT_OK;
}

static ingot_status list_kernels(struct iga_module *m, LLVMValueRef **kernels, unsigned *count) {
    static const char list[] = "air.kernel";
    *count = LLVMGetNamedMetadataNumOperands(m->module, list);
    *kernels = ig_arena_array(m->arena, *count + 1, sizeof **kernels);
    if (!*kernels) {
        return ig_fail(m->error, INGOT_OUT_OF_MEMORY, "no memory for the kernels of %s", m->source);
    }
    LLVMGetNamedMetadataOperands(m->module, list, *kernels);
    return INGOT_OK;
}

ingot_status iga_kernel_names(struct iga_module *m, const char *const **names, size_t *count) {
    LLVMValueRef *kernels;
    unsigned listed;
    ingot_status status = list_kernels(m, &kernels, &listed);
    const char **found =
        status ? NULL : ig_arena_array(m->arena, (size_t)listed + 1, sizeof *found);
    *count = 0;
    for (unsigned i = 0; found && i < listed; i++) {
        const struct node node = open_node(m, kernels[i]);
        LLVMValueRef function = node.count ? node.operands[0] : NULL;
        if (function && LLVMIsAFunction(function)) {
            size_t length;
            const char *name = LLVMGetValueName2(function, &length);
            found[(*count)++] = ig_arena_copy(m->arena, name, length);
        }
    }
    *names = found;
    return found ? INGOT_OK
                 : ig_fail(m->error, INGOT_OUT_OF_MEMORY, "no memory for the kernels of %s",
                           m->source);
}

ingot_status iga_read_kernel(struct iga_module *m, struct iga_kernel *kernel) {
    *kernel = (struct iga_kernel){0};
    LLVMValueRef *kernels;
    unsigned count;
    ingot_status listed = list_kernels(m, &kernels, &count);
    for (unsigned i = 0; !listed && i < count && !kernel->function; i++) {
        const struct node node = open_node(m, kernels[i]);
        LLVMValueRef function = node.count >= 3 ? node.operands[0] : NULL;
        size_t length;
        if (!function || !LLVMIsAFunction(function) || LLVMIsDeclaration(function) ||
            (count > 1 && strcmp(LLVMGetValueName2(function, &length), m->name))) {
            continue; /* the only kernel of a module is the one that was asked for */
        }
        kernel->function = function;
        ingot_status status = read_arguments(m, node.operands[2], kernel);
        for (unsigned k = 3; k < node.count && !status; k++) {
            const struct node more = open_node(m, node.operands[k]);
            kernel->max_threads =
                (uint32_t)number_of(m, &more, "air.max_work_group_size", kernel->max_threads);
        }
        if (status) {
            return status;
        }
    }
    return listed             ? listed
           : kernel->function ? INGOT_OK
                              : damaged(m, "no kernel of this name has a body");
}

/* ---- function constants ---- */

enum { LARGEST_CONSTANT = 32 }; /* bytes: long4 */

/* The bytes of a function constant, which are no more than a vector has; 0: it is none. */
static uint64_t constant_size(const struct iga_module *m, LLVMValueRef global) {
    LLVMTypeRef type = LLVMGlobalGetValueType(global);
    const uint64_t size =
        LLVMTypeIsSized(type) ? LLVMABISizeOfType(LLVMGetModuleDataLayout(m->module), type) : 0;
    return size <= LARGEST_CONSTANT ? size : 0;
}

static ingot_status read_constant(struct iga_module *m, const struct node *node,
                                  struct ig_constant *constant, LLVMValueRef *global) {
    uint64_t index;
    const char *type = string_at(m, node, 1), *name = string_at(m, node, 2);
    *global = node->count ? node->operands[0] : NULL;
    if (!*global || !LLVMIsAGlobalVariable(*global) || !type || !name ||
        !number_at(node, 3, &index) || index > UINT32_MAX) {
        return damaged(m, "a function constant has no name, type or index");
    }
    const uint64_t size = constant_size(m, *global);
    if (!size) {
        return damaged(m, "a function constant is no number, nor a vector");
    }
    *constant =
        (struct ig_constant){.name = name, .index = (uint32_t)index, .size = (uint32_t)size};
    iga_scalar_type(type, &constant->scalar, &constant->components);
    return INGOT_OK;
}

ingot_status iga_read_constants(struct iga_module *m, struct ig_constant **constants,
                                LLVMValueRef **globals, size_t *count) {
    static const char list[] = "air.function_constants";
    const unsigned found = LLVMGetNamedMetadataNumOperands(m->module, list);
    LLVMValueRef *nodes = ig_arena_array(m->arena, found + 1, sizeof *nodes);
    *constants = ig_arena_array(m->arena, found + 1, sizeof **constants);
    *globals = ig_arena_array(m->arena, found + 1, sizeof **globals);
    *count = 0;
    if (!nodes || !*constants || !*globals) {
        return ig_fail(m->error, INGOT_OUT_OF_MEMORY, "no memory for the constants of %s", m->name);
    }
    LLVMGetNamedMetadataOperands(m->module, list, nodes);
    for (unsigned i = 0; i < found; i++) {
        const struct node node = open_node(m, nodes[i]);
        ingot_status status = read_constant(m, &node, &(*constants)[i], &(*globals)[i]);
        for (unsigned k = 0; k < i && !status; k++) {
            status = (*globals)[k] == (*globals)[i]
                         ? damaged(m, "two function constants are one variable")
                         : INGOT_OK;
        }
        if (status) {
            return status;
        }
        ++*count;
    }
    return INGOT_OK;
}
