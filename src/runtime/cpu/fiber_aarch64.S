/* The fiber switch for AArch64, AAPCS64: x19 … x30 and the low halves of v8 … v15. */
#if defined(__aarch64__)
    .text

    .globl ig_fiber_swap
    .hidden ig_fiber_swap
    .type ig_fiber_swap, %function
    .p2align 4
ig_fiber_swap: /* x0: where to save the stack pointer, x1: the one to continue with */
    .cfi_startproc
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .cfi_endproc
    .size ig_fiber_swap, . - ig_fiber_swap

    .globl ig_fiber_start
    .hidden ig_fiber_start
    .type ig_fiber_start, %function
    .p2align 4
ig_fiber_start: /* x20: function, x19: its argument */
    .cfi_startproc
    .cfi_undefined x30
    mov x0, x19
    mov x29, #0
    blr x20
    brk #1
    .cfi_endproc
    .size ig_fiber_start, . - ig_fiber_start
#endif
    .section .note.GNU-stack, "", %progbits
