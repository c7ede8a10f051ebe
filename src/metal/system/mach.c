/* <mach/mach.h>, <mach/mach_time.h> and <sys/sysctl.h> on Linux. */
#include <errno.h>
#include <mach/mach.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysctl.h>
#include <time.h>
#include <unistd.h>

vm_map_t mach_task_self(void) {
    return 1;
}

/* GPUs read a little past the end of a buffer without harm, and kernels that round up rely on it:
 * behind each allocation lies memory that can be read, which goes with the allocation's last page.
 */
enum { BEHIND = 1 << 20 }; /* never touched but by a read: no memory */

struct allocation_end {
    struct allocation_end *next;
    char *at;
};
static struct allocation_end *ends;
static pthread_mutex_t ends_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t whole_pages(size_t size) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return size > SIZE_MAX - BEHIND - page ? 0 : (size + page - 1) / page * page;
}

kern_return_t ingot_vm_allocate(void *address, size_t size, int flags) {
    (void)flags;
    const size_t whole = whole_pages(size);
    struct allocation_end *end = whole ? malloc(sizeof *end) : NULL;
    char *memory = end ? mmap(NULL, whole + BEHIND, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                       : MAP_FAILED;
    if (memory == MAP_FAILED) {
        free(end);
        return KERN_NO_SPACE;
    }
    if (mprotect(memory, whole, PROT_READ | PROT_WRITE) != 0) {
        munmap(memory, whole + BEHIND);
        free(end);
        return KERN_NO_SPACE;
    }
    pthread_mutex_lock(&ends_lock);
    *end = (struct allocation_end){ends, memory + whole};
    ends = end;
    pthread_mutex_unlock(&ends_lock);
    memcpy(address, &memory, sizeof memory);
    return KERN_SUCCESS;
}

/* Is it the end of an allocation? It is none any more then. */
static bool take_end(const char *at) {
    pthread_mutex_lock(&ends_lock);
    struct allocation_end **link = &ends;
    while (*link && (*link)->at != at) {
        link = &(*link)->next;
    }
    struct allocation_end *found = *link;
    if (found) {
        *link = found->next;
    }
    pthread_mutex_unlock(&ends_lock);
    free(found);
    return found != NULL;
}

kern_return_t vm_deallocate(vm_map_t task, vm_address_t address, vm_size_t size) {
    (void)task;
    const size_t whole = whole_pages(size);
    const size_t behind = take_end((const char *)address + whole) ? BEHIND : 0;
    return munmap((void *)address, whole + behind) == 0 ? KERN_SUCCESS : KERN_INVALID_ADDRESS;
}

const char *mach_error_string(kern_return_t error) {
    switch (error) {
    case KERN_SUCCESS:
        return "success";
    case KERN_INVALID_ADDRESS:
        return "invalid address";
    case KERN_NO_SPACE:
        return "no space available";
    default:
        return "unknown error";
    }
}

uint64_t mach_absolute_time(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

int mach_timebase_info(mach_timebase_info_t info) {
    *info = (mach_timebase_info_data_t){1, 1};
    return KERN_SUCCESS;
}

static int give(const void *value, size_t size, void *place, size_t *place_size) {
    if (!place_size) {
        return 0;
    }
    size_t room = *place_size;
    *place_size = size;
    if (place && room < size) {
        errno = ENOMEM;
        return -1;
    }
    if (place) {
        memcpy(place, value, size);
    }
    return 0;
}

/* 32 bits where the caller has room for no more, as macOS does. */
static int give_number(uint64_t value, void *place, size_t *place_size) {
    uint32_t small = (uint32_t)value;
    bool is_small = place_size && *place_size == sizeof small;
    return is_small ? give(&small, sizeof small, place, place_size)
                    : give(&value, sizeof value, place, place_size);
}

static void read_processor_name(char *name, size_t size) {
    char line[256];
    snprintf(name, size, "CPU");
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (!strncmp(line, "model name", 10) && colon) {
            snprintf(name, size, "%s", colon + 2);
            name[strcspn(name, "\n")] = 0;
            break;
        }
    }
    if (file) {
        fclose(file);
    }
}

int sysctlbyname(const char *name, void *place, size_t *place_size, void *new_value,
                 size_t new_size) {
    (void)new_value;
    (void)new_size;
    char text[128];
    if (!strcmp(name, "hw.memsize")) {
        return give_number((uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE),
                           place, place_size);
    }
    if (!strcmp(name, "hw.pagesize")) {
        return give_number((uint64_t)sysconf(_SC_PAGESIZE), place, place_size);
    }
    if (!strcmp(name, "hw.ncpu") || !strcmp(name, "hw.physicalcpu") ||
        !strcmp(name, "hw.logicalcpu") || !strcmp(name, "hw.activecpu")) {
        return give_number((uint64_t)sysconf(_SC_NPROCESSORS_ONLN), place, place_size);
    }
    if (!strcmp(name, "machdep.cpu.brand_string") || !strcmp(name, "hw.model")) {
        read_processor_name(text, sizeof text);
        return give(text, strlen(text) + 1, place, place_size);
    }
    errno = ENOENT;
    return -1;
}
