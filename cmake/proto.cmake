# C++ from the .proto files, as libraries:
#   proto_cri       CRI and containerd's events, with stubs          #include "runtime/v1/api.grpc.pb.h"
#   proto_k8s       Kubernetes API and the field options of ours     #include "k8s.io/api/core/v1/pod.pb.h"
#   proto_otlp      what an OpenTelemetry collector takes            #include "opentelemetry/trace_service.pb.h"
#   proto_splitlet  records and services of splitlet, with stubs     #include "splitlet/v1/....pb.h"
# Generated code has the same flags in every preset and no sanitizers, so that ccache compiles it once for all of them.

set(SPLITLET_GEN_DIR "${CMAKE_BINARY_DIR}/gen")

set(SPLITLET_CRI_PROTOS
  containerd/events.proto
  containerd/events_service.proto
  runtime/v1/api.proto)

set(SPLITLET_K8S_PROTOS
  k8s.io/api/authentication/v1/authentication.proto
  k8s.io/api/authorization/v1/authorization.proto
  k8s.io/api/certificates/v1/certificates.proto
  k8s.io/api/coordination/v1/lease.proto
  k8s.io/api/core/v1/cluster.proto
  k8s.io/api/core/v1/config.proto
  k8s.io/api/core/v1/container.proto
  k8s.io/api/core/v1/container_status.proto
  k8s.io/api/core/v1/event.proto
  k8s.io/api/core/v1/namespace.proto
  k8s.io/api/core/v1/node.proto
  k8s.io/api/core/v1/persistent_volume.proto
  k8s.io/api/core/v1/persistent_volume_claim.proto
  k8s.io/api/core/v1/pod.proto
  k8s.io/api/core/v1/pod_options.proto
  k8s.io/api/core/v1/pod_status.proto
  k8s.io/api/core/v1/probe.proto
  k8s.io/api/core/v1/quota.proto
  k8s.io/api/core/v1/reference.proto
  k8s.io/api/core/v1/replication_controller.proto
  k8s.io/api/core/v1/resources.proto
  k8s.io/api/core/v1/scheduling.proto
  k8s.io/api/core/v1/security.proto
  k8s.io/api/core/v1/service.proto
  k8s.io/api/core/v1/volume.proto
  k8s.io/api/core/v1/volume_source.proto
  k8s.io/api/node/v1/runtime_class.proto
  k8s.io/api/policy/v1/policy.proto
  k8s.io/api/storage/v1/storage.proto
  k8s.io/apimachinery/pkg/api/resource/quantity.proto
  k8s.io/apimachinery/pkg/apis/meta/v1/discovery.proto
  k8s.io/apimachinery/pkg/apis/meta/v1/meta.proto
  k8s.io/apimachinery/pkg/apis/meta/v1/options.proto
  k8s.io/apimachinery/pkg/apis/meta/v1/status.proto
  k8s.io/apimachinery/pkg/apis/meta/v1/time.proto
  k8s.io/apimachinery/pkg/runtime/runtime.proto
  k8s.io/apimachinery/pkg/util/intstr/intstr.proto
  splitlet/v1/options.proto)

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

# All four libraries; proto_splitlet only once there is a file for it besides the options.
function(splitlet_protos)
  file(MAKE_DIRECTORY "${SPLITLET_GEN_DIR}")
  set_property(GLOBAL APPEND PROPERTY JOB_POOLS generated=2)
  splitlet_proto_library(proto_cri PROTOS ${SPLITLET_CRI_PROTOS})
  splitlet_proto_library(proto_k8s PROTOS ${SPLITLET_K8S_PROTOS})
  splitlet_proto_library(proto_otlp PROTOS opentelemetry/trace_service.proto)
  file(GLOB own RELATIVE "${CMAKE_SOURCE_DIR}/proto" CONFIGURE_DEPENDS
       "${CMAKE_SOURCE_DIR}/proto/splitlet/v1/*.proto")
  list(REMOVE_ITEM own splitlet/v1/options.proto)
  if(own)
    splitlet_proto_library(proto_splitlet PROTOS ${own} DEPENDS proto_cri proto_k8s)
  endif()
endfunction()
