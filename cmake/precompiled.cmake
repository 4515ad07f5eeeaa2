# With SPLITLET_PRECOMPILED, headers that are not ours are parsed once for each preset, for all that see generated code;
# elsewhere reading them back takes longer than parsing what is needed. plain does without, so that an include that a source
# lacks is noticed. gRPC's headers are left out: they leave templates to be made in every unit.
#
# The headers are named as they are included, never by path, so that checkouts share through ccache what one compiled.

set(SPLITLET_PRECOMPILED_HEADERS
  <algorithm> <array> <atomic> <charconv> <chrono> <condition_variable> <cstdint> <deque> <filesystem> <fstream>
  <functional> <future> <map> <memory> <mutex> <optional> <random> <set> <sstream> <string> <string_view> <thread>
  <tuple> <unordered_map> <utility> <vector>
  <absl/status/statusor.h> <fmt/format.h> <fmt/ranges.h> <prometheus/registry.h>
  <k8s.io/api/core/v1/pod.pb.h> <runtime/v1/api.pb.h> <splitlet/v1/records.pb.h> <splitlet/v1/services.pb.h>)
set(SPLITLET_SEES_GENERATED "proto_|kube|bus|cri|_core|chaos|operate|harness|node_fixture")  # in what a target depends on

# splitlet_precompiled_target(SORT HEADER...): compiles the headers for targets of a sort. A macro that one of them asks
# for has to be the same here and in each of these targets, hence the few packages.
function(splitlet_precompiled_target sort)
  file(WRITE "${CMAKE_BINARY_DIR}/precompiled.cc" "")
  add_library(precompiled_${sort} OBJECT "${CMAKE_BINARY_DIR}/precompiled.cc")
  target_link_libraries(precompiled_${sort} PRIVATE
    splitlet_flags absl::statusor fmt::fmt prometheus-cpp::core proto_cri proto_k8s proto_splitlet)
  target_compile_options(precompiled_${sort} PRIVATE -pthread "SHELL:-Xclang -fno-pch-timestamp")
  target_precompile_headers(precompiled_${sort} PRIVATE ${ARGN})
  set_target_properties(precompiled_${sort} PROPERTIES CXX_COMPILER_LAUNCHER "${CMAKE_SOURCE_DIR}/cmake/precompile.sh")
endfunction()

# splitlet_precompiled(TARGET SORT DEPENDENCY...); SORT is library or test.
function(splitlet_precompiled target sort)
  if(SPLITLET_PRECOMPILED AND "${ARGN}" MATCHES "${SPLITLET_SEES_GENERATED}")
    target_compile_options(${target} PRIVATE -pthread)
    target_link_libraries(${target} PRIVATE fmt::fmt)
    target_precompile_headers(${target} REUSE_FROM precompiled_${sort})
  endif()
endfunction()

if(SPLITLET_PRECOMPILED)
  # clang finds the .pch beside the header. ccache makes the path of -include relative, but not what -Xclang passes on.
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include <PCH_HEADER>)
  splitlet_precompiled_target(library ${SPLITLET_PRECOMPILED_HEADERS})
  splitlet_precompiled_target(test ${SPLITLET_PRECOMPILED_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
  target_link_libraries(precompiled_test PRIVATE GTest::gtest GTest::gmock)
  # As programs are compiled, not libraries.
  set_target_properties(precompiled_test PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(precompiled_test PRIVATE -fPIE)
endif()
