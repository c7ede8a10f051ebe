# Code for the level with matrix units, which any machine makes: the tiles of SOURCE are multiplied by them and by
# nothing else, and sums begin and end outside of the loops.
execute_process(COMMAND ${INGOTC} ${SOURCE} --target x86-64-v4-bf16-amx --emit asm -o - OUTPUT_VARIABLE code
  RESULT_VARIABLE status)
if(status)
  message(FATAL_ERROR "ingotc: ${status}")
endif()
foreach(wanted "tdpbf16ps 20" "tilestored 20" "tilezero 16" "vdpbf16ps 0")
  string(REPLACE " " ";" wanted ${wanted})
  list(POP_FRONT wanted instruction)
  string(REGEX MATCHALL "[ \t]${instruction}[ \t]" found "${code}")
  list(LENGTH found count)
  if(NOT count EQUAL wanted)
    message(FATAL_ERROR "${count} times ${instruction}, not ${wanted}")
  endif()
endforeach()
