/* Which kernels the compiler takes for streams, and how many bytes of them are a thread's. */
#include "analysis_harness.h"
#include "compiler/cpu/cpu.h"
#include "compiler/driver/driver.h"

#define BEGIN                                                                                      \
    "define void @k() {\n"                                                                         \
    "entry:\n"                                                                                     \
    "  %x = call ptr @__ingot_arg_device(i32 0)\n"                                                 \
    "  %y = call ptr @__ingot_arg_device(i32 1)\n"                                                 \
    "  %p = call i32 @__ingot_thread_position_in_grid(i32 0)\n"                                    \
    "  %i = zext i32 %p to i64\n"                                                                  \
    "  %xi = getelementptr float, ptr %x, i64 %i\n"                                                \
    "  %yi = getelementptr float, ptr %y, i64 %i\n"
#define END "  ret void\n}\n"
#define LOOP                                                                                       \
    "  br label %loop\n"                                                                           \
    "loop:\n"                                                                                      \
    "  %n = phi i64 [ %i, %entry ], [ %next, %loop ]\n"                                            \
    "  %xn = getelementptr float, ptr %x, i64 %n\n"                                                \
    "  %yn = getelementptr float, ptr %y, i64 %n\n"                                                \
    "  %u = load float, ptr %xn\n"                                                                 \
    "  store float %u, ptr %yn\n"                                                                  \
    "  %next = add i64 %n, 1\n"                                                                    \
    "  %again = icmp ult i64 %next, 1000\n"                                                        \
    "  br i1 %again, label %loop, label %done\n"                                                   \
    "done:\n"

static void expect(const char *text, uint32_t bytes, uint32_t arrays, int line) {
    struct analysed a = analyse_text(text, false);
    struct igv_request request = {
        .module = a.module, .kernel = a.kernel, .machine = a.machine, .target = &analysis_target};
    uint32_t flags = INGOT_CPU_KERNEL_NONTEMPORAL;
    CHECK(igc_find_streams(&a.arena, &request, &flags, &a.error) == INGOT_OK);
    uint32_t wanted = INGOT_CPU_KERNEL_NONTEMPORAL + bytes * INGOT_CPU_KERNEL_BYTES_PER_THREAD +
                      arrays * INGOT_CPU_KERNEL_ARRAYS;
    CHECK(flags == wanted);
    if (flags != wanted) {
        fprintf(stderr, "  line %d: 0x%08x, not 0x%08x\n", line, flags, wanted);
    }
    analysed_free(&a);
}
#define EXPECT(text, bytes, arrays) expect(DECLARATIONS BEGIN text, bytes, arrays, __LINE__)

static void test_streams(void) {
    EXPECT("  %v = load float, ptr %xi\n"
           "  store float %v, ptr %yi\n" END,
           8, 2);
    /* an array that is read and written is one; what is the same for all counts nothing */
    EXPECT("  %a = load float, ptr %x\n"
           "  %v = load float, ptr %yi\n"
           "  %w = fmul float %a, %v\n"
           "  store float %w, ptr %yi\n" END,
           4, 1);
    /* several accesses of a thread beside each other */
    EXPECT("  %four = getelementptr <4 x float>, ptr %x, i64 %i\n"
           "  %second = getelementptr float, ptr %four, i64 1\n"
           "  %v = load float, ptr %four\n"
           "  %w = load float, ptr %second\n"
           "  %s = fadd float %v, %w\n"
           "  store float %s, ptr %yi\n" END,
           20, 2);
    /* a loop for what is left over */
    EXPECT("  %v = load float, ptr %xi\n"
           "  store float %v, ptr %yi\n" LOOP END,
           8, 2);
}

static void test_others(void) {
    EXPECT("  %index = load i32, ptr %xi\n" /* a gather */
           "  %j = zext i32 %index to i64\n"
           "  %yj = getelementptr float, ptr %y, i64 %j\n"
           "  store float 1.0, ptr %yj\n" END,
           0, 0);
    EXPECT("  %far = getelementptr [100 x float], ptr %x, i64 %i\n" /* columns */
           "  %v = load float, ptr %far\n"
           "  store float %v, ptr %yi\n" END,
           0, 0);
    EXPECT("  %v = load float, ptr %xi\n" /* all threads write the same place */
           "  store float %v, ptr %y\n" END,
           0, 0);
    EXPECT("  %inner = load ptr, ptr %x\n" /* an array whose address is in memory */
           "  %at = getelementptr float, ptr %inner, i64 %i\n"
           "  %v = load float, ptr %at\n"
           "  store float %v, ptr %yi\n" END,
           0, 0);
    EXPECT("  %v = load float, ptr %xi\n" LOOP END, 0, 0); /* y is not known outside */
    EXPECT(LOOP END, 0, 0);                                /* no array is */
    EXPECT("  %v = load float, ptr %xi\n" /* y is, but the same element for all lies in a loop */
           "  store float %v, ptr %yi\n"
           "  br label %loop\n"
           "loop:\n"
           "  %n = phi i64 [ 0, %entry ], [ %next, %loop ]\n"
           "  %xn = getelementptr float, ptr %x, i64 %n\n"
           "  %u = load float, ptr %xn\n"
           "  %next = add i64 %n, 1\n"
           "  %again = icmp ult i64 %next, 1000\n"
           "  br i1 %again, label %loop, label %done\n"
           "done:\n" END,
           0, 0);
}

int main(void) {
    test_streams();
    test_others();
    return check_report();
}
