#include "chaos/node/flood.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <thread>
#include <vector>

#include "libs/bus/bus.h"
#include "libs/rpc/rpc.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::chaos {
namespace {

constexpr int kListers = 4;
constexpr size_t kConnections = 1500;
constexpr int kEventsInACall = 200;
constexpr Duration kFloodCallLimit = 1s;
constexpr std::string_view kNoGrpc = "GET / HTTP/1.1\r\nHost: splitlet\r\n\r\n";

std::string TableOf(const std::string& process) {
  for (const char* table : {"desired", "admission", "workers", "runtime", "podstatus", "pressure"})
    if (bus::OwnerOf(table) == process) return table;
  return {};
}

class Flooder {
 public:
  Flooder(const FloodOrder& order, FloodCounts& counts)
      : order_(order), path_(rpc::SocketPath(order.run_dir, order.process)), counts_(counts) {}

  void Run() {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kListers; ++i) threads.emplace_back([this] { List(); });
    if (order_.process == "status") threads.emplace_back([this] { RecordEvents(); });
    Connect();
  }

 private:
  void Count(std::atomic<uint64_t>& counter, const grpc::Status& status) {
    ++(status.ok() ? counter : counts_.refused);
  }

  void List() {
    const auto stub = v1::Tables::NewStub(rpc::Connect(path_));
    v1::ListRequest request;
    request.set_table(TableOf(order_.process));
    while (!order_.stopped()) {
      rpc::ClientCall call(order_.clock, After(order_.clock, kFloodCallLimit));
      const auto reader = stub->List(&call.context(), request);
      v1::ListItem item;
      while (reader->Read(&item)) {
      }
      Count(counts_.lists, reader->Finish());
    }
  }

  void RecordEvents() {
    const auto stub = v1::Status::NewStub(rpc::Connect(path_));
    for (uint64_t number = 0; !order_.stopped();) {
      v1::RecordEventRequest request;
      for (int i = 0; i < kEventsInACall; ++i) {
        auto& event = *request.add_events();
        event.set_type("Warning");
        event.set_reason("Flood");
        event.set_kind("Pod");
        event.set_name("nobody");
        event.set_message(fmt::format("{} {}", ++number, std::string(500, 'x')));
      }
      rpc::ClientCall call(order_.clock, After(order_.clock, kFloodCallLimit));
      v1::RecordEventReply reply;
      Count(counts_.events, stub->RecordEvent(&call.context(), request, &reply));
    }
  }

  /// Opens as many connections as the process accepts; every second one sends bytes that are not
  /// gRPC.
  void Connect() {
    std::deque<int> held;
    // Listing connections open first, because the others may exhaust the limit.
    while (!order_.stopped() && counts_.lists + counts_.refused == 0) poll(nullptr, 0, 10);
    while (!order_.stopped()) {
      const int fd = ConnectOnce();
      if (fd < 0) {
        ++counts_.refused;
        poll(nullptr, 0, 10);
      } else {
        if (++counts_.connections % 2 == 0)
          send(fd, kNoGrpc.data(), kNoGrpc.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        held.push_back(fd);
      }
      if (held.size() < kConnections) continue;
      close(held.front());
      held.pop_front();
    }
    for (const int fd : held) close(fd);
  }

  int ConnectOnce() const {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    if (fd < 0 || connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0)
      return fd;
    close(fd);
    return -1;
  }

  const FloodOrder& order_;
  const std::string path_;
  FloodCounts& counts_;
};

}  // namespace

void Flood(const FloodOrder& order, FloodCounts& counts) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, 2 * kConnections);
    setrlimit(RLIMIT_NOFILE, &files);
  }
  Flooder(order, counts).Run();
}

}  // namespace splitlet::chaos
