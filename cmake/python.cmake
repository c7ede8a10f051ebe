# The Python package. Without Python's headers it is left out, and that is said.
find_package(Python3 3.10 COMPONENTS Interpreter Development.Module)
if(Python3_Development.Module_FOUND AND Python3_Interpreter_FOUND)
  set(INGOT_PYTHON_INCLUDE ${Python3_INCLUDE_DIRS})
  add_subdirectory(src/python)
else()
  message(STATUS "no headers of Python 3.10 or newer: the Python package is not built")
endif()
