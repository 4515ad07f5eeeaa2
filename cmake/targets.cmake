# One function for each sort of target, so that the map of the tree in CMakeLists.txt says only what things are.

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

# splitlet_library(NAME SOURCES ... [DEPENDS ...] [PACKAGES ...])
# DEPENDS are libraries of ours (public); PACKAGES are imported targets.
function(splitlet_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PACKAGES" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC splitlet_flags ${ARG_DEPENDS} ${ARG_PACKAGES})
endfunction()

# splitlet_service(NAME SOURCES ... [DEPENDS ...]): a library NAME_core of everything but main.cc (linked by tests and
# the simulation) and the program splitlet-NAME. NAME is spelled like the process (config-source); the core is
# config_source_core.
function(splitlet_service name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PACKAGES" ${ARGN})
  string(REPLACE "-" "_" id "${name}")
  splitlet_library(${id}_core SOURCES ${ARG_SOURCES} DEPENDS ${ARG_DEPENDS} PACKAGES ${ARG_PACKAGES})
  add_executable(splitlet-${name} services/${name}/main.cc)
  target_link_libraries(splitlet-${name} PRIVATE ${id}_core)
  install(TARGETS splitlet-${name} RUNTIME DESTINATION bin)
endfunction()

# splitlet_test(NAME SOURCES ... [DEPENDS ...] [LABEL unit] [TIMEOUT 120]): the GoogleTest program NAME_test.
function(splitlet_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;DEPENDS;PACKAGES;DEFINES" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name}_test ${ARG_SOURCES})
  set_target_properties(${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  target_compile_definitions(${name}_test PRIVATE ${ARG_DEFINES})
  target_link_libraries(${name}_test PRIVATE splitlet_flags ${ARG_DEPENDS} ${ARG_PACKAGES} GTest::gtest GTest::gmock
                                             GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name}_test WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT})
endfunction()

# splitlet_script_test(NAME SCRIPT path LABEL integration [TIMEOUT 120]): a test that is a shell script; it finds the
# programs of this build in BIN_DIR, and says with exit code 77 that it was skipped.
function(splitlet_script_test name)
  cmake_parse_arguments(ARG "" "SCRIPT;LABEL;TIMEOUT" "" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_test(NAME ${name} COMMAND "${CMAKE_SOURCE_DIR}/${ARG_SCRIPT}" WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77
                                          ENVIRONMENT "BIN_DIR=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
endfunction()

# splitlet_bench(NAME SOURCES ... [DEPENDS ...]): the program NAME_bench, run by tests/bench/run.sh.
function(splitlet_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PACKAGES" ${ARGN})
  add_executable(${name}_bench ${ARG_SOURCES})
  set_target_properties(${name}_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  target_link_libraries(${name}_bench PRIVATE splitlet_flags ${ARG_DEPENDS} ${ARG_PACKAGES})
endfunction()
