#ifndef INGOT_METAL_MTL_LIBRARY_H
#define INGOT_METAL_MTL_LIBRARY_H
#import <Metal/MTLArgument.h>

typedef NS_ENUM(NSUInteger, MTLLanguageVersion) {
    MTLLanguageVersion1_0 = (1 << 16),
    MTLLanguageVersion1_1 = (1 << 16) + 1,
    MTLLanguageVersion1_2 = (1 << 16) + 2,
    MTLLanguageVersion2_0 = (2 << 16),
    MTLLanguageVersion2_1 = (2 << 16) + 1,
    MTLLanguageVersion2_2 = (2 << 16) + 2,
    MTLLanguageVersion2_3 = (2 << 16) + 3,
    MTLLanguageVersion2_4 = (2 << 16) + 4,
    MTLLanguageVersion3_0 = (3 << 16),
    MTLLanguageVersion3_1 = (3 << 16) + 1,
    MTLLanguageVersion3_2 = (3 << 16) + 2,
    MTLLanguageVersion4_0 = (4 << 16),
};
typedef NS_ENUM(NSInteger, MTLLibraryType) { MTLLibraryTypeExecutable = 0, MTLLibraryTypeDynamic = 1 };
typedef NS_ENUM(NSInteger, MTLLibraryOptimizationLevel) {
    MTLLibraryOptimizationLevelDefault = 0,
    MTLLibraryOptimizationLevelSize = 1,
};
typedef NS_ENUM(NSInteger, MTLCompileSymbolVisibility) {
    MTLCompileSymbolVisibilityDefault = 0,
    MTLCompileSymbolVisibilityHidden = 1,
};
typedef NS_ENUM(NSInteger, MTLMathMode) { MTLMathModeSafe = 0, MTLMathModeRelaxed = 1, MTLMathModeFast = 2 };
typedef NS_ENUM(NSInteger, MTLMathFloatingPointFunctions) {
    MTLMathFloatingPointFunctionsFast = 0,
    MTLMathFloatingPointFunctionsPrecise = 1,
};
typedef NS_ENUM(NSUInteger, MTLFunctionType) {
    MTLFunctionTypeVertex = 1,
    MTLFunctionTypeFragment = 2,
    MTLFunctionTypeKernel = 3,
    MTLFunctionTypeVisible = 5,
    MTLFunctionTypeIntersection = 6,
    MTLFunctionTypeMesh = 7,
    MTLFunctionTypeObject = 8,
};
typedef NS_OPTIONS(NSUInteger, MTLFunctionOptions) {
    MTLFunctionOptionNone = 0,
    MTLFunctionOptionCompileToBinary = 1 << 0,
    MTLFunctionOptionStoreFunctionInMetalPipelinesScript = 1 << 1,
};
typedef NS_ENUM(NSUInteger, MTLLibraryError) {
    MTLLibraryErrorUnsupported = 1,
    MTLLibraryErrorInternal = 2,
    MTLLibraryErrorCompileFailure = 3,
    MTLLibraryErrorCompileWarning = 4,
    MTLLibraryErrorFunctionNotFound = 5,
    MTLLibraryErrorFileNotFound = 6,
};
MTL_EXTERN NSString *const MTLLibraryErrorDomain;

@interface MTLCompileOptions : NSObject <NSCopying>
@property (nullable, copy) NSDictionary<NSString *, NSObject *> *preprocessorMacros;
@property BOOL fastMathEnabled; /* YES */
@property MTLMathMode mathMode; /* Fast */
@property MTLMathFloatingPointFunctions mathFloatingPointFunctions;
@property MTLLanguageVersion languageVersion;
@property MTLLibraryType libraryType;
@property (nullable, copy) NSString *installName;
@property (nullable, copy) NSArray<id<MTLDynamicLibrary>> *libraries;
@property BOOL preserveInvariance, allowReferencingUndefinedSymbols, enableLogging;
@property MTLLibraryOptimizationLevel optimizationLevel;
@property MTLCompileSymbolVisibility compileSymbolVisibility;
@property NSUInteger maxTotalThreadsPerThreadgroup;
@end

@interface MTLFunctionConstantValues : NSObject <NSCopying>
- (void)setConstantValue:(const void *)value type:(MTLDataType)type atIndex:(NSUInteger)index;
- (void)setConstantValues:(const void *)values type:(MTLDataType)type withRange:(NSRange)range;
- (void)setConstantValue:(const void *)value type:(MTLDataType)type withName:(NSString *)name;
- (void)reset;
@end
@interface MTLFunctionConstant : NSObject
@property (readonly) NSString *name;
@property (readonly) MTLDataType type;
@property (readonly) NSUInteger index;
@property (readonly) BOOL required;
@end
@interface MTLFunctionDescriptor : NSObject <NSCopying>
+ (MTLFunctionDescriptor *)functionDescriptor;
@property (nullable, copy) NSString *name, *specializedName;
@property (nullable, copy) MTLFunctionConstantValues *constantValues;
@property MTLFunctionOptions options;
@property (nullable, copy) NSArray<id<MTLBinaryArchive>> *binaryArchives;
@end
@interface MTLLinkedFunctions : NSObject <NSCopying>
+ (MTLLinkedFunctions *)linkedFunctions;
@property (nullable, copy) NSArray<id<MTLFunction>> *functions, *binaryFunctions, *privateFunctions;
@property (nullable, copy) NSDictionary<NSString *, NSArray<id<MTLFunction>> *> *groups;
@end

@protocol MTLFunction <NSObject>
@property (nullable, copy) NSString *label;
@property (readonly) id<MTLDevice> device;
@property (readonly) MTLFunctionType functionType;
@property (readonly) NSString *name;
@property (readonly) NSDictionary<NSString *, MTLFunctionConstant *> *functionConstantsDictionary;
@property (readonly) MTLFunctionOptions options;
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)bufferIndex NS_RETURNS_RETAINED;
@end

@protocol MTLLibrary <NSObject>
@property (nullable, copy) NSString *label;
@property (readonly) id<MTLDevice> device;
@property (readonly) NSArray<NSString *> *functionNames;
@property (readonly) MTLLibraryType type;
@property (nullable, readonly) NSString *installName;
- (nullable id<MTLFunction>)newFunctionWithName:(NSString *)name NS_RETURNS_RETAINED;
- (nullable id<MTLFunction>)newFunctionWithName:(NSString *)name
                                 constantValues:(MTLFunctionConstantValues *)values
                                          error:(NSError **)error NS_RETURNS_RETAINED;
- (void)newFunctionWithName:(NSString *)name
             constantValues:(MTLFunctionConstantValues *)values
          completionHandler:(void (^)(id<MTLFunction> function, NSError *error))handler;
- (nullable id<MTLFunction>)newFunctionWithDescriptor:(MTLFunctionDescriptor *)descriptor
                                                error:(NSError **)error NS_RETURNS_RETAINED;
- (void)newFunctionWithDescriptor:(MTLFunctionDescriptor *)descriptor
                completionHandler:(void (^)(id<MTLFunction> function, NSError *error))handler;
@end
#endif
