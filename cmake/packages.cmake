# Third-party packages, all from Debian 12.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(absl REQUIRED CONFIG)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(Protobuf REQUIRED)
find_package(gRPC REQUIRED CONFIG)
find_package(yaml-cpp REQUIRED)
find_package(prometheus-cpp REQUIRED CONFIG)
find_package(CLI11 REQUIRED)
find_package(CURL REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Boost REQUIRED)
find_package(GTest REQUIRED)
# cnats' own CMake file names a static library that Debian does not package.
pkg_check_modules(NATS REQUIRED IMPORTED_TARGET libnats)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)
# Its headers; the library is loaded by who first needs a bus (libs/dbus/sd_bus_library.h).
pkg_check_modules(SYSTEMD REQUIRED libsystemd)
