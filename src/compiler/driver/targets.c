/* What the back ends have, asked for all of them at once: targets and tables of passes. */
#include <string.h>

#include "compiler/driver/driver.h"

const struct igc_target *igc_target_find(const char *name) {
    for (size_t b = 0; igc_backends[b]; b++) {
        const struct igc_target *const *targets = igc_backends[b]->targets;
        for (size_t i = 0; targets[i]; i++) {
            if (!strcmp(targets[i]->name, name)) {
                return targets[i];
            }
        }
    }
    return NULL;
}

const struct igc_target *igc_target_host(void) {
    for (size_t b = 0; igc_backends[b]; b++) {
        const struct igc_target *host = igc_backends[b]->host ? igc_backends[b]->host() : NULL;
        if (host) {
            return host;
        }
    }
    return NULL;
}

static size_t count_targets(const struct igc_backend *backend) {
    size_t count = 0;
    while (backend->targets[count]) {
        count++;
    }
    return count;
}

size_t igc_target_count(void) {
    size_t count = 0;
    for (size_t b = 0; igc_backends[b]; b++) {
        count += count_targets(igc_backends[b]);
    }
    return count;
}

const struct igc_target *igc_target_level(size_t index) {
    const struct igc_target *host = igc_target_host();
    size_t left = host ? count_targets(host->backend) : 0;
    while (left--) { /* the best comes first there */
        const struct igc_target *level = host->backend->targets[left];
        if (!level->is_special && !strcmp(level->processor.triple, host->processor.triple) &&
            !index--) {
            return level;
        }
    }
    return NULL;
}

void igc_target_names(struct ig_text *out, const char *between) {
    for (size_t b = 0; igc_backends[b]; b++) {
        const struct igc_target *const *targets = igc_backends[b]->targets;
        for (size_t i = 0; targets[i]; i++) {
            ig_text_printf(out, "%s%s", b || i ? between : "", targets[i]->name);
        }
    }
}

void igc_print_tables(FILE *out) {
    fprintf(out, "once for a kernel:\n");
    igc_print_passes(igc_isolate_passes, out);
    fprintf(out, "\nonce for each back end:\n");
    igc_print_passes(igc_scalar_passes, out);
    for (size_t b = 0; igc_backends[b]; b++) {
        const struct igc_backend *backend = igc_backends[b];
        if (backend->early) {
            fprintf(out, "\n%s, before those for each back end:\n", backend->name);
            igc_print_passes(backend->early, out);
        }
        fprintf(out, "\n%s, for each target:\n", backend->name);
        igc_print_passes(backend->passes, out);
    }
}

bool igc_is_pass(const char *name) {
    if (igc_has_pass(igc_isolate_passes, name) || igc_has_pass(igc_scalar_passes, name)) {
        return true;
    }
    for (size_t b = 0; igc_backends[b]; b++) {
        if (igc_has_pass(igc_backends[b]->early, name) ||
            igc_has_pass(igc_backends[b]->passes, name)) {
            return true;
        }
    }
    return false;
}
