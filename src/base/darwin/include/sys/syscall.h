/* The one call that the sources make by its number. */
#include <unistd.h>

#include "base/darwin/compat.h"

#define SYS_gettid      0
#define syscall(number) ig_darwin_thread_number()
