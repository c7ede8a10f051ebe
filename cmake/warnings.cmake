# One set of flags for every target: warnings are errors (packages turn that off, for compilers
# that are newer than the tests), sanitizers on request.
option(INGOT_WARNINGS_ARE_ERRORS "stop at warnings of the C compiler" ON)
add_library(ingot_flags INTERFACE)
target_compile_options(ingot_flags INTERFACE
  -Wall -Wextra -Wshadow $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes> -Wpointer-arith
  -Wwrite-strings -Wvla -Wundef -fno-common -fno-strict-aliasing)
if(INGOT_WARNINGS_ARE_ERRORS)
  target_compile_options(ingot_flags INTERFACE -Werror)
endif()
target_compile_definitions(ingot_flags INTERFACE _GNU_SOURCE)
target_include_directories(ingot_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
if(INGOT_SANITIZE)
  target_compile_options(ingot_flags INTERFACE -fsanitize=${INGOT_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(ingot_flags INTERFACE -fsanitize=${INGOT_SANITIZE})
endif()
