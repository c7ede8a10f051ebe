/*
 * The time limit of this process: by its processor time (SIGPROF), and by the clock (SIGALRM),
 * which is later. Where a kernel is compiled in the first process, that one says which kernel it
 * was, and at which pass, and ends: nothing can stop LLVM in the middle of a pass. Children are
 * ended by the signal.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "compiler/driver/driver.h"

static char message[512]; /* up to the name of the pass */

static void say(const char *text) {
    if (write(STDERR_FILENO, text, strlen(text)) < 0) {
        return;
    }
}

static void on_end(int signal_number) {
    (void)signal_number;
    say(message);
    say(igc_progress_stage(NULL));
    say("\"\n");
    _exit(1);
}

void igc_limit_process(unsigned seconds) {
    const struct itimerval timer = {.it_value.tv_sec = seconds};
    setitimer(ITIMER_PROF, &timer, NULL);
    alarm(seconds * IG_COMPILE_CLOCK);
}

bool igc_limit_passed(int signal_number) {
    return signal_number == SIGPROF || signal_number == SIGALRM;
}

void igc_limit_start(const struct ig_compile_limits *limits, const char *kernel) {
    snprintf(message, sizeof message,
             "ingotc: error: kernel %.200s: the compiler took more than the limit of %u s "
             "(INGOT_COMPILE_SECONDS); it was at \"",
             kernel, limits->seconds);
    struct sigaction action = {.sa_handler = on_end};
    sigaction(SIGPROF, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    igc_limit_process(limits->seconds);
}

void igc_limit_end(void) {
    igc_limit_process(0);
}
