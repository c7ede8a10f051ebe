/* Plans of commands: how many threads share one, and in which direction they go through it. */
#include <string.h>

#include "base/last_cache.h"
#include "check.h"
#include "runtime/cpu/cpu.h"

enum { GROUPS = 128, EACH = 8 /* bytes of a thread */ };

static void row(const struct ingot_cpu_group *group, uint32_t first, uint32_t end) {
    (void)group;
    (void)first;
    (void)end;
}

/* What a plan depends on. */
struct scene {
    struct cpu_device device;
    struct cpu_executor executor;
    struct cpu_stream stream;
    struct ingot_cpu_kernel kernel;
    struct cpu_code code;
    uint32_t threads; /* of a threadgroup */
};

static void set(struct scene *scene, uint32_t workers, uint32_t cpus, uint64_t nanoseconds,
                uint64_t bytes) {
    memset(scene, 0, sizeof *scene);
    scene->device.worker_count = workers;
    scene->device.cpus = cpus;
    scene->executor.device = &scene->device;
    scene->stream.device = &scene->device;
    scene->kernel.row = row;
    scene->kernel.flags = (uint32_t)(bytes ? EACH : 0) * INGOT_CPU_KERNEL_BYTES_PER_THREAD +
                          2 * INGOT_CPU_KERNEL_ARRAYS;
    scene->code.kernel = &scene->kernel;
    scene->threads = bytes ? (uint32_t)(bytes / GROUPS / EACH) : 1024;
    atomic_store(&scene->code.cost, (unsigned)(nanoseconds * 16 / GROUPS));
    atomic_store(&scene->stream.submitted, 1000);
}

static bool plan(struct scene *scene, struct cpu_command *command) {
    *command = (struct cpu_command){.kind = CPU_DISPATCH, .pieces = GROUPS, .split = 1};
    command->u.dispatch.code = &scene->code;
    for (int axis = 0; axis < 3; axis++) {
        command->u.dispatch.groups[axis] = axis ? 1 : GROUPS;
        command->u.dispatch.group[axis] = axis ? 1 : scene->threads;
        command->u.dispatch.threads[axis] = axis ? 1 : GROUPS * scene->threads;
    }
    return cpu_plan_command(&scene->executor, &scene->stream, command);
}

/* More workers than CPUs: short work is for as many as can run at once. */
static void test_shares(void) {
    static struct scene scene;
    static struct cpu_command command;
    set(&scene, 16, 16, 8000, 0);
    CHECK(!plan(&scene, &command) && command.most_shares == 5);
    set(&scene, 16, 2, 8000, 0);
    CHECK(!plan(&scene, &command) && command.most_shares == 2);
    set(&scene, 16, 2, 500000, 0);
    CHECK(!plan(&scene, &command) && command.most_shares == 2);
    set(&scene, 16, 2, 50000000, 0);
    CHECK(!plan(&scene, &command) && command.most_shares == 16);
    set(&scene, 16, 1, 8000, 0);
    CHECK(plan(&scene, &command));
    set(&scene, 16, 16, 8000, 0); /* nothing else is queued: not worth sharing */
    atomic_store(&scene.stream.completed, 999);
    CHECK(plan(&scene, &command));
}

/* Every other command on more than a core's cache goes through it from the end. */
static void test_direction(void) {
    static struct scene scene;
    static struct cpu_command command;
    const uint64_t bytes = ig_core_cache_bytes();
    set(&scene, 1, 1, 7000, bytes);
    for (int i = 0; i < 6; i++) {
        CHECK(plan(&scene, &command));
        CHECK((command.stretch > 0) == (i % 2 == 0));
        CHECK(command.stretch < GROUPS / 2);
    }
    set(&scene, 2, 2, 14000, 2 * bytes); /* as much for each of two */
    CHECK(!plan(&scene, &command) && command.stretch > 0);
    set(&scene, 2, 2, 14000, bytes); /* half of it fits */
    CHECK(!plan(&scene, &command) && command.stretch == 0);
    set(&scene, 1, 1, 7000, bytes);
    scene.kernel.row = NULL; /* its threadgroups may have an order */
    CHECK(plan(&scene, &command) && command.stretch == 0);
    set(&scene, 1, 1, 7000, 0); /* how much it goes through is not known */
    CHECK(plan(&scene, &command) && command.stretch == 0);
}

/* A team that is not full runs commands without the pool, and seldom asks for more helpers. */
static void test_recruits(void) {
    static struct scene scene;
    static struct cpu_command command;
    set(&scene, 16, 16, 20000, 0);
    CHECK(!plan(&scene, &command));
    CHECK(!cpu_team_can_run(&scene.stream, &command)); /* nobody is there */
    atomic_store(&scene.stream.team.members, 2);
    int alone = 0;
    for (int i = 0; i < 160; i++) {
        CHECK(!plan(&scene, &command) && command.most_shares > 3);
        if (cpu_team_can_run(&scene.stream, &command)) {
            CHECK(command.most_shares == 3);
            alone++;
        }
    }
    CHECK(alone == 150);
    atomic_store(&scene.stream.team.members, 15);
    for (int i = 0; i < 20; i++) {
        CHECK(!plan(&scene, &command));
        const uint32_t shares = command.most_shares;
        CHECK(cpu_team_can_run(&scene.stream, &command) && command.most_shares == shares);
    }
}

int main(void) {
    test_shares();
    test_direction();
    test_recruits();
    return check_report();
}
