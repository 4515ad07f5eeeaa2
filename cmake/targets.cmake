# One function for each sort of target, so that the CMakeLists.txt of a folder says only what things are. Paths of sources
# are relative to that folder.

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")

# Targets that scripts/run_tests.py builds: the programs, and the tests of one label with the programs that they run.
add_custom_target(programs)
add_custom_target(benchmarks)
foreach(label unit simulation integration e2e chaos threads)
  add_custom_target(${label}_tests)
endforeach()
add_dependencies(integration_tests programs)
add_dependencies(e2e_tests programs)
add_dependencies(chaos_tests programs)

# splitlet_library(NAME SOURCES ... [DEPENDS ...] [PACKAGES ...] [HOT])
# DEPENDS are libraries of ours (public); PACKAGES are imported targets. HOT: optimised with sanitizers too.
function(splitlet_library name)
  cmake_parse_arguments(ARG "HOT" "" "SOURCES;DEPENDS;PACKAGES" ${ARGN})
  splitlet_units(units ${name} ${ARG_SOURCES})
  add_library(${name} STATIC ${units})
  target_link_libraries(${name} PUBLIC splitlet_flags ${ARG_DEPENDS} ${ARG_PACKAGES})
  if(ARG_HOT AND SPLITLET_SANITIZER_ENVIRONMENT)  # a precompiled header is of one level
    set_target_properties(${name} PROPERTIES SPLITLET_HOT ON)
  else()
    splitlet_precompiled(${name} library ${ARG_DEPENDS})
  endif()
endfunction()

# splitlet_service(NAME SOURCES ... [DEPENDS ...]): a library NAME_core of everything but main.cc (linked by tests and
# the simulation) and a part of the one program (see splitlet_program). NAME is spelled like the process
# (config-source); the core is config_source_core.
function(splitlet_service name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PACKAGES" ${ARGN})
  string(REPLACE "-" "_" id "${name}")
  splitlet_library(${id}_core SOURCES ${ARG_SOURCES} DEPENDS ${ARG_DEPENDS} PACKAGES ${ARG_PACKAGES})
  set_property(GLOBAL APPEND PROPERTY SPLITLET_SERVICES "${name}")
  set_property(GLOBAL APPEND PROPERTY SPLITLET_CORES "${id}_core")
endfunction()

# In services/, after all of them: the program `splitlet` with a link splitlet-NAME, and a target of that name, for each.
function(splitlet_program)
  get_property(services GLOBAL PROPERTY SPLITLET_SERVICES)
  get_property(cores GLOBAL PROPERTY SPLITLET_CORES)
  list(TRANSFORM services APPEND "/main.cc" OUTPUT_VARIABLE mains)
  splitlet_library(service_mains SOURCES ${mains} DEPENDS ${cores})
  add_executable(splitlet main.cc)
  target_link_libraries(splitlet PRIVATE service_mains)
  add_dependencies(programs splitlet)
  install(TARGETS splitlet RUNTIME DESTINATION bin)
  foreach(name IN LISTS services)
    set(link "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/splitlet-${name}")
    add_custom_command(TARGET splitlet POST_BUILD COMMAND "${CMAKE_COMMAND}" -E create_symlink splitlet "${link}")
    add_custom_target(splitlet-${name} DEPENDS splitlet)
    install(PROGRAMS "${link}" DESTINATION bin)
  endforeach()
endfunction()

# splitlet_register_test(NAME LABEL TIMEOUT): what the tests of all sorts have in common.
function(splitlet_register_test name label timeout)
  math(EXPR timeout "${SPLITLET_SLOWNESS} * ${timeout}")
  set(environment "${SPLITLET_SANITIZER_ENVIRONMENT}")
  if("${label}" MATCHES "integration")
    # A program registers its globals when it starts, which costs it as much as all else; unit tests look at them.
    string(REPLACE "ASAN_OPTIONS=" "ASAN_OPTIONS=report_globals=0:" environment "${environment}")
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${label}" TIMEOUT ${timeout} ENVIRONMENT "${environment}")
endfunction()

# splitlet_test(NAME SOURCES ... [DEPENDS ...] [LABEL unit] [TIMEOUT 300] [THREADS] [SHARDS N]): the GoogleTest program
# NAME_test. THREADS: it runs under ThreadSanitizer too. SHARDS: its cases are N tests that may run side by side.
function(splitlet_test name)
  cmake_parse_arguments(ARG "THREADS" "LABEL;TIMEOUT;SHARDS" "SOURCES;DEPENDS;PACKAGES;DEFINES" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  splitlet_units(units ${name}_test ${ARG_SOURCES})
  add_executable(${name}_test ${units})
  set_target_properties(${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  target_compile_definitions(${name}_test PRIVATE ${ARG_DEFINES})
  target_link_libraries(${name}_test PRIVATE splitlet_flags ${ARG_DEPENDS} ${ARG_PACKAGES} GTest::gtest GTest::gmock
                                             GTest::gtest_main)
  splitlet_precompiled(${name}_test test ${ARG_DEPENDS})
  add_dependencies(${ARG_LABEL}_tests ${name}_test)
  if(ARG_THREADS)
    add_dependencies(threads_tests ${name}_test)
    list(APPEND ARG_LABEL threads)
  endif()
  if(NOT ARG_SHARDS)
    add_test(NAME ${name} COMMAND ${name}_test WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
    splitlet_register_test(${name} "${ARG_LABEL}" ${ARG_TIMEOUT})
    return()
  endif()
  foreach(shard RANGE 1 ${ARG_SHARDS})
    add_test(NAME ${name}_${shard} COMMAND ${name}_test WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
    splitlet_register_test(${name}_${shard} "${ARG_LABEL}" ${ARG_TIMEOUT})
    math(EXPR index "${shard} - 1")
    set_property(TEST ${name}_${shard} APPEND PROPERTY ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_SHARDS}"
                                                                   "GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# splitlet_fuzz(NAME SOURCES ... [DEPENDS ...] [DEFINES ...] [INPUTS 1500]): a fuzz target (tests/fuzz/fuzz.h), as
# the unit test fuzz_NAME of so many inputs; scripts/fuzz.sh runs all of them by the clock.
add_custom_target(fuzzers)
function(splitlet_fuzz name)
  cmake_parse_arguments(ARG "" "INPUTS" "SOURCES;DEPENDS;DEFINES" ${ARGN})
  if(NOT ARG_INPUTS)
    set(ARG_INPUTS 1500)
  endif()
  splitlet_test(fuzz_${name} SOURCES "${CMAKE_SOURCE_DIR}/tests/fuzz/driver_test.cc" ${ARG_SOURCES} DEPENDS base ${ARG_DEPENDS}
                             DEFINES FUZZ_INPUTS=${ARG_INPUTS} ${ARG_DEFINES})
  add_dependencies(fuzzers fuzz_${name}_test)
endfunction()

# splitlet_script_test(NAME SCRIPT path LABEL integration [TIMEOUT 300]): a test that is a shell script; it finds the
# programs of this build in BIN_DIR, and says with exit code 77 that it was skipped.
function(splitlet_script_test name)
  cmake_parse_arguments(ARG "" "SCRIPT;LABEL;TIMEOUT" "ARGS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  cmake_path(ABSOLUTE_PATH ARG_SCRIPT BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE OUTPUT_VARIABLE script)
  add_test(NAME ${name} COMMAND "${script}" ${ARG_ARGS} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  splitlet_register_test(${name} ${ARG_LABEL} ${ARG_TIMEOUT})
  set_property(TEST ${name} PROPERTY SKIP_RETURN_CODE 77)
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "BIN_DIR=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
endfunction()

# splitlet_bench(NAME SOURCES ... [DEPENDS ...]): the program NAME_bench, run by tests/bench/run.sh.
function(splitlet_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PACKAGES" ${ARGN})
  splitlet_units(units ${name}_bench ${ARG_SOURCES})
  add_executable(${name}_bench ${units})
  set_target_properties(${name}_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  target_link_libraries(${name}_bench PRIVATE splitlet_flags ${ARG_DEPENDS} ${ARG_PACKAGES})
  add_dependencies(benchmarks ${name}_bench)
endfunction()
