#ifndef INGOT_METAL_VM_PAGE_SIZE_H
#define INGOT_METAL_VM_PAGE_SIZE_H
#include <unistd.h>
#define vm_page_size   ((uintptr_t)sysconf(_SC_PAGESIZE))
#define vm_kernel_page_size vm_page_size
#endif
