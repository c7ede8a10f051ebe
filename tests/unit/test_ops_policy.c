/* The launch policy: what it accepts, what it refuses and in which words, and which rule wins. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "check.h"
#include "ops/ops.h"

static struct igo_policy_device cpu, pairs; /* pairs: with more instructions, "x86-64-v4-bf16" */
static struct igo_policy_device gpu, own;   /* own: of one card only, "sm_90a" */

static void find_kinds(void) {
    for (size_t i = 0; i < ig_device_kind_count; i++) {
        if (!strcmp(ig_device_kinds[i]->name, "cpu")) {
            cpu = (struct igo_policy_device){ig_device_kinds[i], "x86-64-v4"};
            pairs = (struct igo_policy_device){ig_device_kinds[i], "x86-64-v4-bf16"};
        } else if (!strcmp(ig_device_kinds[i]->name, "cuda")) {
            gpu = (struct igo_policy_device){ig_device_kinds[i], "sm_90"};
            own = (struct igo_policy_device){ig_device_kinds[i], "sm_90a"};
        }
    }
    CHECK(cpu.kind && gpu.kind);
}

/* The message that `text` gives; "" when it is accepted. In memory that the next call reuses. */
static const char *refusal(const char *text) {
    static char message[1024];
    struct igo_policy policy = {0};
    struct ig_error error = {0};
    ingot_status status = igo_policy_add(&policy, "file", text, &error);
    snprintf(message, sizeof message, "%s", status ? ig_error_text(&error) : "");
    CHECK(!status || policy.count == 0);
    CHECK(!status || status == INGOT_INVALID_ARGUMENT);
    ig_error_clear(&error);
    igo_policy_free(&policy);
    return message;
}

static bool refused(const char *text, const char *expected) {
    const char *got = refusal(text);
    if (strcmp(got, expected)) {
        fprintf(stderr, "  got \"%s\"\n", got);
    }
    return !strcmp(got, expected);
}

static uint32_t resolve(const char *text, const struct igo_policy_device *device,
                        const char *subject) {
    struct igo_policy policy = {0};
    struct ig_error error = {0};
    uint32_t values[IGO_MAX_KNOBS] = {0};
    CHECK(!igo_policy_add(&policy, "file", text, &error));
    igo_policy_resolve(&policy, device, igo_operation_find("axpy", 4), subject, values);
    igo_policy_free(&policy);
    ig_error_clear(&error);
    return values[1]; /* block */
}

static void test_accepted(void) {
    CHECK(refused("", ""));
    CHECK(refused("\n\n# only a comment\n  \t\r\n", ""));
    CHECK(refused("cpu axpy block=256", ""));
    CHECK(refused("cpu axpy/f32 block=256 # and why\r\n", ""));
    CHECK(refused("cuda:sm_90 axpy/*/n<=4096 block=256\n* axpy/bf16/n>=1/n=3 block=128\n", ""));
}

static void test_refused(void) {
    CHECK(refused("cpu\n", "file:1: expected DEVICE OPERATION/TYPE/CLASS KNOB=VALUE..., not only "
                           "\"cpu\""));
    CHECK(refused("\ncpu axpo block=256", "file:2: there is no operation \"axpo\"; `ingot ops` "
                                          "lists them"));
    CHECK(refused("cpu axpy/f33 block=256", "file:1: \"f33\" is no type, such as f32, and no *"));
    CHECK(refused("cpu axpy/f32/n<4 block=256",
                  "file:1: \"n<4\" is no comparison, such as row<=4096"));
    CHECK(refused("cpu axpy/f32/n<= block=256",
                  "file:1: \"n<=\" is no comparison, such as row<=4096"));
    CHECK(refused("cpu axpy/f32/n=4x block=256",
                  "file:1: \"n=4x\" is no comparison, such as row<=4096"));
    CHECK(refused("cpu axpy\n", "file:1: cpu axpy sets no knob"));
    CHECK(refused("cpu axpy block", "file:1: expected KNOB=VALUE, not \"block\""));
    CHECK(refused("cpu axpy =64", "file:1: expected KNOB=VALUE, not \"=64\""));
    CHECK(refused("cpu axpy blok=256",
                  "file:1: axpy has no knob \"blok\"; it has: simd, block, wide"));
    CHECK(refused("cpu axpy block=many", "file:1: block wants a number, not \"many\""));
    CHECK(refused("cpu axpy block=", "file:1: block wants a number, not \"\""));
    CHECK(refused("cpu axpy block=-64", "file:1: block wants a number, not \"-64\""));
    CHECK(refused("cpu axpy block=64x", "file:1: block wants a number, not \"64x\""));
    CHECK(refused("cpu axpy block=64", "file:1: block of axpy is 64; it must be 128 to 65536"));
    CHECK(refused("cpu axpy block=131072",
                  "file:1: block of axpy is 131072; it must be 128 to 65536"));
    CHECK(refused("cpu axpy block=384", "file:1: block of axpy is 384; it must be a power of two"));
    /* Nothing of a text with an error is kept. */
    CHECK(refused("cpu axpy block=256\ncpu axpy block=257",
                  "file:2: block of axpy is 257; it must be a power of two"));
}

static void test_matching(void) {
    CHECK(igo_policy_matches("", "bf16/row4096"));
    CHECK(igo_policy_matches("bf16", "bf16/row4096"));
    CHECK(igo_policy_matches("*/row4096", "bf16/row4096"));
    CHECK(igo_policy_matches("bf16/row<=4096", "bf16/row4096"));
    CHECK(igo_policy_matches("bf16/row>=4096", "bf16/row4096"));
    CHECK(igo_policy_matches("bf16/row=4096", "bf16/row4096"));
    CHECK(!igo_policy_matches("f16", "bf16/row4096"));
    CHECK(!igo_policy_matches("bf16/row<=2048", "bf16/row4096"));
    CHECK(!igo_policy_matches("bf16/row>=8192", "bf16/row4096"));
    CHECK(!igo_policy_matches("bf16/row=409", "bf16/row4096"));
    CHECK(!igo_policy_matches("bf16/rows<=4096", "bf16/row4096"));
    CHECK(!igo_policy_matches("bf16/ro<=4096", "bf16/row4096"));
    CHECK(!igo_policy_matches("bf16/row4096/causal", "bf16/row4096"));
    CHECK(igo_policy_matches("bf16/*/causal", "bf16/row4096/causal"));
}

static void test_resolving(void) {
    CHECK(resolve("", &cpu, "f32/n64") == 512); /* the fallback */
    CHECK(resolve("cpu axpy block=256", &cpu, "f32/n64") == 256);
    CHECK(resolve("cpu axpy block=256", &gpu, "f32/n64") == 512);
    CHECK(resolve("* axpy block=256", &gpu, "f32/n64") == 256);
    CHECK(resolve("cuda:sm_90 axpy block=256", &gpu, "f32/n64") == 256);
    CHECK(resolve("cuda:sm_80 axpy block=256", &gpu, "f32/n64") == 512);
    CHECK(resolve("cuda:sm_90a axpy block=256", &gpu, "f32/n64") == 512);
    CHECK(resolve("cuda:sm_90 axpy block=256", &own, "f32/n64") == 256);
    CHECK(resolve("cuda:sm_90a axpy block=256", &own, "f32/n64") == 256);
    CHECK(resolve("cuda:sm_80 axpy block=256", &own, "f32/n64") == 512);
    CHECK(resolve("cpu:x86-64-v4 axpy block=256", &cpu, "f32/n64") == 256);
    CHECK(resolve("cpu:x86-64-v3 axpy block=256", &cpu, "f32/n64") == 512);
    CHECK(resolve("cpu:x86-64-v4-bf16 axpy block=256", &cpu, "f32/n64") == 512);
    CHECK(resolve("cpu:x86-64-v4 axpy block=256", &pairs, "f32/n64") == 256);
    CHECK(resolve("cpu:x86-64-v4-bf16 axpy block=256", &pairs, "f32/n64") == 256);
    CHECK(resolve("cpu:x86-64-v3 axpy block=256", &pairs, "f32/n64") == 512);
    CHECK(resolve("cpu axpy block=256\ncpu axpy block=1024", &cpu, "f32/n64") == 1024);
    CHECK(resolve("cpu axpy/f32 block=256\ncpu axpy/bf16 block=1024", &cpu, "f32/n64") == 256);
    CHECK(resolve("cpu axpy/*/n<=32 block=256\n", &cpu, "f32/n64") == 512);
}

/* Through the public API: text, a file, the user's own file. */
static bool has_rule(const struct igo_policy *policy, const char *device,
                     const struct ingot_ops_info *operation) {
    for (size_t i = 0; i < policy->count; i++) {
        if (!strcmp(policy->rules[i].device, device) && policy->rules[i].operation == operation) {
            return true;
        }
    }
    return false;
}

/* Every operation with knobs has lines of its own for CPUs and for Apple's GPUs. */
static void test_shipped(void) {
    struct igo_policy policy = {0};
    struct ig_error error = {0};
    size_t checked = 0;
    CHECK(!igo_policy_add(&policy, "default policy", igo_default_policy, &error));
    for (size_t i = 0; i < ingot_ops_count(); i++) {
        ingot_ops_info info;
        CHECK(!ingot_ops_describe(i, &info));
        const struct ingot_ops_info *operation = igo_operation_find(info.name, strlen(info.name));
        CHECK(operation != NULL);
        if (!info.knob_count) {
            continue;
        }
        checked++;
        if (!has_rule(&policy, "metal", operation) || !has_rule(&policy, "cpu", operation)) {
            fprintf(stderr, "  %s has no line of its own for metal or cpu\n", info.name);
            CHECK(false);
        }
    }
    CHECK(checked > 40);
    igo_policy_free(&policy);
}

static void test_loading(void) {
    ingot_device *device = NULL;
    ingot_ops *ops = NULL;
    struct ig_error error = {0};
    char *folder = NULL, path[512];
    CHECK(!ingot_device_open("cpu", NULL, &device));
    ingot_ops_desc desc = {.policy_path = "", .policy_text = "cpu axpy block=129"};
    CHECK(ingot_ops_create(device, &desc, &ops) == INGOT_INVALID_ARGUMENT && !ops);
    CHECK(strstr(ingot_error_message(), "policy:1: block of axpy is 129"));
    CHECK(!ig_folder_temporary(&folder, &error));
    snprintf(path, sizeof path, "%s/policy", folder);
    CHECK(!ig_file_write(path, "cpu axpy block=7\n", 17, &error));
    desc = (ingot_ops_desc){.policy_path = path};
    CHECK(ingot_ops_create(device, &desc, &ops) == INGOT_INVALID_ARGUMENT);
    CHECK(strstr(ingot_error_message(), path));
    setenv("INGOT_POLICY", path, 1);
    CHECK(ingot_ops_create(device, NULL, &ops) == INGOT_INVALID_ARGUMENT);
    CHECK(strstr(ingot_error_message(), "block of axpy is 7"));
    CHECK(!ig_file_write(path, "cpu\0axpy", 8, &error));
    CHECK(ingot_ops_create(device, NULL, &ops) == INGOT_INVALID_ARGUMENT);
    CHECK(strstr(ingot_error_message(), "zero byte"));
    setenv("INGOT_POLICY", "/nowhere/policy", 1);
    CHECK(ingot_ops_create(device, NULL, &ops) != INGOT_OK);
    setenv("INGOT_POLICY", "", 1); /* none */
    CHECK(!ingot_ops_create(device, NULL, &ops));
    CHECK(ingot_ops_device(ops) == device);
    ingot_ops_release(ops);
    unsetenv("INGOT_POLICY");
    setenv("XDG_CONFIG_HOME", folder, 1); /* has no ingot/policy: fine */
    CHECK(!ingot_ops_create(device, NULL, &ops));
    ingot_ops_release(ops);
    CHECK(ingot_ops_create(NULL, NULL, &ops) == INGOT_INVALID_ARGUMENT);
    CHECK(ingot_ops_create(device, NULL, NULL) == INGOT_INVALID_ARGUMENT);
    ig_folder_remove(folder);
    free(folder);
    ingot_device_release(device);
}

int main(void) {
    find_kinds();
    test_accepted();
    test_refused();
    test_matching();
    test_resolving();
    test_shipped();
    test_loading();
    return check_report();
}
