/* The functions that products of four SIMD-groups are calls of (warpgroup_mma.c), as LLVM IR. */
#include <stdio.h>

#include "compiler/nvptx/warpgroup_mma.h"

#define COMMIT "wgmma.commit_group.sync.aligned;\\0A\\09"
#define WAIT   "wgmma.wait_group.sync.aligned "
/* ptxas moves a wait up over arithmetic that stands before it, but not over a branch: this one is
 * never taken, which only the hardware knows. */
#define HOLD                                                                                       \
    "{ .reg .pred q; .reg .b32 r; mov.u32 r, %nctaid.y; setp.eq.u32 q, r, 0; @q trap; }\\0A\\09"

static void write_list(struct ig_text *out, unsigned count, const char *item) {
    for (unsigned i = 0; i < count; i++) {
        ig_text_puts(out, i ? ", " : "");
        ig_text_puts(out, item);
    }
}

static void write_numbers(struct ig_text *out, unsigned count, const char *before,
                          const char *between) {
    for (unsigned i = 0; i < count; i++) {
        ig_text_printf(out, "%s%s%u", i ? between : "", before, i);
    }
}

/* `count` floats that are operands and results. */
static void write_constraints(struct ig_text *out, unsigned count, const char *others) {
    for (unsigned i = 0; i < count; i++) {
        ig_text_puts(out, "=f,");
    }
    ig_text_puts(out, others);
    for (unsigned i = 0; i < count; i++) {
        ig_text_printf(out, "%u,", i);
    }
    ig_text_puts(out, "~{memory}");
}

static void write_order(struct ig_text *out, const char *name, const char *code) {
    ig_text_printf(out,
                   "define internal void @%s() convergent alwaysinline nounwind {\n"
                   "  call void asm sideeffect \"%s\", \"~{memory}\"() convergent\n"
                   "  ret void\n}\n",
                   name, code);
}

/* For all but the last groups. */
static void write_wait(const struct igp_function *f, struct ig_text *out) {
    const char *name = f->text;
    const bool is_late = f->name.words & IGI_WGMMA_WAIT_LATE;
    char code[sizeof HOLD WAIT + 12];
    const unsigned groups = f->name.numbers[0], count = f->name.numbers[1];
    snprintf(code, sizeof code, "%s" WAIT "%u;", is_late ? HOLD : "", groups);
    if (!count) { /* nobody wants a sum */
        write_order(out, name, code);
        return;
    }
    ig_text_puts(out, "define internal {");
    write_list(out, count, "float");
    ig_text_printf(out, "} @%s(", name);
    write_numbers(out, count, "float %s", ", ");
    ig_text_puts(out, ") convergent alwaysinline nounwind {\n  %r = call {");
    write_list(out, count, "float");
    ig_text_printf(out, "} asm sideeffect \"%s\", \"", code);
    write_constraints(out, count, "");
    ig_text_puts(out, "\"(");
    write_numbers(out, count, "float %s", ", ");
    ig_text_puts(out, ") convergent\n  ret {");
    write_list(out, count, "float");
    ig_text_puts(out, "} %r\n}\n");
}

/* The descriptor of what is at %NAME and `at` bytes behind it, both multiples of 16. */
static void write_descriptor(struct ig_text *out, const char *name) {
    ig_text_printf(out,
                   "  %%%s.start = ptrtoint ptr addrspace(3) %%%s to i32\n"
                   "  %%%s.line = lshr i32 %%%s.start, 4\n"
                   "  %%%s.low = and i32 %%%s.line, 16383\n"
                   "  %%%s.lines = ashr i32 %%%s.at, 4\n"
                   "  %%%s.place = add i32 %%%s.low, %%%s.lines\n"
                   "  %%%s.wide = zext i32 %%%s.place to i64\n"
                   "  %%%s.all = or i64 %%%s.wide, %%%s.shape\n",
                   name, name, name, name, name, name, name, name, name, name, name, name, name,
                   name, name, name);
}

/* Lines of A are along k or, if the name says so, along m, and those of B along k or n. */
static void write_product(const struct igp_function *f, struct ig_text *out) {
    const char *name = f->text;
    const char *type = f->name.words & IGI_WGMMA_F16 ? "f16" : "bf16";
    const unsigned tiles = f->name.numbers[0];
    const unsigned count = tiles * IGP_WARPGROUP_SUMS;
    const bool registers = f->name.words & IGI_WGMMA_REGISTERS;
    ig_text_puts(out, "define internal {");
    write_list(out, count, "float");
    ig_text_printf(out, "} @%s(%s, ptr addrspace(3) %%b, i32 %%b.at, i64 %%b.shape, ", name,
                   registers ? "i32 %a0, i32 %a1, i32 %a2, i32 %a3"
                             : "ptr addrspace(3) %a.own, i32 %a.at, i32 %step, i64 %a.shape");
    write_numbers(out, count, "float %s", ", ");
    ig_text_puts(out, ") convergent alwaysinline nounwind {\n");
    write_descriptor(out, "b");
    if (!registers) {
        ig_text_puts(out, "  %t = call i32 @nv.t()\n"
                          "  %simd = lshr i32 %t, 5\n"
                          "  %which = and i32 %simd, 3\n"
                          "  %before = mul i32 %which, %step\n"
                          "  %back = sub i32 0, %before\n"
                          "  %a = getelementptr i8, ptr addrspace(3) %a.own, i32 %back\n");
        write_descriptor(out, "a");
    }
    ig_text_puts(out, "  %r = call {");
    write_list(out, count, "float");
    ig_text_printf(out,
                   "} asm sideeffect \"%s{ .reg .pred p; setp.ne.b32 p, 1, 0; "
                   "wgmma.mma_async.sync.aligned.m64n%uk16.f32.%s.%s {",
                   f->name.words & IGI_WGMMA_FENCED ? "wgmma.fence.sync.aligned;\\0A\\09" : "",
                   8 * tiles, type, type);
    write_numbers(out, count, "$", ", ");
    const int right_turned = (f->name.words & IGI_WGMMA_N) != 0;
    if (registers) {
        ig_text_printf(out, "}, {$%u, $%u, $%u, $%u}, $%u, p, 1, 1, %d; }\", \"", count, count + 1,
                       count + 2, count + 3, count + 4, right_turned);
    } else {
        ig_text_printf(out, "}, $%u, $%u, p, 1, 1, %d, %d; }\", \"", count, count + 1,
                       (f->name.words & IGI_WGMMA_M) != 0, right_turned);
    }
    write_constraints(out, count, registers ? "r,r,r,r,l," : "l,l,");
    ig_text_printf(out, "\"(%s, i64 %%b.all, ",
                   registers ? "i32 %a0, i32 %a1, i32 %a2, i32 %a3" : "i64 %a.all");
    write_numbers(out, count, "float %s", ", ");
    ig_text_puts(out, ") convergent\n  ret {");
    write_list(out, count, "float");
    ig_text_puts(out, "} %r\n}\n");
}

void igp_write_wgmma(const struct igc_kernel *kernel, const struct igp_function *f,
                     struct ig_text *out) {
    (void)kernel;
    switch (f->name.builtin) {
    case IGI_nv_wgmma_commit:
        write_order(out, f->text, "wgmma.commit_group.sync.aligned;");
        break;
    case IGI_nv_wgmma_wait_before:
        write_order(out, f->text, COMMIT WAIT "1;");
        break;
    case IGI_nv_wgmma_wait_all:
        write_order(out, f->text, WAIT "0;");
        break;
    case IGI_nv_wgmma_wait:
        write_wait(f, out);
        break;
    default:
        write_product(f, out);
        break;
    }
}
