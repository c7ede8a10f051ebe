/* Which words of memory a dispatch read and wrote: two bits for each 4 bytes, by page. */
#include <stdlib.h>
#include <string.h>

#include "runtime/profile/counters.h"

enum { PAGE = 4096, WORD = 4, WORDS = PAGE / WORD, UNITS = WORDS / 64, FIRST_CAPACITY = 64 };

struct ig_moved_page {
    uint64_t number; /* 1 + the page's; 0: free */
    uint64_t read[UNITS], written[UNITS];
};

static struct ig_moved_page *slot_of(struct ig_moved_page *pages, size_t capacity,
                                     uint64_t number) {
    uint64_t hash = number * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash >> 20) & (capacity - 1);
    while (pages[at].number && pages[at].number != number) {
        at = (at + 1) & (capacity - 1);
    }
    return &pages[at];
}

static bool grow(struct ig_moved *moved) {
    size_t capacity = moved->capacity ? 2 * moved->capacity : FIRST_CAPACITY;
    struct ig_moved_page *pages = calloc(capacity, sizeof *pages);
    if (!pages) {
        moved->failed = true;
        return false;
    }
    for (size_t i = 0; i < moved->capacity; i++) {
        if (moved->pages[i].number) {
            *slot_of(pages, capacity, moved->pages[i].number) = moved->pages[i];
        }
    }
    free(moved->pages);
    moved->pages = pages;
    moved->capacity = capacity;
    moved->last = NULL;
    return true;
}

static struct ig_moved_page *page_of(struct ig_moved *moved, uint64_t number) {
    if (moved->last && moved->last->number == number) {
        return moved->last;
    }
    if (4 * (moved->count + 1) > 3 * moved->capacity && !grow(moved)) {
        return NULL;
    }
    struct ig_moved_page *page = slot_of(moved->pages, moved->capacity, number);
    moved->count += !page->number;
    page->number = number;
    moved->last = page;
    return page;
}

void ig_moved_add(struct ig_moved *moved, uint64_t address, uint64_t size, bool is_read,
                  bool is_written) {
    uint64_t word = address / WORD, end = (address + size + WORD - 1) / WORD;
    while (word < end) {
        struct ig_moved_page *page = page_of(moved, 1 + word / WORDS);
        if (!page) {
            return;
        }
        uint64_t left = end - word, room = 64 - word % 64, count = left < room ? left : room;
        uint64_t bits = (count == 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1) << word % 64;
        size_t unit = word % WORDS / 64;
        page->read[unit] |= is_read ? bits : 0;
        page->written[unit] |= is_written ? bits : 0;
        word += count;
    }
}

void ig_moved_join(struct ig_moved *moved, const struct ig_moved *other) {
    moved->failed |= other->failed;
    for (size_t i = 0; i < other->capacity; i++) {
        const struct ig_moved_page *from = &other->pages[i];
        struct ig_moved_page *page = from->number ? page_of(moved, from->number) : NULL;
        for (size_t unit = 0; page && unit < UNITS; unit++) {
            page->read[unit] |= from->read[unit];
            page->written[unit] |= from->written[unit];
        }
    }
}

void ig_moved_count(const struct ig_moved *moved, uint64_t *bytes_read, uint64_t *bytes_written) {
    uint64_t read = 0, written = 0;
    for (size_t i = 0; i < moved->capacity; i++) {
        for (size_t unit = 0; moved->pages[i].number && unit < UNITS; unit++) {
            read += (uint64_t)__builtin_popcountll(moved->pages[i].read[unit]);
            written += (uint64_t)__builtin_popcountll(moved->pages[i].written[unit]);
        }
    }
    *bytes_read = WORD * read;
    *bytes_written = WORD * written;
}

void ig_moved_free(struct ig_moved *moved) {
    free(moved->pages);
    *moved = (struct ig_moved){0};
}
