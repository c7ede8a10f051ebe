/* The fiber switch for x86-64, System V calling convention: the callee-saved registers go on
 * the old stack, the stack pointer changes, they come back from the new one. */
#if defined(__x86_64__)
    .text

    .globl ig_fiber_swap
    .hidden ig_fiber_swap
    .type ig_fiber_swap, @function
    .p2align 4
ig_fiber_swap: /* rdi: where to save the stack pointer, rsi: the one to continue with */
    .cfi_startproc
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .cfi_endproc
    .size ig_fiber_swap, . - ig_fiber_swap

    .globl ig_fiber_start
    .hidden ig_fiber_start
    .type ig_fiber_start, @function
    .p2align 4
ig_fiber_start: /* r13: function, r12: its argument */
    .cfi_startproc
    .cfi_undefined rip
    movq %r12, %rdi
    xorl %ebp, %ebp
    call *%r13
    ud2
    .cfi_endproc
    .size ig_fiber_start, . - ig_fiber_start
#endif
    .section .note.GNU-stack, "", @progbits
