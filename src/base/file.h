/* Files: whole reads, atomic writes, private folders, temporary folders. */
#ifndef INGOT_BASE_FILE_H
#define INGOT_BASE_FILE_H

#include "base/error.h"

/* Reads a whole regular file into malloc'ed memory with a NUL after it. Refuses more
 * than `limit` bytes (0 = 1 GiB). */
ingot_status ig_file_read(const char *path, size_t limit, char **bytes, size_t *size,
                          struct ig_error *error);
/* The same in two steps, for who looks at the file in between: a descriptor, then the whole
 * file from where it stands. */
ingot_status ig_file_open(const char *path, int *fd, struct ig_error *error);
ingot_status ig_file_read_open(int fd, const char *path, size_t limit, char **bytes, size_t *size,
                               struct ig_error *error);
/* The same in an open folder; a link is not followed. */
ingot_status ig_file_read_at(int folder, const char *name, size_t limit, char **bytes, size_t *size,
                             struct ig_error *error);
/* All of it, in as many calls as it takes; 0 or the errno of the one that failed. */
int ig_write_all(int fd, const void *bytes, size_t size);
/* Writes to a temporary name in the same folder, then renames. Either the old or the new
 * content is there, whatever happens; the temporary file never stays after a failure. */
ingot_status ig_file_write(const char *path, const void *bytes, size_t size,
                           struct ig_error *error);
/* The same in an open folder, of parts one behind the other; 0 or an errno. */
struct ig_bytes {
    const void *data;
    size_t size;
};
int ig_file_write_at(int folder, const char *name, const struct ig_bytes *parts, size_t count);
/* mkdir -p; new folders get mode 0700. */
ingot_status ig_folder_make(const char *path, struct ig_error *error);
/* A fresh private folder under $TMPDIR; the path is malloc'ed. */
ingot_status ig_folder_temporary(char **path, struct ig_error *error);
/* Removes the folder and everything in it; follows no links. Errors are ignored. */
void ig_folder_remove(const char *path);
/* The folder, which is no link, belongs to the user, and others cannot write to; -1 and errno
 * (EPERM: not so). What was asked is true of the descriptor, whatever becomes of the path. */
int ig_folder_open_private(const char *path);
/* Removes temporary folders that processes which were ended left a day ago or longer. */
void ig_folder_sweep_temporary(void);
/* $INGOT_CACHE_DIR, or $XDG_CACHE_HOME/ingot, or ~/.cache/ingot, or a per-user folder
 * under $TMPDIR; malloc'ed; NULL when none can be had. Does not create it. A folder that
 * another user owns or can write, or that is a link, is not used. */
char *ig_cache_folder(void);
/* The user's launch policy: $INGOT_POLICY, or $XDG_CONFIG_HOME/ingot/policy, or
 * ~/.config/ingot/policy; malloc'ed; NULL when INGOT_POLICY is empty or there is no home. The
 * file need not exist. */
char *ig_policy_path(void);

#endif
