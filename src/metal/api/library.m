/*
 * Libraries, functions and function constants.
 *
 * A function is a name in a library with values of its constants; code is made with the pipeline. Values of
 * constants that the library lacks are ignored, as Metal does.
 */
#import "metal/api/objects.h"

NSString *const MTLLibraryErrorDomain = @"MTLLibraryErrorDomain";

@implementation MTLCompileOptions {
    MTLMathMode _mathMode;
    BOOL _isMathChosen;
}
@synthesize preprocessorMacros = _preprocessorMacros,
            mathFloatingPointFunctions = _mathFloatingPointFunctions, languageVersion = _languageVersion,
            libraryType = _libraryType, installName = _installName, libraries = _libraries,
            preserveInvariance = _preserveInvariance,
            allowReferencingUndefinedSymbols = _allowReferencingUndefinedSymbols, enableLogging = _enableLogging,
            optimizationLevel = _optimizationLevel, compileSymbolVisibility = _compileSymbolVisibility,
            maxTotalThreadsPerThreadgroup = _maxTotalThreadsPerThreadgroup;
- (instancetype)init {
    if ((self = [super init])) {
        _mathMode = MTLMathModeFast;
        _languageVersion = MTLLanguageVersion3_2;
    }
    return self;
}
- (BOOL)fastMathEnabled {
    return _mathMode == MTLMathModeFast;
}
- (void)setFastMathEnabled:(BOOL)isFast {
    [self setMathMode:isFast ? MTLMathModeFast : MTLMathModeSafe];
}
- (MTLMathMode)mathMode {
    return _mathMode;
}
- (void)setMathMode:(MTLMathMode)mode {
    _mathMode = mode;
    _isMathChosen = YES;
}
/* Metal's default is fast. ingot's is not; the program has to say it. */
- (BOOL)isFastMathAskedFor {
    return _isMathChosen && _mathMode == MTLMathModeFast;
}
- (id)copyWithZone:(NSZone *)zone {
    MTLCompileOptions *copy = [[[self class] allocWithZone:zone] init];
    [copy setPreprocessorMacros:_preprocessorMacros];
    [copy setInstallName:_installName];
    [copy setLibraries:_libraries];
    copy->_mathMode = _mathMode;
    copy->_isMathChosen = _isMathChosen;
    copy->_mathFloatingPointFunctions = _mathFloatingPointFunctions;
    copy->_languageVersion = _languageVersion;
    copy->_libraryType = _libraryType;
    copy->_preserveInvariance = _preserveInvariance;
    copy->_allowReferencingUndefinedSymbols = _allowReferencingUndefinedSymbols;
    copy->_enableLogging = _enableLogging;
    copy->_optimizationLevel = _optimizationLevel;
    copy->_compileSymbolVisibility = _compileSymbolVisibility;
    copy->_maxTotalThreadsPerThreadgroup = _maxTotalThreadsPerThreadgroup;
    return copy;
}
- (void)dealloc {
    [_preprocessorMacros release];
    [_installName release];
    [_libraries release];
    [super dealloc];
}
@end

/* ---- function constants ---- */

enum { MAX_VALUE = 64 };

struct constant_value {
    char *name; /* NULL: by index */
    uint32_t index;
    size_t size;
    uint8_t bytes[MAX_VALUE];
};

static size_t size_of_type(MTLDataType type) {
    static const struct {
        MTLDataType first;
        size_t size;
    } scalars[] = {
        {MTLDataTypeFloat, 4}, {MTLDataTypeHalf, 2},  {MTLDataTypeInt, 4},  {MTLDataTypeUInt, 4},
        {MTLDataTypeShort, 2}, {MTLDataTypeUShort, 2}, {MTLDataTypeChar, 1}, {MTLDataTypeUChar, 1},
        {MTLDataTypeBool, 1},  {MTLDataTypeLong, 8},  {MTLDataTypeULong, 8}, {MTLDataTypeBFloat, 2},
    };
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        if (type >= scalars[i].first && type < scalars[i].first + 4) {
            NSUInteger components = type - scalars[i].first + 1;
            return scalars[i].size * (components == 3 ? 4 : components);
        }
    }
    return 0;
}

@implementation MTLFunctionConstantValues {
    struct constant_value *_values;
    size_t _count, _capacity;
}
- (void)dealloc {
    [self reset];
    free(_values);
    [super dealloc];
}
- (void)reset {
    for (size_t i = 0; i < _count; i++) {
        free(_values[i].name);
    }
    _count = 0;
}
- (void)set:(const void *)value type:(MTLDataType)type name:(const char *)name index:(NSUInteger)index for:(SEL)selector {
    size_t size = size_of_type(type), i = 0;
    if (!value || !size) {
        im_raise(self, selector, value ? @"data type %lu is not that of a constant" : @"the value is NULL (type %lu)",
                 (unsigned long)type);
    }
    if (index > UINT16_MAX) {
        im_raise(self, selector, @"index %lu is above 65535", (unsigned long)index);
    }
    while (i < _count && (name ? !_values[i].name || strcmp(_values[i].name, name) != 0
                               : _values[i].name || _values[i].index != index)) {
        i++;
    }
    if (i == _capacity) {
        size_t capacity = _capacity ? 2 * _capacity : 16;
        struct constant_value *grown = realloc(_values, capacity * sizeof *grown);
        if (!grown) {
            im_raise(self, selector, @"no memory");
        }
        _values = grown;
        _capacity = capacity;
    }
    if (i == _count) {
        _values[_count++] = (struct constant_value){.name = name ? strdup(name) : NULL, .index = (uint32_t)index};
    }
    _values[i].size = size;
    memcpy(_values[i].bytes, value, size);
}
- (void)setConstantValue:(const void *)value type:(MTLDataType)type atIndex:(NSUInteger)index {
    [self set:value type:type name:NULL index:index for:_cmd];
}
- (void)setConstantValues:(const void *)values type:(MTLDataType)type withRange:(NSRange)range {
    for (NSUInteger i = 0; i < range.length; i++) {
        const void *value = values ? (const char *)values + i * size_of_type(type) : NULL;
        [self set:value type:type name:NULL index:range.location + i for:_cmd];
    }
}
- (void)setConstantValue:(const void *)value type:(MTLDataType)type withName:(NSString *)name {
    if (!name) {
        IM_RAISE(self, @"the name is nil");
    }
    [self set:value type:type name:[name UTF8String] index:0 for:_cmd];
}
- (id)copyWithZone:(NSZone *)zone {
    MTLFunctionConstantValues *copy = [[[self class] allocWithZone:zone] init];
    for (size_t i = 0; i < _count; i++) {
        copy->_values = realloc(copy->_values, _count * sizeof *copy->_values);
        copy->_values[i] = _values[i];
        copy->_values[i].name = _values[i].name ? strdup(_values[i].name) : NULL;
        copy->_count = copy->_capacity = i + 1;
    }
    if (copy) {
        copy->_capacity = _count;
    }
    return copy;
}
- (ingot_constant *)valuesFor:(ingot_library *)library count:(size_t *)count {
    ingot_constant *found = calloc(_count + 1, sizeof *found);
    *count = 0;
    for (size_t i = 0; found && i < _count; i++) {
        ingot_constant_info info;
        for (size_t j = 0; ingot_library_constant_info(library, j, &info) == INGOT_OK; j++) {
            BOOL isIt = _values[i].name ? info.name && !strcmp(info.name, _values[i].name)
                                        : info.index == _values[i].index;
            if (isIt) {
                found[(*count)++] = (ingot_constant){.index = info.index,
                                                     .bytes = _values[i].bytes,
                                                     .size = _values[i].size};
                break;
            }
        }
    }
    return found;
}
@end

@implementation MTLFunctionConstant {
@public
    NSString *_name;
    MTLDataType _type;
    NSUInteger _index;
    BOOL _required;
}
@synthesize name = _name, type = _type, index = _index, required = _required;
- (void)dealloc {
    [_name release];
    [super dealloc];
}
@end

@implementation MTLFunctionDescriptor
@synthesize name = _name, specializedName = _specializedName, constantValues = _constantValues, options = _options,
            binaryArchives = _binaryArchives;
+ (MTLFunctionDescriptor *)functionDescriptor {
    return [[[self alloc] init] autorelease];
}
- (id)copyWithZone:(NSZone *)zone {
    MTLFunctionDescriptor *copy = [[[self class] allocWithZone:zone] init];
    [copy setName:_name];
    [copy setSpecializedName:_specializedName];
    [copy setConstantValues:_constantValues];
    [copy setBinaryArchives:_binaryArchives];
    copy->_options = _options;
    return copy;
}
- (void)dealloc {
    [_name release];
    [_specializedName release];
    [_constantValues release];
    [_binaryArchives release];
    [super dealloc];
}
@end

@implementation MTLLinkedFunctions
@synthesize functions = _functions, binaryFunctions = _binaryFunctions, privateFunctions = _privateFunctions,
            groups = _groups;
+ (MTLLinkedFunctions *)linkedFunctions {
    return [[[self alloc] init] autorelease];
}
- (id)copyWithZone:(NSZone *)zone {
    MTLLinkedFunctions *copy = [[[self class] allocWithZone:zone] init];
    [copy setFunctions:_functions];
    [copy setBinaryFunctions:_binaryFunctions];
    [copy setPrivateFunctions:_privateFunctions];
    [copy setGroups:_groups];
    return copy;
}
- (void)dealloc {
    [_functions release];
    [_binaryFunctions release];
    [_privateFunctions release];
    [_groups release];
    [super dealloc];
}
@end

/* ---- functions ---- */

static MTLDataType data_type(ingot_scalar_type type, uint32_t components) {
    static const MTLDataType first[] = {
        [INGOT_SCALAR_BOOL] = MTLDataTypeBool, [INGOT_SCALAR_I8] = MTLDataTypeChar,
        [INGOT_SCALAR_U8] = MTLDataTypeUChar,  [INGOT_SCALAR_I16] = MTLDataTypeShort,
        [INGOT_SCALAR_U16] = MTLDataTypeUShort, [INGOT_SCALAR_I32] = MTLDataTypeInt,
        [INGOT_SCALAR_U32] = MTLDataTypeUInt,  [INGOT_SCALAR_I64] = MTLDataTypeLong,
        [INGOT_SCALAR_U64] = MTLDataTypeULong, [INGOT_SCALAR_F16] = MTLDataTypeHalf,
        [INGOT_SCALAR_BF16] = MTLDataTypeBFloat, [INGOT_SCALAR_F32] = MTLDataTypeFloat,
    };
    if (type == INGOT_SCALAR_NONE || (size_t)type >= sizeof first / sizeof *first || components < 1) {
        return MTLDataTypeStruct;
    }
    return first[type] + components - 1;
}

size_t im_constant_size(const ingot_constant_info *info) {
    return size_of_type(data_type(info->type, info->components));
}

@implementation IngotFunction
- (void)dealloc {
    [library release];
    [kernel release];
    [shownName release];
    [constants release];
    [super dealloc];
}
- (id<MTLDevice>)device {
    return (id<MTLDevice>)library->owner;
}
- (NSString *)name {
    return shownName;
}
- (MTLFunctionType)functionType {
    return MTLFunctionTypeKernel;
}
- (MTLFunctionOptions)options {
    return MTLFunctionOptionNone;
}
- (NSDictionary *)functionConstantsDictionary {
    NSMutableDictionary *all = [NSMutableDictionary dictionary];
    ingot_library *own = NULL;
    if (ingot_library_of_kernel(library->library, [kernel UTF8String], &own) != INGOT_OK) {
        return all;
    }
    ingot_constant_info info;
    for (size_t i = 0; ingot_library_constant_info(own, i, &info) == INGOT_OK; i++) {
        MTLFunctionConstant *constant = [[MTLFunctionConstant alloc] init];
        constant->_name = [[NSString alloc] initWithUTF8String:info.name ? info.name : ""];
        constant->_type = data_type(info.type, info.components);
        constant->_index = info.index;
        constant->_required = info.required;
        [all setObject:constant forKey:constant->_name];
        [constant release];
    }
    ingot_library_release(own);
    return all;
}
@end

@implementation IngotLibrary
- (instancetype)initWithDevice:(IngotDevice *)device library:(ingot_library *)given {
    if (!(self = [super init])) {
        ingot_library_release(given);
        return nil;
    }
    owner = [device retain];
    library = given;
    return self;
}
- (void)dealloc {
    ingot_library_release(library);
    [owner release];
    [super dealloc];
}
- (id<MTLDevice>)device {
    return (id<MTLDevice>)owner;
}
- (MTLLibraryType)type {
    return MTLLibraryTypeExecutable;
}
- (NSString *)installName {
    return nil;
}
- (NSArray *)functionNames {
    NSMutableArray *names = [NSMutableArray array];
    size_t count = ingot_library_kernel_count(library);
    for (size_t i = 0; i < count; i++) {
        [names addObject:[NSString stringWithUTF8String:ingot_library_kernel_name(library, i)]];
    }
    return names;
}
- (BOOL)hasKernel:(NSString *)name {
    const char *wanted = [name UTF8String];
    size_t count = ingot_library_kernel_count(library);
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(ingot_library_kernel_name(library, i), wanted)) {
            return YES;
        }
    }
    return NO;
}
- (IngotFunction *)function:(NSString *)name
                         as:(NSString *)shownName
                     values:(MTLFunctionConstantValues *)values
                      error:(NSError **)error
                        for:(SEL)selector NS_RETURNS_RETAINED {
    if (!name) {
        im_raise(self, selector, @"the name is nil");
    }
    if (error) {
        *error = nil;
    }
    if (![self hasKernel:name]) {
        NSString *text = [NSString stringWithFormat:@"function %@ was not found in the library", name];
        im_set_error(error, MTLLibraryErrorDomain, MTLLibraryErrorFunctionNotFound, [text UTF8String]);
        return nil;
    }
    IngotFunction *function = [[IngotFunction alloc] init];
    function->library = [self retain];
    function->kernel = [name copy];
    function->shownName = [shownName ? shownName : name copy];
    function->constants = [values copy];
    return function;
}
- (id)newFunctionWithName:(NSString *)name {
    return [self function:name as:nil values:nil error:NULL for:_cmd];
}
- (id)newFunctionWithName:(NSString *)name
           constantValues:(MTLFunctionConstantValues *)values
                    error:(NSError **)error {
    return [self function:name as:nil values:values error:error for:_cmd];
}
- (id)newFunctionWithDescriptor:(MTLFunctionDescriptor *)descriptor error:(NSError **)error {
    return [self function:[descriptor name]
                       as:[descriptor specializedName]
                   values:[descriptor constantValues]
                    error:error
                      for:_cmd];
}
- (void)newFunctionWithName:(NSString *)name
             constantValues:(MTLFunctionConstantValues *)values
          completionHandler:(void (^)(id<MTLFunction>, NSError *))handler {
    NSError *error = nil;
    id function = [[self function:name as:nil values:values error:&error for:_cmd] autorelease];
    handler(function, error);
}
- (void)newFunctionWithDescriptor:(MTLFunctionDescriptor *)descriptor
                completionHandler:(void (^)(id<MTLFunction>, NSError *))handler {
    NSError *error = nil;
    id function = [[self newFunctionWithDescriptor:descriptor error:&error] autorelease];
    handler(function, error);
}
@end
