/*
 * Binary archives: compiled kernels by their keys (ingot_kernel_key), each an archive of ingot's.
 *
 * The file: "INGOTBIN", a version and a count of 4 bytes each, then for each kernel its key of 64 characters, the
 * size in 8 bytes and the bytes. Integers are little-endian. It is written beside its place and renamed.
 */
#import "metal/api/objects.h"

#include <stdio.h>
#include <unistd.h>

NSString *const MTLBinaryArchiveDomain = @"MTLBinaryArchiveDomain";

static const char magic[8] = "INGOTBIN";
enum { VERSION = 1, KEY = INGOT_KERNEL_KEY_SIZE - 1 };

@implementation MTLBinaryArchiveDescriptor
@synthesize url = _url;
- (id)copyWithZone:(NSZone *)zone {
    MTLBinaryArchiveDescriptor *copy = [[[self class] allocWithZone:zone] init];
    [copy setUrl:_url];
    return copy;
}
- (void)dealloc {
    [_url release];
    [super dealloc];
}
@end

@interface IngotBinaryArchive : IngotObject <MTLBinaryArchive> {
@public
    IngotDevice *owner;
    NSMutableDictionary *kernels; /* archives' bytes by key */
}
@end

static BOOL fail(NSError **error, MTLBinaryArchiveError code, NSString *text) {
    im_set_error(error, MTLBinaryArchiveDomain, (NSInteger)code, [text UTF8String]);
    return NO;
}

static BOOL take_u64(NSData *data, NSUInteger *at, size_t size, uint64_t *value) {
    if ([data length] - *at < size) {
        return NO;
    }
    *value = 0;
    memcpy(value, (const char *)[data bytes] + *at, size);
    *at += size;
    return YES;
}

/* NO where the bytes are not an archive, whole. */
static BOOL read_kernels(NSData *data, NSMutableDictionary *kernels) {
    NSUInteger at = sizeof magic;
    uint64_t version = 0, count = 0;
    if ([data length] < at || memcmp([data bytes], magic, at) != 0 || !take_u64(data, &at, 4, &version) ||
        version != VERSION || !take_u64(data, &at, 4, &count)) {
        return NO;
    }
    for (; count; count--) {
        uint64_t size = 0;
        if ([data length] - at < KEY) {
            return NO;
        }
        NSString *key = [[[NSString alloc] initWithBytes:(const char *)[data bytes] + at
                                                  length:KEY
                                                encoding:NSASCIIStringEncoding] autorelease];
        at += KEY;
        if (!key || !take_u64(data, &at, 8, &size) || [data length] - at < size) {
            return NO;
        }
        [kernels setObject:[data subdataWithRange:NSMakeRange(at, size)] forKey:key];
        at += size;
    }
    return at == [data length];
}

@implementation IngotBinaryArchive
- (void)dealloc {
    [kernels release];
    [owner release];
    [super dealloc];
}
- (id<MTLDevice>)device {
    return (id<MTLDevice>)owner;
}

/* The function's key, as a string, or nil and libingot's message. */
static NSString *key_of(ingot_library *library, const ingot_kernel_desc *desc) {
    char key[INGOT_KERNEL_KEY_SIZE];
    return ingot_kernel_key(library, desc, key) == INGOT_OK ? [NSString stringWithUTF8String:key] : nil;
}

- (BOOL)add:(IngotFunction *)function error:(NSError **)error {
    const char *name = [function->kernel UTF8String];
    ingot_library *own = NULL;
    ingot_kernel *kernel = NULL;
    ingot_kernel_desc desc = {.name = name};
    const void *bytes = NULL;
    size_t size = 0;
    ingot_status status = ingot_library_of_kernel(function->library->library, name, &own);
    ingot_constant *constants = NULL;
    if (status == INGOT_OK && function->constants) {
        desc.constants = constants = [function->constants valuesFor:own count:&desc.constant_count];
    }
    NSString *key = status == INGOT_OK ? key_of(function->library->library, &desc) : nil;
    if (key && ingot_kernel_create(function->library->library, &desc, &kernel) == INGOT_OK &&
        ingot_kernel_archive(kernel, &bytes, &size) == INGOT_OK) {
        @synchronized(self) {
            [kernels setObject:[NSData dataWithBytes:bytes length:size] forKey:key];
        }
    } else {
        fail(error, MTLBinaryArchiveErrorCompilationFailure, [NSString stringWithUTF8String:ingot_error_message()]);
    }
    ingot_kernel_release(kernel);
    ingot_library_release(own);
    free(constants);
    return bytes != NULL;
}
- (BOOL)addComputePipelineFunctionsWithDescriptor:(MTLComputePipelineDescriptor *)descriptor error:(NSError **)error {
    IngotFunction *function = (IngotFunction *)[descriptor computeFunction];
    if (error) {
        *error = nil;
    }
    if (![function isKindOfClass:[IngotFunction class]]) {
        IM_RAISE(self, @"a function is needed, not %@", function ? (id)[function class] : @"nil");
    }
    if (function->library->owner != owner) {
        IM_RAISE(self, @"function %@ belongs to device \"%s\", not to \"%s\"", function->shownName,
                 function->library->owner->info.name, owner->info.name);
    }
    return [self add:function error:error];
}
- (NSData *)serialized {
    NSMutableData *data = [NSMutableData dataWithBytes:magic length:sizeof magic];
    @synchronized(self) {
        const uint32_t head[] = {VERSION, (uint32_t)[kernels count]};
        [data appendBytes:head length:sizeof head];
        for (NSString *key in [[kernels allKeys] sortedArrayUsingSelector:@selector(compare:)]) {
            NSData *bytes = [kernels objectForKey:key];
            const uint64_t size = [bytes length];
            [data appendBytes:[key UTF8String] length:KEY];
            [data appendBytes:&size length:sizeof size];
            [data appendData:bytes];
        }
    }
    return data;
}
- (BOOL)serializeToURL:(NSURL *)url error:(NSError **)error {
    if (error) {
        *error = nil;
    }
    if (![url isFileURL]) {
        IM_RAISE(self, @"%@ is not the URL of a file", url);
    }
    NSString *path = [url path];
    if (![[self serialized] writeToFile:path atomically:YES]) {
        return fail(error, MTLBinaryArchiveErrorInternalError, [NSString stringWithFormat:@"%@ cannot be written", path]);
    }
    return YES;
}
@end

id im_new_binary_archive(IngotDevice *device, MTLBinaryArchiveDescriptor *descriptor, NSError **error) {
    IngotBinaryArchive *archive = [[IngotBinaryArchive alloc] init];
    NSString *path = [[descriptor url] path];
    if (error) {
        *error = nil;
    }
    archive->owner = [device retain];
    archive->kernels = [[NSMutableDictionary alloc] init];
    NSData *data = path ? [NSData dataWithContentsOfFile:path] : nil;
    if (path && (!data || !read_kernels(data, archive->kernels))) {
        NSString *what = data ? @"%@ is not a binary archive of this version of ingot, or is damaged"
                              : @"%@ cannot be read";
        fail(error, MTLBinaryArchiveErrorInvalidFile, [NSString stringWithFormat:what, path]);
        [archive release];
        return nil;
    }
    return archive;
}

ingot_kernel *im_archived_kernel(NSArray *archives, IngotDevice *device, ingot_library *library,
                                 const ingot_kernel_desc *desc) {
    NSString *key = key_of(library, desc);
    for (IngotBinaryArchive *archive in key ? archives : nil) {
        if (![archive isKindOfClass:[IngotBinaryArchive class]]) {
            continue;
        }
        NSData *bytes = nil;
        @synchronized(archive) {
            bytes = [[[archive->kernels objectForKey:key] retain] autorelease];
        }
        ingot_library *kept = NULL;
        ingot_kernel *kernel = NULL;
        if (bytes && ingot_library_create_from_memory(device->device, [bytes bytes], [bytes length], &kept) == INGOT_OK) {
            ingot_kernel_create(kept, desc, &kernel);
        }
        ingot_library_release(kept);
        if (kernel) {
            return kernel;
        }
    }
    return NULL;
}
