# C++ from the .proto files, as libraries:
#   proto_cri       CRI and containerd's events, with stubs          #include "runtime/v1/api.grpc.pb.h"
#   proto_k8s       Kubernetes API and the field options of ours     #include "k8s.io/api/core/v1/pod.pb.h"
#   proto_otlp      what an OpenTelemetry collector takes            #include "opentelemetry/trace_service.pb.h"
#   proto_splitlet  records and services of splitlet, with stubs     #include "splitlet/v1/....pb.h"
# Generated code has the same flags in every preset and no sanitizers, so that ccache compiles it once for all of them.

set(SPLITLET_GEN_DIR "${CMAKE_BINARY_DIR}/gen")
file(MAKE_DIRECTORY "${SPLITLET_GEN_DIR}")
set_property(GLOBAL APPEND PROPERTY JOB_POOLS generated=2)

# Runs protoc on one file below proto/. One command for each generator: the dependency file must name the first output
# of its command first, and of two generators protoc names the stubs first.
function(splitlet_protoc proto generator)
  cmake_parse_arguments(ARG "" "" "OUTPUT;OPTIONS" ${ARGN})
  list(GET ARG_OUTPUT 0 first)
  add_custom_command(
    OUTPUT ${ARG_OUTPUT}
    COMMAND protobuf::protoc "--proto_path=${CMAKE_SOURCE_DIR}/proto" "--${generator}_out=${SPLITLET_GEN_DIR}"
            ${ARG_OPTIONS} "--dependency_out=${first}.d" "${CMAKE_SOURCE_DIR}/proto/${proto}"
    DEPENDS "${CMAKE_SOURCE_DIR}/proto/${proto}"
    DEPFILE "${first}.d"
    COMMENT "Generating C++ (${generator}) from ${proto}"
    VERBATIM)
endfunction()

# Sets ${out} to the C++ files made from one file below proto/. A file with a service gets stubs too.
function(splitlet_generate out proto)
  string(REGEX REPLACE "\\.proto$" "" stem "${SPLITLET_GEN_DIR}/${proto}")
  set(made "${stem}.pb.cc" "${stem}.pb.h")
  splitlet_protoc("${proto}" cpp OUTPUT ${made})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/proto/${proto}")
  file(STRINGS "${CMAKE_SOURCE_DIR}/proto/${proto}" services REGEX "^service ")
  if(services)
    set(stubs "${stem}.grpc.pb.cc" "${stem}.grpc.pb.h")
    splitlet_protoc("${proto}" grpc OUTPUT ${stubs}
                    OPTIONS "--plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>")
    list(APPEND made ${stubs})
  endif()
  set(${out} ${made} PARENT_SCOPE)
endfunction()

# splitlet_proto_library(NAME PROTOS ... [DEPENDS ...]); PROTOS are relative to proto/.
function(splitlet_proto_library name)
  cmake_parse_arguments(ARG "" "" "PROTOS;DEPENDS" ${ARGN})
  set(sources)
  foreach(proto IN LISTS ARG_PROTOS)
    splitlet_generate(made "${proto}")
    list(APPEND sources ${made})
  endforeach()
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} SYSTEM PUBLIC "${SPLITLET_GEN_DIR}")
  target_link_libraries(${name} PUBLIC protobuf::libprotobuf gRPC::grpc++ ${ARG_DEPENDS})
  target_compile_options(${name} PRIVATE -w -O1 -g0)
  # One of these units can take a gigabyte.
  set_target_properties(${name} PROPERTIES JOB_POOL_COMPILE generated
                                           CXX_CLANG_TIDY "" EXPORT_COMPILE_COMMANDS OFF)
  if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache$")
    # Paths below the build directory count as relative: presets and checkouts share what one has compiled.
    set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_BASEDIR=${CMAKE_BINARY_DIR};CCACHE_NOHASHDIR=1;${CMAKE_CXX_COMPILER_LAUNCHER}")
  endif()
endfunction()
