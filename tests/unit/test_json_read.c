/* Trees of JSON, and what is said about text that is none. */
#include "base/json_read.h"

#include <string.h>

#include "check.h"

static struct ig_json_value *reads(struct ig_arena *arena, const char *text) {
    struct ig_json_value *value = NULL;
    struct ig_error error = {0};
    if (ig_json_read(arena, text, strlen(text), &value, &error)) {
        fprintf(stderr, "%s: %s\n", text, ig_error_text(&error));
        check_failed++;
    }
    ig_error_clear(&error);
    return value;
}

static void refuses(struct ig_arena *arena, const char *text, const char *reason) {
    struct ig_json_value *value = NULL;
    struct ig_error error = {0};
    CHECK(ig_json_read(arena, text, strlen(text), &value, &error) == INGOT_INVALID_ARGUMENT);
    CHECK(!value);
    if (!strstr(ig_error_text(&error), reason)) {
        fprintf(stderr, "%s: the message lacks \"%s\": %s\n", text, reason, ig_error_text(&error));
        check_failed++;
    }
    ig_error_clear(&error);
}

int main(void) {
    struct ig_arena arena = {0};
    struct ig_json_value *v =
        reads(&arena, " {\"a\": [1, -2.5e+3, true, null], \"b\": {\"c\": \"x\"}, \"d\": []} ");
    const struct ig_json_value *a = ig_json_member(v, "a");
    CHECK(a && a->kind == IG_JSON_ARRAY && !strcmp(a->first->text, "1"));
    CHECK(!strcmp(a->first->next->text, "-2.5e+3") && a->last->kind == IG_JSON_NULL);
    CHECK(!strcmp(ig_json_member(ig_json_member(v, "b"), "c")->text, "x"));
    CHECK(!ig_json_member(v, "d")->first && !ig_json_member(v, "e") && !ig_json_member(a, "a"));
    v = reads(&arena, "\"\\u00e9\\n\\/\\ud83d\\ude00\\ud800 \xc3\xa9\"");
    CHECK(!strcmp(v->text, "\xc3\xa9\n/\xf0\x9f\x98\x80\xef\xbf\xbd \xc3\xa9"));
    CHECK(reads(&arena, "0")->kind == IG_JSON_NUMBER);
    refuses(&arena, "", "line 1, column 1: expected a value, not the end");
    refuses(&arena, "{\n \"a\" 1}", "line 2, column 6: expected a colon, not the byte 0x31");
    refuses(&arena, "[1, 2", "a comma or the closing bracket");
    refuses(&arena, "[1,]", "a value");
    refuses(&arena, "{a: 1}", "a key in quotes");
    refuses(&arena, "\"ab", "the end of a string");
    refuses(&arena, "\"a\nb\"", "control characters");
    refuses(&arena, "\"\\x\"", "an escape");
    refuses(&arena, "\"\\u12g4\"", "four hexadecimal digits");
    refuses(&arena, "\"\\u0000\"", "U+0000");
    refuses(&arena, "01", "a digit");
    refuses(&arena, "1.", "a digit");
    refuses(&arena, "1 2", "nothing behind the value");
    char deep[200];
    memset(deep, '[', sizeof deep);
    deep[sizeof deep - 1] = 0;
    refuses(&arena, deep, "64 brackets");
    ig_arena_free(&arena);
    return check_report();
}
