# Code for a level with instructions for tiles, which any machine makes: SOURCE for TARGET has each instruction as often
# as WANTED says ("NAME COUNT" each): nothing else multiplies tiles, and sums begin and end outside of the loops.
execute_process(COMMAND ${INGOTC} ${SOURCE} --target ${TARGET} --emit asm -o - OUTPUT_VARIABLE code
  RESULT_VARIABLE status)
if(status)
  message(FATAL_ERROR "ingotc: ${status}")
endif()
foreach(wanted ${WANTED})
  string(REPLACE " " ";" wanted ${wanted})
  list(POP_FRONT wanted instruction)
  string(REGEX MATCHALL "[ \t]${instruction}[ \t]" found "${code}")
  list(LENGTH found count)
  if(NOT count EQUAL wanted)
    message(FATAL_ERROR "${count} times ${instruction}, not ${wanted}")
  endif()
endforeach()
