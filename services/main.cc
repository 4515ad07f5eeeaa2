// All processes are one program, named by links (splitlet-pleg): in memory once.
// Source: docs/decisions/one-program.md.

#include <cstdio>
#include <string_view>

namespace splitlet {

// clang-format off
namespace config_source { int Main(int argc, char** argv); }
namespace gc { int Main(int argc, char** argv); }
namespace node_api { int Main(int argc, char** argv); }
namespace pleg { int Main(int argc, char** argv); }
namespace pod_worker { int Main(int argc, char** argv); }
namespace status { int Main(int argc, char** argv); }
namespace sync_loop { int Main(int argc, char** argv); }
// clang-format on

namespace {

constexpr struct {
  std::string_view name;
  int (*main)(int argc, char** argv);
} kPrograms[] = {
    {"splitlet-config-source", config_source::Main}, {"splitlet-gc", gc::Main},
    {"splitlet-node-api", node_api::Main},           {"splitlet-pleg", pleg::Main},
    {"splitlet-pod-worker", pod_worker::Main},       {"splitlet-status", status::Main},
    {"splitlet-sync-loop", sync_loop::Main},
};

int RunByName(int argc, char** argv) {
  const std::string_view path = argc > 0 ? argv[0] : "";
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (const auto& program : kPrograms)
    if (program.name == name) return program.main(argc, argv);
  std::fputs("start it by one of its names:\n", stderr);
  for (const auto& program : kPrograms) std::fprintf(stderr, "  %s\n", program.name.data());
  return 2;
}

}  // namespace
}  // namespace splitlet

int main(int argc, char** argv) { return splitlet::RunByName(argc, argv); }
