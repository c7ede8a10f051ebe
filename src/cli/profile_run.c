/* Running a program with a profile of it in a folder, and reading what its processes wrote. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/profile.h"

extern char **environ;

const char *profile_self(struct ig_arena *arena) {
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) {
        cli_error("/proc/self/exe cannot be read: %s", strerror(errno));
        return NULL;
    }
    const char *copy = ig_arena_copy(arena, self, (size_t)length);
    if (!copy) {
        cli_error("out of memory");
    }
    return copy;
}

/* ---- a run ---- */

/* The environment with what turns the profile on. */
static char **environment_with(const char *folder, bool counts) {
    size_t count = 0, to = 0;
    while (environ[count]) {
        count++;
    }
    char **list = calloc(count + 4, sizeof *list);
    for (size_t i = 0; list && i < count; i++) {
        if (strncmp(environ[i], "INGOT_PROFILE", 13) != 0) {
            list[to++] = environ[i];
        }
    }
    if (list && asprintf(&list[to], "INGOT_PROFILE=%s", folder) < 0) {
        free(list);
        return NULL;
    }
    if (list && asprintf(&list[to + 1], "INGOT_PROFILE_COUNT=%d", counts) < 0) {
        free(list[to]);
        free(list);
        return NULL;
    }
    return list;
}

static void free_environment(char **list) {
    size_t count = 0;
    while (list[count]) {
        count++;
    }
    free(list[count - 1]);
    free(list[count - 2]);
    free(list);
}

static bool spawn(const struct profile_run *run, char **environment, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (run->is_quiet) {
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    } else if (run->to_stderr) {
        posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    }
    if (run->errors) {
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, run->errors,
                                         O_WRONLY | O_CREAT | O_TRUNC, 0600);
    }
    int failed = posix_spawnp(pid, run->arguments[0], &actions, NULL, (char *const *)run->arguments,
                              environment);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) {
        cli_error("%s cannot be started: %s", run->arguments[0], strerror(failed));
    }
    return !failed;
}

/* An interrupt is the program's; this process goes on to report. */
static bool run_program(const struct profile_run *run, int *status_of) {
    char **environment = environment_with(run->folder, run->counts);
    if (!environment) {
        cli_error("out of memory");
        return false;
    }
    pid_t pid;
    int status = 0;
    fflush(stdout);
    bool started = spawn(run, environment, &pid);
    void (*before)(int) = signal(SIGINT, SIG_IGN);
    while (started && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    signal(SIGINT, before);
    free_environment(environment);
    if (started && WIFSIGNALED(status)) {
        cli_error("%s was ended by signal %d", run->arguments[0], WTERMSIG(status));
        *status_of = CLI_FAILED;
    } else if (started && WEXITSTATUS(status) && run->is_own) {
        *status_of = WEXITSTATUS(status);
    } else if (started && WEXITSTATUS(status)) {
        cli_error("%s ended with status %d", run->arguments[0], WEXITSTATUS(status));
        *status_of = CLI_FAILED;
    }
    return started;
}

/* ---- what it wrote ---- */

static bool read_file(const char *path, struct ig_profile *profile) {
    struct ig_error error = {0};
    char *bytes = NULL;
    size_t size;
    if (!ig_file_read(path, 0, &bytes, &size, &error) &&
        ig_profile_read(profile, bytes, size, &error)) {
        ig_error_prefix(&error, "%s", path);
    }
    free(bytes);
    bool good = !error.status;
    if (!good) {
        cli_error("%s", ig_error_text(&error));
    }
    ig_error_clear(&error);
    return good;
}

/* Every process that used libingot wrote a file; they are read and removed. */
static bool read_folder(const char *folder, struct ig_profile *profile) {
    static const char ending[] = ".profile";
    DIR *list = opendir(folder);
    bool good = list != NULL;
    for (struct dirent *entry; good && (entry = readdir(list));) {
        size_t length = strlen(entry->d_name);
        char *path = NULL;
        if (length < sizeof ending ||
            strcmp(entry->d_name + length - (sizeof ending - 1), ending) != 0) {
            continue;
        }
        good = asprintf(&path, "%s/%s", folder, entry->d_name) >= 0;
        if (good) {
            good = read_file(path, profile);
            unlink(path);
            free(path);
        }
    }
    if (list) {
        closedir(list);
    }
    return good;
}

bool profile_run(const struct profile_run *run, struct ig_profile *profile, int *status) {
    return run_program(run, status) && read_folder(run->folder, profile);
}
