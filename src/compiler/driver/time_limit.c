/*
 * The time limit of a kernel that is compiled in this process. When it is over, the process says
 * which kernel it was, and at which pass, and ends: nothing can stop LLVM in the middle of a pass.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "compiler/driver/driver.h"

static char message[512]; /* up to the name of the pass */

static void say(const char *text) {
    if (write(STDERR_FILENO, text, strlen(text)) < 0) {
        return;
    }
}

static void on_alarm(int signal_number) {
    (void)signal_number;
    say(message);
    say(igc_progress_stage(NULL));
    say("\"\n");
    _exit(1);
}

void igc_limit_start(const struct ig_compile_limits *limits, const char *kernel) {
    snprintf(message, sizeof message,
             "ingotc: error: kernel %.200s: the compiler took more than the limit of %u s "
             "(INGOT_COMPILE_SECONDS); it was at \"",
             kernel, limits->seconds);
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    alarm(limits->seconds);
}

void igc_limit_end(void) {
    alarm(0);
}
