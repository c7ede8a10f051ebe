# macOS: the device is Metal's (src/runtime/metal), and what Linux's C library has beyond macOS's is in
# src/base/darwin. Kernels are not compiled here: archives hold their text, and Metal compiles it.
if(NOT APPLE)
  return()
endif()
enable_language(OBJC)
target_compile_definitions(ingot_flags INTERFACE _DARWIN_C_SOURCE)
target_include_directories(ingot_flags INTERFACE ${PROJECT_SOURCE_DIR}/src/base/darwin/include)
target_compile_options(ingot_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:C>:SHELL:-include ${PROJECT_SOURCE_DIR}/src/base/darwin/compat.h>")
