/*
 * Lets objects that clang compiled for -fobjc-runtime=gnustep-1.9 run on GCC's libobjc.
 *
 * Every object file with Objective-C calls __objc_exec_class from a constructor. This library
 * stands before libobjc in the order of symbols, so the call comes here first. What differs between
 * the two is put right in place, then the module goes to libobjc:
 *
 * - the version of the module and of its protocols;
 * - instance variables, whose offsets clang leaves relative to the end of the superclass.
 *
 * The last needs the size of the superclass. A module whose superclass is not there yet waits until
 * the module that has it comes. What is not done: variables of a superclass that grows later.
 *
 * Modules of ingot-c++ come twice, first before all constructors of C++ (IngotPrefix.h); once is
 * enough.
 */
#include <dlfcn.h>
#include <objc/runtime.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "metal/objc/objc_support.h"

enum { OLD_MODULE = 8, FIRST_NEW_MODULE = 9, LAST_NEW_MODULE = 10 };
enum { LOADED = 0 }; /* the size of a module that libobjc has; it looks at the size only once */
enum { OLD_PROTOCOL = 2, LAST_PROTOCOL_VERSION = 15 };

struct variable {
    const char *name, *type;
    int offset;
};

struct variable_list {
    int count;
    struct variable list[];
};

struct protocol;

struct protocol_list {
    struct protocol_list *next;
    size_t count;
    struct protocol *list[];
};

struct protocol {
    uintptr_t version; /* becomes the class Protocol */
    const char *name;
    struct protocol_list *protocols;
    void *instance_methods, *class_methods;
};

struct class_record {
    struct class_record *isa;
    const char *superclass; /* its name, until libobjc has seen the class */
    const char *name;
    long version;
    unsigned long info;
    long size; /* not above 0: relative to the superclass */
    struct variable_list *variables;
    void *methods, *table, *subclasses, *sibling;
    struct protocol_list *protocols;
    void *unused;
    long abi;
    int **offsets; /* where the code reads each variable's offset */
};

struct category {
    const char *name, *class_name;
    void *instance_methods, *class_methods;
    struct protocol_list *protocols;
};

struct static_objects {
    const char *class_name;
    void *list[];
};

struct symbol_table {
    unsigned long selector_count;
    void *selectors;
    unsigned short class_count, category_count;
    void *definitions[]; /* classes, categories, a list of static objects */
};

struct module {
    unsigned long version, size;
    const char *name;
    struct symbol_table *symbols;
};

enum { MAX_WAITING = 1024 };
static pthread_mutex_t lock;
static pthread_once_t lock_once = PTHREAD_ONCE_INIT;
static struct module *waiting[MAX_WAITING];
static size_t waiting_count;

static void make_lock(void) { /* recursive: +load of a module may load another */
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

static bool has_version(const struct protocol *protocol) {
    return protocol && protocol->version <= LAST_PROTOCOL_VERSION;
}

static void convert_protocols(struct protocol_list *list) {
    for (; list; list = list->next) {
        for (size_t i = 0; i < list->count; i++) {
            struct protocol *protocol = list->list[i];
            if (has_version(protocol) && protocol->version != OLD_PROTOCOL) {
                protocol->version = OLD_PROTOCOL;
                convert_protocols(protocol->protocols);
            }
        }
    }
}

static struct class_record *in_module(const struct module *module, const char *name) {
    for (unsigned i = 0; i < module->symbols->class_count; i++) {
        struct class_record *record = module->symbols->definitions[i];
        if (!strcmp(record->name, name)) {
            return record;
        }
    }
    return NULL;
}

static bool has_superclass(const struct module *module, const struct class_record *record) {
    return !record->superclass || in_module(module, record->superclass) ||
           objc_lookUpClass(record->superclass);
}

static void place_variables(const struct module *module, struct class_record *record) {
    if (record->size > 0) {
        return;
    }
    long base = 0;
    if (record->superclass) {
        struct class_record *superclass = in_module(module, record->superclass);
        if (superclass) {
            place_variables(module, superclass);
            base = superclass->size;
        } else {
            base = (long)class_getInstanceSize(objc_lookUpClass(record->superclass));
        }
    }
    record->size = base - record->size;
    for (int i = 0; record->variables && i < record->variables->count; i++) {
        record->variables->list[i].offset += (int)base;
        if (record->offsets && record->offsets[i]) {
            *record->offsets[i] = record->variables->list[i].offset;
        }
    }
}

static void convert_static_protocols(struct static_objects **lists) {
    for (; lists && *lists; lists++) {
        if (strcmp((*lists)->class_name, "Protocol") != 0) {
            continue;
        }
        for (void **object = (*lists)->list; *object; object++) {
            struct protocol *protocol = *object;
            if (has_version(protocol)) {
                protocol->version = OLD_PROTOCOL;
                convert_protocols(protocol->protocols);
            }
        }
    }
}

static bool is_complete(const struct module *module) {
    for (unsigned i = 0; i < module->symbols->class_count; i++) {
        if (!has_superclass(module, module->symbols->definitions[i])) {
            return false;
        }
    }
    return true;
}

static void convert(struct module *module) {
    struct symbol_table *symbols = module->symbols;
    module->version = OLD_MODULE;
    module->size = sizeof *module;
    for (unsigned i = 0; i < symbols->class_count; i++) {
        struct class_record *record = symbols->definitions[i];
        convert_protocols(record->protocols);
        place_variables(module, record);
    }
    for (unsigned i = 0; i < symbols->category_count; i++) {
        convert_protocols(
            ((struct category *)symbols->definitions[symbols->class_count + i])->protocols);
    }
    convert_static_protocols(symbols->definitions[symbols->class_count + symbols->category_count]);
}

static bool is_waiting(const struct module *module) {
    for (size_t i = 0; i < waiting_count; i++) {
        if (waiting[i] == module) {
            return true;
        }
    }
    return false;
}

static void to_libobjc(struct module *module) {
    static void (*next)(struct module *);
    if (!next) {
        void *address = dlsym(RTLD_NEXT, "__objc_exec_class");
        memcpy(&next, &address, sizeof next);
    }
    if (next) {
        next(module);
    }
}

static void load_waiting(void) {
    for (size_t i = 0; i < waiting_count;) {
        struct module *module = waiting[i];
        if (is_complete(module)) {
            waiting[i] = waiting[--waiting_count];
            convert(module);
            to_libobjc(module);
            module->size = LOADED;
            i = 0;
        } else {
            i++;
        }
    }
}

void __objc_exec_class(struct module *module) {
    pthread_once(&lock_once, make_lock);
    pthread_mutex_lock(&lock);
    bool is_new = module->version >= FIRST_NEW_MODULE && module->version <= LAST_NEW_MODULE;
    if ((module->version == OLD_MODULE && module->size == LOADED) || is_waiting(module)) {
        /* its second call */
    } else if (is_new && module->symbols && !is_complete(module) && waiting_count < MAX_WAITING) {
        waiting[waiting_count++] = module;
    } else {
        if (is_new && module->symbols) {
            convert(module);
        }
        to_libobjc(module);
        if (is_new) {
            module->size = LOADED;
        }
        load_waiting();
    }
    pthread_mutex_unlock(&lock);
}
