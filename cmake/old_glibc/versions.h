/*
 * Included before every source of a portable build (INGOT_PORTABLE): asks for the oldest version of
 * functions whose newest one came with glibc 2.28 or later, so that what is built here runs where
 * glibc is older. The functions that have no older version are in functions.c.
 */
#ifndef INGOT_OLD_GLIBC_VERSIONS_H
#define INGOT_OLD_GLIBC_VERSIONS_H

#if defined(__x86_64__)
#define OLDEST_GLIBC "GLIBC_2.2.5"
#define IN_GLIBC_2_3 "GLIBC_2.3.3"
#else /* the first one for aarch64 */
#define OLDEST_GLIBC "GLIBC_2.17"
#define IN_GLIBC_2_3 "GLIBC_2.17"
#endif
#define USE_VERSION(name, version)  __asm__(".symver " #name "," #name "@" version);
#define USE_INSTEAD(name, old_name) __asm__(".symver " #name "," #old_name "@" OLDEST_GLIBC);

/* glibc 2.34 moved them from libpthread and libdl to libc. */
USE_VERSION(dladdr, OLDEST_GLIBC)
USE_VERSION(dlclose, OLDEST_GLIBC)
USE_VERSION(dlerror, OLDEST_GLIBC)
USE_VERSION(dlopen, OLDEST_GLIBC)
USE_VERSION(dlsym, OLDEST_GLIBC)
USE_VERSION(pthread_attr_setstacksize, OLDEST_GLIBC)
USE_VERSION(pthread_condattr_setclock, IN_GLIBC_2_3)
USE_VERSION(pthread_create, OLDEST_GLIBC)
USE_VERSION(pthread_detach, OLDEST_GLIBC)
USE_VERSION(pthread_getspecific, OLDEST_GLIBC)
USE_VERSION(pthread_join, OLDEST_GLIBC)
USE_VERSION(pthread_key_create, OLDEST_GLIBC)
USE_VERSION(pthread_key_delete, OLDEST_GLIBC)
USE_VERSION(pthread_kill, OLDEST_GLIBC)
USE_VERSION(pthread_mutex_trylock, OLDEST_GLIBC)
USE_VERSION(pthread_mutexattr_destroy, OLDEST_GLIBC)
USE_VERSION(pthread_mutexattr_init, OLDEST_GLIBC)
USE_VERSION(pthread_mutexattr_settype, OLDEST_GLIBC)
USE_VERSION(pthread_once, OLDEST_GLIBC)
USE_VERSION(pthread_rwlock_destroy, OLDEST_GLIBC)
USE_VERSION(pthread_rwlock_init, OLDEST_GLIBC)
USE_VERSION(pthread_rwlock_rdlock, OLDEST_GLIBC)
USE_VERSION(pthread_rwlock_unlock, OLDEST_GLIBC)
USE_VERSION(pthread_rwlock_wrlock, OLDEST_GLIBC)
USE_VERSION(pthread_setspecific, OLDEST_GLIBC)
USE_VERSION(pthread_sigmask, OLDEST_GLIBC)
USE_VERSION(sem_destroy, OLDEST_GLIBC)
USE_VERSION(sem_init, OLDEST_GLIBC)
USE_VERSION(sem_post, OLDEST_GLIBC)
USE_VERSION(sem_wait, OLDEST_GLIBC)

/* New versions of 2.29 and 2.35, which differ in how errors are reported. */
USE_VERSION(exp, OLDEST_GLIBC)
USE_VERSION(exp2, OLDEST_GLIBC)
USE_VERSION(hypot, OLDEST_GLIBC)
USE_VERSION(log, OLDEST_GLIBC)
USE_VERSION(log2, OLDEST_GLIBC)
USE_VERSION(pow, OLDEST_GLIBC)

/* What headers of glibc 2.38 and later call them; C23's add 0b as a prefix of numbers. */
USE_INSTEAD(__isoc23_fscanf, fscanf)
USE_INSTEAD(__isoc23_sscanf, sscanf)
USE_INSTEAD(__isoc23_strtol, strtol)
USE_INSTEAD(__isoc23_strtoll, strtoll)
USE_INSTEAD(__isoc23_strtoul, strtoul)
USE_INSTEAD(__isoc23_strtoull, strtoull)

#endif
