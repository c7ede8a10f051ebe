/* Environment variables, where they can be trusted. */
#ifndef INGOT_BASE_ENVIRONMENT_H
#define INGOT_BASE_ENVIRONMENT_H

/* As getenv; NULL in a program that has more rights than who started it (set-uid, set-gid, file
 * capabilities): the variables are then a stranger's. */
const char *ig_environment(const char *name);

#endif
