# Whether ingotc has LLVM, clang's front end and lld within itself (src/compiler/bundled), by their static libraries. It
# then needs nothing at run time, not even a C library. llvm_bundled is what such a program links; other programs
# (tests) link LLVM's shared library, llvm_c.
set(INGOT_STATIC_LLVM AUTO CACHE STRING "LLVM, clang and lld within ingotc: ON, OFF, or AUTO (where their static libraries are)")
set_property(CACHE INGOT_STATIC_LLVM PROPERTY STRINGS AUTO ON OFF)
set(INGOT_BUNDLED_TOOLS OFF)

# Sets `reason` to why it cannot be done; empty: it can.
function(ingot_bundled_obstacle reason)
  set(found)
  string(REGEX MATCH "^[0-9]+" major ${LLVM_VERSION})
  if(INGOT_SANITIZE)
    set(found "a program with sanitizers cannot be static")
  elseif(NOT major EQUAL 19)
    set(found "it takes LLVM 19, and ${LLVM_CONFIG} is of version ${LLVM_VERSION}")
  elseif(CMAKE_CROSSCOMPILING)
    set(found "the libraries of another machine would be needed")
  endif()
  set(wanted lib/libLLVMCore.a:llvm-${major}-dev lib/libclangCodeGen.a:libclang-${major}-dev
    lib/liblldELF.a:liblld-${major}-dev include/clang/CodeGen/CodeGenAction.h:libclang-${major}-dev
    include/lld/Common/Driver.h:liblld-${major}-dev bin/ld.lld:lld-${major})
  get_filename_component(prefix ${LLVM_LIBDIR} DIRECTORY)
  foreach(entry ${wanted})
    string(REPLACE ":" ";" entry ${entry})
    list(GET entry 0 file)
    list(GET entry 1 package)
    if(NOT found AND NOT EXISTS ${prefix}/${file})
      set(found "${prefix}/${file} is missing (Debian's package ${package})")
    endif()
  endforeach()
  foreach(library z zstd)
    find_library(INGOT_STATIC_${library} lib${library}.a)
    if(NOT found AND NOT INGOT_STATIC_${library})
      set(found "lib${library}.a is missing")
    endif()
  endforeach()
  include(CheckLanguage)
  check_language(CXX)
  if(NOT found AND NOT CMAKE_CXX_COMPILER)
    set(found "there is no C++ compiler")
  endif()
  set(${reason} "${found}" PARENT_SCOPE)
endfunction()

if(NOT INGOT_STATIC_LLVM STREQUAL "OFF")
  ingot_bundled_obstacle(obstacle)
  if(NOT obstacle)
    set(INGOT_BUNDLED_TOOLS ON)
  elseif(INGOT_STATIC_LLVM STREQUAL "AUTO")
    message(STATUS "ingotc without clang and lld, which it will look for when it runs: ${obstacle}")
  else()
    message(FATAL_ERROR "INGOT_STATIC_LLVM=ON, but ${obstacle}")
  endif()
endif()
if(NOT INGOT_BUNDLED_TOOLS)
  return()
endif()

enable_language(CXX)
message(STATUS "ingotc with clang and lld ${LLVM_VERSION} within")
execute_process(COMMAND ${LLVM_CONFIG} --link-static --libs OUTPUT_VARIABLE libraries OUTPUT_STRIP_TRAILING_WHITESPACE)
separate_arguments(libraries)
list(FILTER libraries EXCLUDE REGEX "Polly") # an extension, of a package of its own; lld.cpp says that it is not there
set(clang_libraries Frontend Driver CodeGen Parse Serialization Sema Analysis ASTMatchers Edit AST APINotes Support Lex
  Basic)
list(TRANSFORM clang_libraries PREPEND "-lclang")

# lld initialises every back end that LLVM was built with; those that ingotc does not use are not linked in.
execute_process(COMMAND ${LLVM_CONFIG} --targets-built OUTPUT_VARIABLE unused OUTPUT_STRIP_TRAILING_WHITESPACE)
separate_arguments(unused)
list(REMOVE_ITEM unused X86 AArch64 NVPTX)
set(text)
foreach(target ${unused})
  foreach(part TargetInfo Target TargetMC AsmPrinter AsmParser Disassembler)
    string(APPEND text "void LLVMInitialize${target}${part}(void);\nvoid LLVMInitialize${target}${part}(void) {}\n")
  endforeach()
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/unused_targets.c CONTENT "${text}" @ONLY)

add_library(llvm_bundled INTERFACE)
target_link_directories(llvm_bundled INTERFACE ${LLVM_LIBDIR})
# lld links it in two seconds, and drops what is not used.
target_link_options(llvm_bundled INTERFACE -static-pie -B${LLVM_BINDIR} -fuse-ld=lld -Wl,--gc-sections
  -Wl,--pack-dyn-relocs=relr)
target_link_libraries(llvm_bundled INTERFACE llvm_headers -Wl,--start-group ${clang_libraries} -llldELF -llldCommon
  ${libraries} -Wl,--end-group ${INGOT_STATIC_z} ${INGOT_STATIC_zstd})

# The licences of what is within, as the packages of this machine have them.
string(REGEX MATCH "^[0-9]+" compiler ${CMAKE_CXX_COMPILER_VERSION})
foreach(package llvm-19-dev libclang-19-dev liblld-19-dev zlib1g-dev libzstd-dev libc6-dev libstdc++-${compiler}-dev)
  if(EXISTS /usr/share/doc/${package}/copyright)
    install(FILES /usr/share/doc/${package}/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/ingot/licences
      RENAME ${package}.txt)
  endif()
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/ingot/licences RENAME ingot.txt)
