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
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wswitch-enum -Werror
  # g++ 12 takes designated initializers that rely on defaults for incomplete ones.
  -Wno-missing-field-initializers)

if(SPLITLET_FLAVOUR STREQUAL "release")
  # These warnings of the g++ 12 optimizer have false positives inside the standard library (bug 105651).
  target_compile_options(splitlet_flags INTERFACE -O2 -g1 -Wno-restrict
    -Wno-error=maybe-uninitialized -Wno-error=array-bounds -Wno-error=stringop-overflow
    -Wno-error=stringop-overread -Wno-error=free-nonheap-object)
elseif(SPLITLET_FLAVOUR STREQUAL "asan")
  target_compile_options(splitlet_flags INTERFACE -O0 -g1 -fno-omit-frame-pointer
    -fsanitize=address,undefined -fno-sanitize-recover=all)
  target_link_options(splitlet_flags INTERFACE -fsanitize=address,undefined)
elseif(SPLITLET_FLAVOUR STREQUAL "tsan")
  target_compile_options(splitlet_flags INTERFACE -O0 -g1 -fno-omit-frame-pointer -fsanitize=thread)
  target_link_options(splitlet_flags INTERFACE -fsanitize=thread)
else()
  target_compile_options(splitlet_flags INTERFACE -O0 -g1)
endif()
