# The Python package. Without Python's headers it is left out, and that is said.
find_package(Python3 3.10 COMPONENTS Interpreter Development.Module)
if(Python3_Development.Module_FOUND AND Python3_Interpreter_FOUND)
  execute_process(COMMAND ${Python3_EXECUTABLE} -c
    "import sysconfig; print(sysconfig.get_config_var('Py_GIL_DISABLED') or 0)"
    OUTPUT_VARIABLE INGOT_FREE_THREADED OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(INGOT_FREE_THREADED EQUAL 1)
    message(FATAL_ERROR "${Python3_EXECUTABLE} is a free-threaded build of Python ${Python3_VERSION}, which has no stable "
      "ABI; ingot's extension needs it. Use the usual build of Python 3.10 or newer")
  endif()
  set(INGOT_PYTHON_INCLUDE ${Python3_INCLUDE_DIRS})
  add_subdirectory(src/python)
else()
  message(STATUS "no headers of Python 3.10 or newer: the Python package is not built")
endif()
