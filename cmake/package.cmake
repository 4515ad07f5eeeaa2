# The Debian packages, which cpack -G DEB makes (deploy/README.md): splitlet, with units of systemd, configuration, man pages
# and completion; splitlet-chaos, which is all that is installed as the component chaos.

set(SPLITLET_UNIT_DIR "${CMAKE_BINARY_DIR}/systemd")

# splitlet_unit(NAME PORT n DESCRIPTION ... [CAPABILITIES ...]): splitlet-NAME.service from the unit all processes share and
# what deploy/systemd/processes/NAME.conf adds.
function(splitlet_unit name)
  cmake_parse_arguments(ARG "" "PORT;DESCRIPTION;CAPABILITIES" "" ${ARGN})
  set(own_file "${CMAKE_SOURCE_DIR}/deploy/systemd/processes/${name}.conf")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${own_file}")
  file(READ "${own_file}" OWN)
  set(NAME "${name}")
  set(PORT "${ARG_PORT}")
  set(DESCRIPTION "${ARG_DESCRIPTION}")
  set(CAPABILITIES "${ARG_CAPABILITIES}")
  configure_file(deploy/systemd/process.service.in "${SPLITLET_UNIT_DIR}/splitlet-${name}.service" @ONLY)
  install(FILES "${SPLITLET_UNIT_DIR}/splitlet-${name}.service" DESTINATION lib/systemd/system)
  splitlet_page(splitlet-${name} 8 "splitlet(8)" "splitletctl(1)")
endfunction()

# splitlet_page(PROGRAM SECTION SEE-ALSO... [COMPONENT chaos]): its man page, made from what it prints for --help.
function(splitlet_page program section)
  cmake_parse_arguments(ARG "" "COMPONENT" "" ${ARGN})
  string(JOIN "\" \"" see_also ${ARG_UNPARSED_ARGUMENTS})
  set(page "${SPLITLET_UNIT_DIR}/${program}.${section}")
  set(component)
  if(ARG_COMPONENT)
    set(component COMPONENT ${ARG_COMPONENT})
  endif()
  install(CODE "execute_process(COMMAND python3 \"${CMAKE_SOURCE_DIR}/deploy/deb/man.py\"
    \"${CMAKE_BINARY_DIR}/bin/${program}\" ${section} \"${see_also}\"
    OUTPUT_FILE \"${page}\" COMMAND_ERROR_IS_FATAL ANY)" ${component})
  splitlet_compressed("${page}" "share/man/man${section}" ${component})
endfunction()

# splitlet_compressed(FILE DESTINATION [COMPONENT chaos]): as FILE.gz, the same bytes at each build.
function(splitlet_compressed file destination)
  cmake_path(GET file FILENAME name)
  set(packed "${SPLITLET_UNIT_DIR}/${name}.gz")
  install(CODE "execute_process(COMMAND gzip -9nc \"${file}\" OUTPUT_FILE \"${packed}\" COMMAND_ERROR_IS_FATAL ANY)"
          ${ARGN})
  install(FILES "${packed}" DESTINATION "${destination}" ${ARGN})
endfunction()

splitlet_unit(config-source PORT 10271 DESCRIPTION "where pods come from")
splitlet_unit(sync-loop PORT 10272 DESCRIPTION "which pods may run")
splitlet_unit(pod-worker PORT 10273 DESCRIPTION "makes, restarts and ends pods"
              CAPABILITIES "CAP_CHOWN CAP_DAC_OVERRIDE CAP_FOWNER CAP_FSETID CAP_KILL CAP_NET_ADMIN CAP_SYS_ADMIN")
splitlet_unit(pleg PORT 10274 DESCRIPTION "what the runtime shows")
splitlet_unit(status PORT 10275 DESCRIPTION "status of pods and node")
splitlet_unit(gc PORT 10276 DESCRIPTION "removes what is left over" CAPABILITIES "CAP_DAC_OVERRIDE CAP_FOWNER CAP_SYSLOG")
splitlet_unit(node-api PORT 10277 DESCRIPTION "the kubelet's HTTPS API")

install(FILES deploy/systemd/splitlet.target deploy/systemd/splitlet-setup.service deploy/systemd/splitlet-nats.service
              deploy/systemd/splitlet-recorder.service
        DESTINATION lib/systemd/system)
install(FILES deploy/systemd/splitlet.sysusers DESTINATION lib/sysusers.d RENAME splitlet.conf)
install(FILES deploy/systemd/splitlet.tmpfiles DESTINATION lib/tmpfiles.d RENAME splitlet.conf)
install(PROGRAMS deploy/systemd/setup.sh DESTINATION lib/splitlet RENAME setup)
install(PROGRAMS deploy/local/nats.sh deploy/local/nats_watch.sh DESTINATION lib/splitlet)
install(FILES deploy/local/lib.sh DESTINATION lib/splitlet)
install(FILES deploy/systemd/default DESTINATION /etc/default RENAME splitlet)
install(FILES deploy/deb/kubelet.yaml DESTINATION share/splitlet)
install(FILES README.md deploy/deb/copyright DESTINATION share/doc/splitlet)
splitlet_compressed("${CMAKE_SOURCE_DIR}/deploy/deb/changelog" share/doc/splitlet)
splitlet_compressed("${CMAKE_SOURCE_DIR}/deploy/deb/splitlet.8" share/man/man8)
splitlet_page(splitletctl 1 "splitlet(8)")  # asks splitlet-chaos what follows `chaos`
splitlet_page(splitlet-chaos 1 "splitlet(8)" "splitletctl(1)" COMPONENT chaos)
install(FILES deploy/deb/copyright DESTINATION share/doc/splitlet-chaos COMPONENT chaos)
splitlet_compressed("${CMAKE_SOURCE_DIR}/deploy/deb/changelog" share/doc/splitlet-chaos COMPONENT chaos)
# The program itself says what completes it.
foreach(completion bash:bash-completion/completions/splitletctl zsh:zsh/vendor-completions/_splitletctl
        fish:fish/vendor_completions.d/splitletctl.fish)
  string(REGEX MATCH "^[a-z]+" shell "${completion}")
  string(REGEX REPLACE "^[a-z]+:" "" target "${completion}")
  cmake_path(GET target FILENAME file)
  cmake_path(GET target PARENT_PATH folder)
  install(CODE "execute_process(COMMAND \"${CMAKE_BINARY_DIR}/bin/splitletctl\" completion ${shell}
    OUTPUT_FILE \"${SPLITLET_UNIT_DIR}/${file}\" COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES "${SPLITLET_UNIT_DIR}/${file}" DESTINATION "share/${folder}")
endforeach()

# Only what is installed is built for a package, not the tests.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME splitlet)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL Unspecified chaos)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME splitlet)
set(CPACK_DEBIAN_CHAOS_PACKAGE_NAME splitlet-chaos)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_CONTACT "splitlet maintainers <maintainers@splitlet.dev>")
set(CPACK_COMPONENT_UNSPECIFIED_DESCRIPTION "Kubernetes node agent taken apart into cooperating processes
Seven processes and a bus do the work of a kubelet on any CRI runtime, for
static pods or as a node of a cluster. A crash, a leak or an upgrade of one
of them does not take the others down, and each can be killed, traced,
limited and measured alone.")
set(CPACK_COMPONENT_CHAOS_DESCRIPTION "Faults on a running splitlet, and what must hold
Breaks a running stack on purpose and judges what
comes of it: splitletctl chaos. Nothing that a node in production needs.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_DEPENDS "libcurl4 (>= 7.87), nats-server, openssl, systemd")
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_RECOMMENDS "containerd | cri-o, containernetworking-plugins")
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_CONFLICTS "kubelet")
set(CPACK_DEBIAN_CHAOS_PACKAGE_DEPENDS "splitlet (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_CONTROL_EXTRA
    "${CMAKE_SOURCE_DIR}/deploy/deb/conffiles" "${CMAKE_SOURCE_DIR}/deploy/deb/postinst"
    "${CMAKE_SOURCE_DIR}/deploy/deb/prerm" "${CMAKE_SOURCE_DIR}/deploy/deb/postrm")
set(CPACK_POST_BUILD_SCRIPTS "${CMAKE_SOURCE_DIR}/cmake/installed_size.cmake")
include(CPack)
