/* Memory of a task, and its clock, by Linux's calls. */
#ifndef INGOT_METAL_MACH_H
#define INGOT_METAL_MACH_H

#include <mach/mach_time.h>
#include <mach/vm_page_size.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
typedef int kern_return_t;
typedef unsigned mach_port_t, task_t, vm_map_t, task_id_token_t;
typedef uintptr_t vm_address_t, vm_offset_t;
typedef uintptr_t vm_size_t;
typedef uint64_t mach_vm_address_t, mach_vm_size_t;
enum { KERN_SUCCESS = 0, KERN_INVALID_ADDRESS = 1, KERN_NO_SPACE = 3 };
enum { VM_FLAGS_ANYWHERE = 1 };

vm_map_t mach_task_self(void);
/* Pages of zeros; `address` gets their place, and is not asked for one. */
kern_return_t ingot_vm_allocate(void *address, size_t size, int flags);
kern_return_t vm_deallocate(vm_map_t task, vm_address_t address, vm_size_t size);
const char *mach_error_string(kern_return_t error);
#ifdef __cplusplus
}
#endif
/* The address is a vm_address_t * on macOS; programs pass pointers to pointers too. */
#define vm_allocate(task, address, size, flags) ((void)(task), ingot_vm_allocate((void *)(address), (size), (flags)))
#define mach_vm_allocate                        vm_allocate
#define mach_vm_deallocate                      vm_deallocate
#endif
