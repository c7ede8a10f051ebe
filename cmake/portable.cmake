# For wheels and packages: what is built runs with glibc 2.27 and newer, and has no paths of this machine in it.
option(INGOT_PORTABLE "programs and libraries for other machines than this: older C libraries, no paths" OFF)
set(INGOT_BASE_OF_COMPILER ingot_base)
set(INGOT_SOURCE_PRELUDE "${PROJECT_SOURCE_DIR}/prelude")
# What a target's sources get when it is a static program or a part of one, in which symbols have no versions.
define_property(TARGET PROPERTY INGOT_IS_STATIC BRIEF_DOCS "part of a static program" FULL_DOCS "part of a static program")
if(NOT INGOT_PORTABLE)
  return()
endif()
if(INGOT_TESTS)
  message(FATAL_ERROR "INGOT_PORTABLE is for packages: it takes INGOT_TESTS=OFF")
endif()
if(INGOT_BUNDLED_TOOLS)
  set(INGOT_BASE_OF_COMPILER ingotc_base)
endif()
set(INGOT_SOURCE_PRELUDE "")
set(old_glibc ${PROJECT_SOURCE_DIR}/cmake/old_glibc)
target_compile_options(ingot_flags INTERFACE
  "$<$<AND:$<COMPILE_LANGUAGE:C>,$<NOT:$<BOOL:$<TARGET_PROPERTY:INGOT_IS_STATIC>>>>:SHELL:-include ${old_glibc}/versions.h>"
  "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=." "-ffile-prefix-map=${CMAKE_BINARY_DIR}=build")
add_library(old_glibc OBJECT ${old_glibc}/functions.c)
add_library(old_glibc_start OBJECT ${old_glibc}/start.c)
foreach(target old_glibc old_glibc_start)
  target_link_libraries(${target} PRIVATE ingot_flags)
endforeach()

# For each shared library and dynamic program of a package.
function(ingot_make_portable target)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:old_glibc>)
  # Before glibc 2.34 these were more than names.
  target_link_options(${target} PRIVATE -Wl,--push-state,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -Wl,--pop-state)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:old_glibc_start>)
    target_link_options(${target} PRIVATE -Wl,--wrap=__libc_start_main)
  endif()
endfunction()
