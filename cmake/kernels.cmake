# How a .metal source becomes an archive that is compiled into a library or a program.
set(INGOT_KERNEL_COMPILER "" CACHE FILEPATH "an ingotc to compile kernels with; empty: the one built here")
set(INGOT_KERNEL_ARCHIVES "" CACHE PATH "a folder with NAME.ingot files to use as they are; empty: compile")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(cpu_levels aarch64)
else()
  set(cpu_levels x86-64-v3 x86-64-v4)
endif()
set(INGOT_KERNEL_TARGETS "${cpu_levels}" CACHE STRING "code levels in the archives")
option(INGOT_CUDA_KERNELS "code for NVIDIA GPUs (sm_80, sm_90) in the archives too; without, ingotc makes it on first use" OFF)

set(INGOT_KERNEL_FOLDER ${CMAKE_BINARY_DIR}/kernels)
file(MAKE_DIRECTORY ${INGOT_KERNEL_FOLDER})
file(GLOB INGOT_PRELUDE_FILES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/prelude/*)
file(GLOB INGOT_COMMON_HEADERS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/common/*.h)

# Sets `archive` to the path of NAME.ingot, made from SOURCE; VARIANTS may be "". Headers beside the
# source, in kernels/ and in kernels/common are found.
function(ingot_kernel_archive archive name source variants)
  if(INGOT_KERNEL_ARCHIVES)
    set(${archive} ${INGOT_KERNEL_ARCHIVES}/${name}.ingot PARENT_SCOPE)
    return()
  endif()
  set(compiler ${INGOT_KERNEL_COMPILER})
  set(compiler_target)
  if(NOT compiler AND TARGET ingotc)
    set(compiler $<TARGET_FILE:ingotc>)
    set(compiler_target ingotc)
  endif()
  if(NOT compiler)
    message(FATAL_ERROR "the kernels need a compiler: build ingotc (INGOT_COMPILER=ON), or name one "
      "with INGOT_KERNEL_COMPILER, or name a folder of archives with INGOT_KERNEL_ARCHIVES")
  endif()
  get_filename_component(folder ${source} DIRECTORY)
  set(made ${INGOT_KERNEL_FOLDER}/${name}.ingot)
  set(options)
  set(levels ${INGOT_KERNEL_TARGETS})
  if(INGOT_CUDA_KERNELS)
    list(APPEND levels sm_80 sm_90)
    if(variants)
      file(STRINGS ${variants} own REGEX "^sm_90a:")
      if(own)
        list(APPEND levels sm_90a)
      endif()
    endif()
  endif()
  foreach(level ${levels})
    list(APPEND options --target ${level})
  endforeach()
  if(variants)
    list(APPEND options --variants ${variants})
  endif()
  # The ingotc that is built here says what a source includes; of another one all headers count.
  set(depfile)
  set(headers)
  if(compiler_target)
    list(APPEND options --depfile ${made}.d)
    set(depfile DEPFILE ${made}.d)
  else()
    file(GLOB headers CONFIGURE_DEPENDS ${folder}/*.h)
    list(APPEND headers ${INGOT_COMMON_HEADERS})
  endif()
  add_custom_command(OUTPUT ${made}
    COMMAND ${CMAKE_COMMAND} -E env INGOT_PRELUDE=${PROJECT_SOURCE_DIR}/prelude
      ${compiler} ${source} -o ${made} --name ${name}.metal
      --include ${PROJECT_SOURCE_DIR}/kernels --include ${folder} ${options}
    DEPENDS ${source} ${variants} ${headers} ${INGOT_PRELUDE_FILES} ${compiler_target} ${INGOT_KERNEL_COMPILER}
    ${depfile}
    COMMENT "Compiling the kernels of ${name}" VERBATIM)
  set(${archive} ${made} PARENT_SCOPE)
endfunction()

# Appends to the assembly text in the variable `text` the bytes of an archive, as SYMBOL and SYMBOL_end.
function(ingot_kernel_blob text symbol archive)
  set(${text} "${${text}}.balign 64\n.globl ${symbol}\n.hidden ${symbol}\n${symbol}:\n.incbin \"${archive}\"\n.globl ${symbol}_end\n.hidden ${symbol}_end\n${symbol}_end:\n" PARENT_SCOPE)
endfunction()

# Writes FILE, an assembly source with the blobs, which is made again when an archive changes.
function(ingot_kernel_blob_file file blobs archives)
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT
    ".section .rodata\n@blobs@.section .note.GNU-stack,\"\",%progbits\n")
  set_source_files_properties(${file} PROPERTIES OBJECT_DEPENDS "${archives}")
endfunction()
