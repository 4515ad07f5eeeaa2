# C++ from the .proto files, as libraries:
#   proto_cri       CRI and containerd's events, with stubs          #include "runtime/v1/api.grpc.pb.h"
#   proto_csi       CSI of a node, with stubs                        #include "csi/v1/csi.grpc.pb.h"
#   proto_k8s       Kubernetes API and the field options of ours     #include "k8s.io/api/core/v1/pod.pb.h"
#   proto_otlp      what an OpenTelemetry collector takes            #include "opentelemetry/trace_service.pb.h"
#   proto_plugins   registration of plugins, with stubs              #include "pluginregistration/v1/api.grpc.pb.h"
#   proto_splitlet  records and services of splitlet, with stubs     #include "splitlet/v1/....pb.h"
# Generated code has the same flags in every preset of clang and no sanitizers, so that ccache compiles it once for all.

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

# Sets ${out} to the units of a library: a few generated sources each, since the headers that they share cost most of
# their time. A unit has SPLITLET_GENERATED_LINES lines of .proto at most, or one source. A stub counts by its calls.
set(SPLITLET_GENERATED_LINES 400)
function(splitlet_generated_units out name)
  set(unit 0)
  set(lines 0)
  set(content)
  set(units)
  foreach(source IN LISTS ARGN)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${SPLITLET_GEN_DIR}" OUTPUT_VARIABLE include)
    string(REGEX REPLACE "(\\.grpc)?\\.pb\\.cc$" ".proto" proto "${include}")
    if(include MATCHES "grpc")
      file(STRINGS "${CMAKE_SOURCE_DIR}/proto/${proto}" counted REGEX "^ *rpc ")
      list(LENGTH counted weight)
      math(EXPR weight "100 + 10 * ${weight}")
    else()
      file(STRINGS "${CMAKE_SOURCE_DIR}/proto/${proto}" counted)
      list(LENGTH counted weight)
    endif()
    math(EXPR lines "${lines} + ${weight}")
    if(content AND lines GREATER SPLITLET_GENERATED_LINES)
      math(EXPR unit "${unit} + 1")
      set(file "${CMAKE_BINARY_DIR}/units/${name}/${unit}.cc")
      file(CONFIGURE OUTPUT "${file}" CONTENT "${content}" @ONLY)
      list(APPEND units "${file}")
      set(content)
      set(lines ${weight})
    endif()
    # Each source has statics of these names.
    string(MAKE_C_IDENTIFIER "${include}" id)
    foreach(static schemas file_default_instances)
      string(APPEND content "#undef ${static}\n#define ${static} ${static}_of_${id}\n")
    endforeach()
    string(APPEND content "#include \"${include}\"\n")
  endforeach()
  math(EXPR unit "${unit} + 1")
  set(file "${CMAKE_BINARY_DIR}/units/${name}/${unit}.cc")
  file(CONFIGURE OUTPUT "${file}" CONTENT "${content}" @ONLY)
  list(APPEND units "${file}")
  set(${out} ${units} PARENT_SCOPE)
endfunction()

# splitlet_proto_library(NAME PROTOS ... [DEPENDS ...]); PROTOS are relative to proto/.
function(splitlet_proto_library name)
  cmake_parse_arguments(ARG "" "" "PROTOS;DEPENDS" ${ARGN})
  set(sources)
  foreach(proto IN LISTS ARG_PROTOS)
    splitlet_generate(made "${proto}")
    list(APPEND sources ${made})
  endforeach()
  set(units ${sources})
  list(FILTER units INCLUDE REGEX "\\.cc$")
  splitlet_generated_units(units ${name} ${units})
  set_source_files_properties(${sources} PROPERTIES HEADER_FILE_ONLY ON)
  add_library(${name} STATIC ${units} ${sources})
  target_include_directories(${name} SYSTEM PUBLIC "${SPLITLET_GEN_DIR}")
  target_link_libraries(${name} PUBLIC protobuf::libprotobuf gRPC::grpc++ ${ARG_DEPENDS})
  target_compile_options(${name} PRIVATE -w -O1 -g0)
  # One of these units can take a gigabyte.
  set_target_properties(${name} PROPERTIES JOB_POOL_COMPILE generated
                                           CXX_CLANG_TIDY "" EXPORT_COMPILE_COMMANDS OFF)
endfunction()
