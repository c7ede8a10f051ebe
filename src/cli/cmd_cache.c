/* `ingot cache`: what the cache of compiled kernels holds, and making it smaller. */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "base/cache.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/cli.h"

struct cache {
    char *folder;
    uint64_t limit;  /* $INGOT_CACHE_LIMIT */
    bool removes;    /* --clear or --trim */
    uint64_t target; /* what they leave */
    struct ig_cache_summary held, removed;
};

static const struct {
    const char *key, *one, *many;
} kinds[IG_CACHE_KINDS] = {
    [IG_CACHE_KERNEL] = {"kernels", "kernel", "kernels"},
    [IG_CACHE_HEADER] = {"headers", "precompiled header", "precompiled headers"},
    [IG_CACHE_TEMPORARY] = {"temporary", "temporary file", "temporary files"},
};

/* "2026-11-16T06:30:00Z" */
static const char *format_time(int64_t seconds, char out[32]) {
    time_t moment = (time_t)seconds;
    struct tm parts;
    if (!gmtime_r(&moment, &parts) || !strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &parts)) {
        snprintf(out, 32, "%" PRId64, seconds);
    }
    return out;
}

/* "3 days", for people. */
static const char *format_age(int64_t seconds, char out[32]) {
    static const struct {
        int64_t seconds;
        const char *name;
    } units[] = {{24 * 3600, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};
    size_t unit = 0;
    seconds = seconds < 0 ? 0 : seconds;
    while (unit < 3 && seconds < units[unit].seconds) {
        unit++;
    }
    int64_t number = seconds / units[unit].seconds;
    snprintf(out, 32, "%" PRId64 " %s%s", number, units[unit].name, number == 1 ? "" : "s");
    return out;
}

/* "1.5 MiB in 12 files: 11 kernels, 1 precompiled header" */
static void print_amount(const char *label, const struct ig_cache_summary *amount) {
    char bytes[32];
    const char *separator = ": ";
    printf("%-8s %s in %" PRIu64 " file%s", label, cli_bytes(amount->all_bytes, bytes),
           amount->all_files, amount->all_files == 1 ? "" : "s");
    for (int kind = 0; kind < IG_CACHE_KINDS; kind++) {
        uint64_t files = amount->files[kind];
        if (!files) {
            continue;
        }
        printf("%s%" PRIu64 " %s", separator, files,
               files == 1 ? kinds[kind].one : kinds[kind].many);
        separator = ", ";
    }
    printf("\n");
}

static void print_text(const struct cache *cache) {
    char text[32], moment[32];
    printf("folder   %s\n", cache->folder);
    if (cache->removes) {
        print_amount("removed", &cache->removed);
    }
    print_amount("held", &cache->held);
    printf("limit    %s\n",
           cache->limit == IG_CACHE_UNLIMITED ? "none" : cli_bytes(cache->limit, text));
    if (cache->held.all_files) {
        printf("oldest   used %s ago (%s)\n",
               format_age((int64_t)time(NULL) - cache->held.oldest, text),
               format_time(cache->held.oldest, moment));
    }
}

static void write_amount(struct ig_json *json, const struct ig_cache_summary *amount) {
    ig_json_u64(json, "bytes", amount->all_bytes);
    ig_json_u64(json, "files", amount->all_files);
    for (int kind = 0; kind < IG_CACHE_KINDS; kind++) {
        ig_json_object(json, kinds[kind].key);
        ig_json_u64(json, "bytes", amount->bytes[kind]);
        ig_json_u64(json, "files", amount->files[kind]);
        ig_json_object_end(json);
    }
}

static void print_json(const struct cache *cache) {
    struct ig_text text = {0};
    struct ig_json json = {.out = &text};
    char moment[32];
    ig_json_object(&json, NULL);
    ig_json_string(&json, "folder", cache->folder);
    if (cache->limit == IG_CACHE_UNLIMITED) {
        ig_json_string(&json, "limit", NULL);
    } else {
        ig_json_u64(&json, "limit", cache->limit);
    }
    write_amount(&json, &cache->held);
    ig_json_string(&json, "oldest",
                   cache->held.all_files ? format_time(cache->held.oldest, moment) : NULL);
    if (cache->removes) {
        ig_json_object(&json, "removed");
        write_amount(&json, &cache->removed);
        ig_json_object_end(&json);
    }
    ig_json_object_end(&json);
    printf("%s\n", ig_text_string(&text));
    ig_text_free(&text);
}

static int show(struct cache *cache, bool as_json) {
    struct ig_error error = {0};
    cache->folder = ig_cache_folder();
    ingot_status status = ig_cache_limit(&cache->limit, &error);
    if (status == INGOT_OK && !cache->folder) {
        status = ig_cache_no_folder(&error);
    }
    if (status == INGOT_OK) {
        status = cache->removes ? ig_cache_trim(cache->folder, cache->target, &cache->removed,
                                                &cache->held, &error)
                                : ig_cache_survey(cache->folder, &cache->held, &error);
        if (status == INGOT_OK || cache->removed.all_files) {
            as_json ? print_json(cache) : print_text(cache);
        }
    }
    if (status != INGOT_OK) {
        cli_error("%s", ig_error_text(&error));
    }
    ig_error_clear(&error);
    free(cache->folder);
    return status == INGOT_OK ? CLI_OK : CLI_FAILED;
}

static int run(const struct cli_command *command, int argc, char **argv) {
    bool as_json = false, clear = false;
    const char *trim = NULL;
    const struct cli_option options[] = {
        {"clear", 0, CLI_FLAG, NULL, "remove everything that ingot keeps there", &clear},
        {"trim", 0, CLI_STRING, "SIZE", "remove what was used longest ago until SIZE is left",
         &trim},
        {"json", 0, CLI_FLAG, NULL, "print JSON", &as_json},
        {0},
    };
    struct cli_list positionals = {0};
    struct cache cache = {0};
    struct ig_error error = {0};
    int status;
    if (cli_parse(command, options, argc, argv, &positionals, &status)) {
        cache.removes = clear || trim;
        if (positionals.count) {
            status = cli_usage_error(command, "unexpected argument %s", positionals.items[0]);
        } else if (clear && trim) {
            status = cli_usage_error(command, "--clear and --trim exclude each other");
        } else if (trim && ig_cache_parse_limit("--trim", trim, &cache.target, &error)) {
            status = cli_usage_error(command, "%s", ig_error_text(&error));
        } else {
            status = show(&cache, as_json);
        }
    }
    ig_error_clear(&error);
    cli_list_free(&positionals);
    return status;
}

const struct cli_command cli_cache = {
    .name = "cache",
    .summary = "what compiled kernels are kept, and how much",
    .usage = "[--clear | --trim SIZE] [--json]",
    .help = "Says where compiled kernels are kept, how much they take, the limit, and when the\n"
            "oldest was last used. The cache keeps itself below INGOT_CACHE_LIMIT (1G): what was\n"
            "used longest ago goes first. Other programs may run meanwhile; what was removed is\n"
            "compiled again when it is asked for. SIZE is bytes, or with K, M, G or T: 100M.",
    .examples = "  ingot cache --trim 100M\n"
                "  ingot cache --clear",
    .run = run,
};
