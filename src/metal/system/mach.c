/* <mach/mach.h>, <mach/mach_time.h> and <sys/sysctl.h> on Linux. */
#include <errno.h>
#include <mach/mach.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysctl.h>
#include <time.h>

vm_map_t mach_task_self(void) {
    return 1;
}

kern_return_t ingot_vm_allocate(void *address, size_t size, int flags) {
    (void)flags;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return KERN_NO_SPACE;
    }
    memcpy(address, &memory, sizeof memory);
    return KERN_SUCCESS;
}

kern_return_t vm_deallocate(vm_map_t task, vm_address_t address, vm_size_t size) {
    (void)task;
    return munmap((void *)address, size) == 0 ? KERN_SUCCESS : KERN_INVALID_ADDRESS;
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
