/* CHECK(condition) counts and reports; THROWS(call, "part of the text") wants an exception;
 * check_report() is main's result. */
#ifndef INGOT_TESTS_METAL_CHECK_H
#define INGOT_TESTS_METAL_CHECK_H

#import <Foundation/Foundation.h>
#import <Metal/Metal.h>
#include <stdio.h>

static int check_passed, check_failed;

static void check_note(BOOL good, const char *file, int line, const char *text) {
    if (good) {
        check_passed++;
    } else {
        check_failed++;
        fprintf(stderr, "%s:%d: failed: %s\n", file, line, text);
    }
}
#define CHECK(condition) check_note((condition) ? YES : NO, __FILE__, __LINE__, #condition)

static inline BOOL check_text(NSString *text, const char *part) {
    BOOL has = [text rangeOfString:[NSString stringWithUTF8String:part]].location != NSNotFound;
    if (!has) {
        fprintf(stderr, "\"%s\" is not in \"%s\"\n", part, text ? [text UTF8String] : "(nil)");
    }
    return has;
}
#define THROWS(statement, part)                                                                    \
    do {                                                                                           \
        NSString *reason_ = nil;                                                                   \
        @try {                                                                                     \
            statement;                                                                             \
        } @catch (NSException * exception_) {                                                      \
            reason_ = [exception_ reason];                                                         \
        }                                                                                          \
        check_note(reason_ &&check_text(reason_, part), __FILE__, __LINE__, #statement);           \
    } while (0)

static int check_report(void) {
    printf("%d passed, %d failed\n", check_passed, check_failed);
    return check_failed || !check_passed ? 1 : 0;
}

/* A library from source, which must compile. */
static inline id<MTLLibrary> check_library(id<MTLDevice> device, const char *source) {
    NSError *error = nil;
    id<MTLLibrary> library = [device newLibraryWithSource:[NSString stringWithUTF8String:source]
                                                  options:nil
                                                    error:&error];
    if (!library) {
        fprintf(stderr, "%s\n", [[error localizedDescription] UTF8String]);
    }
    CHECK(library != nil && error == nil);
    return library;
}
static inline id<MTLComputePipelineState> check_pipeline(id<MTLDevice> device,
                                                         id<MTLLibrary> library, NSString *name) {
    NSError *error = nil;
    id<MTLFunction> function = [library newFunctionWithName:name];
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:function
                                                                                 error:&error];
    if (!pipeline) {
        fprintf(stderr, "%s\n", [[error localizedDescription] UTF8String]);
    }
    CHECK(pipeline != nil);
    return pipeline;
}
#endif
