# Warnings, optimisation and sanitizers of our own code, by preset. Generated code has its own flags (proto.cmake).

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# Object files do not hold the path of the tree, and the presets give ccache its root, so that checkouts share them.
add_compile_options("-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=" "-fno-diagnostics-color")

find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_library(splitlet_flags INTERFACE)
target_include_directories(splitlet_flags INTERFACE "${CMAKE_SOURCE_DIR}")
target_compile_options(splitlet_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wswitch-enum -Werror
  # Designated initializers may rely on defaults.
  -Wno-missing-field-initializers)

# These warnings of the g++ 12 optimizer have false positives inside the standard library (bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(splitlet_flags INTERFACE -Wno-restrict -Wno-error=maybe-uninitialized -Wno-error=array-bounds
    -Wno-error=stringop-overflow -Wno-error=stringop-overread -Wno-error=free-nonheap-object)
endif()

# -O0 compiles in less than half of the time of -O1. In a few libraries (HOT) tests spend so much of their time that -O1
# is worth its while.
set(SPLITLET_INSTRUMENTED_LEVEL "$<IF:$<BOOL:$<TARGET_PROPERTY:SPLITLET_HOT>>,-O1,-O0>")

set(SPLITLET_SLOWNESS 1)  # what deadlines of tests that wait for processes are multiplied by
if(SPLITLET_FLAVOUR STREQUAL "release")
  # An overflow or a stray index ends the process, which starts again (deploy/deb/package_test.sh checks the flags).
  target_compile_options(splitlet_flags INTERFACE -fstack-protector-strong -fstack-clash-protection -fcf-protection
    -D_FORTIFY_SOURCE=2 -D_GLIBCXX_ASSERTIONS)
  target_link_options(splitlet_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack -pie)
  target_compile_options(splitlet_flags INTERFACE -O1 -g1)
elseif(SPLITLET_FLAVOUR STREQUAL "asan")
  target_compile_options(splitlet_flags INTERFACE ${SPLITLET_INSTRUMENTED_LEVEL} -g1 -fno-omit-frame-pointer
    -fsanitize=address,undefined -fno-sanitize-recover=all
    # Relative to the build directory, where ninja compiles: a path of the tree would keep checkouts from sharing objects.
    -fsanitize-ignorelist=../../scripts/sanitizers/ubsan.ignore)
  target_compile_definitions(splitlet_flags INTERFACE SPLITLET_ASAN)
  # Position-independent, a program begins with millions of relocations: descriptions of globals that are checked.
  target_link_options(splitlet_flags INTERFACE -fsanitize=address,undefined -no-pie)
  # Processes under test are started again when they die: an abort is a crash that the harness counts.
  set(SPLITLET_SANITIZER_ENVIRONMENT
      "ASAN_OPTIONS=abort_on_error=1:detect_stack_use_after_return=1:strict_string_checks=1:malloc_context_size=12"
      "UBSAN_OPTIONS=print_stacktrace=1"
      "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/scripts/sanitizers/lsan.supp:print_suppressions=0")
elseif(SPLITLET_FLAVOUR STREQUAL "tsan")
  target_compile_options(splitlet_flags INTERFACE ${SPLITLET_INSTRUMENTED_LEVEL} -g1 -fno-omit-frame-pointer
    -fsanitize=thread)
  target_compile_definitions(splitlet_flags INTERFACE SPLITLET_TSAN)
  target_link_options(splitlet_flags INTERFACE -fsanitize=thread)
  # Debian's gRPC and NATS are not instrumented, so that what they order among themselves is not seen. This option passes
  # over what they do; races in our handlers on their threads are still found.
  set(SPLITLET_SANITIZER_ENVIRONMENT
      "TSAN_OPTIONS=ignore_noninstrumented_modules=1:halt_on_error=1:second_deadlock_stack=1:suppressions=${CMAKE_SOURCE_DIR}/scripts/sanitizers/tsan.supp")
else()
  target_compile_options(splitlet_flags INTERFACE -O0 -g1)
endif()
if(SPLITLET_SANITIZER_ENVIRONMENT)
  set(SPLITLET_SLOWNESS 4)
endif()
