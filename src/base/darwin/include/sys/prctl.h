/* macOS has none: a child does not end with its parent. */
#define PR_SET_PDEATHSIG 1
static inline int prctl(int option, unsigned long value) {
    (void)option;
    (void)value;
    return -1;
}
