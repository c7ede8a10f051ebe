/* torch's numbers of types and devices, asked for once, against ingot's. */
#include "python/torch/types.h"

#include <stdio.h>

enum { DTYPES = 64, SCALARS = INGOT_SCALAR_F32 + 1 };

static ingot_scalar_type scalars[DTYPES]; /* by torch's number */
static int32_t dtypes[SCALARS];           /* by ingot's */
static const char *names[DTYPES];

static void pair(ingot_scalar_type scalar, int32_t dtype, const char *name) {
    if (dtype < 0 || dtype >= DTYPES) {
        return;
    }
    names[dtype] = name;
    scalars[dtype] = scalar;
    if (scalar != INGOT_SCALAR_NONE) {
        dtypes[scalar] = dtype;
    }
}

void torch_types_init(void) {
    pair(INGOT_SCALAR_BOOL, torch.dtype_bool(), "bool");
    pair(INGOT_SCALAR_I8, torch.dtype_i8(), "int8");
    pair(INGOT_SCALAR_U8, torch.dtype_u8(), "uint8");
    pair(INGOT_SCALAR_I16, torch.dtype_i16(), "int16");
    pair(INGOT_SCALAR_U16, torch.dtype_u16(), "uint16");
    pair(INGOT_SCALAR_I32, torch.dtype_i32(), "int32");
    pair(INGOT_SCALAR_U32, torch.dtype_u32(), "uint32");
    pair(INGOT_SCALAR_I64, torch.dtype_i64(), "int64");
    pair(INGOT_SCALAR_U64, torch.dtype_u64(), "uint64");
    pair(INGOT_SCALAR_F16, torch.dtype_f16(), "float16");
    pair(INGOT_SCALAR_BF16, torch.dtype_bf16(), "bfloat16");
    pair(INGOT_SCALAR_F32, torch.dtype_f32(), "float32");
    pair(INGOT_SCALAR_NONE, torch.dtype_f64(), "float64");
}

ingot_scalar_type torch_to_scalar(int32_t dtype) {
    return dtype < 0 || dtype >= DTYPES ? INGOT_SCALAR_NONE : scalars[dtype];
}

int32_t torch_from_scalar(ingot_scalar_type type) {
    return dtypes[type];
}

uint64_t torch_scalar_size(ingot_scalar_type type) {
    static const uint8_t sizes[SCALARS] = {0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4};
    return (uint32_t)type < SCALARS ? sizes[type] : 0;
}

const char *torch_dtype_text(int32_t dtype) {
    return dtype >= 0 && dtype < DTYPES && names[dtype]
               ? names[dtype]
               : "another than ingot's (complex or float8)";
}

const char *torch_device_text(int32_t type, int32_t index, char buffer[32]) {
    if (type == torch.device_cpu()) {
        return "cpu";
    }
    if (torch.device_mps && type == torch.device_mps()) {
        return "mps";
    }
    if (type == torch.device_cuda()) {
        snprintf(buffer, 32, "cuda:%d", index);
    } else {
        snprintf(buffer, 32, "of type %d", type);
    }
    return buffer;
}
