#include "tests/bench/cluster_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/pod_status.pb.h"
#include "libs/apiclient/connect.h"
#include "libs/kube/codec.h"
#include "tests/bench/result.h"
#include "tests/harness/free_port.h"
#include "tests/harness/node.h"

namespace splitlet::bench {
namespace {

namespace core = k8s::io::api::core::v1;
using namespace std::chrono_literals;

constexpr size_t kAtOnce = 8;  // limit of requests of this client at a time
constexpr const char* kPods = "/api/v1/namespaces/default/pods";

bool IsReady(const core::Pod& pod) {
  for (const auto& condition : pod.status().conditions())
    if (condition.type() == "Ready") return condition.status() == "True";
  return false;
}

}  // namespace

ClusterApi::ClusterApi()
    : process_({.program = harness::BinDir() + "/fake-api",
                .dir = dir_ / "server",
                .node = "node-1",
                .flags = {}}),
      port_(harness::FreePort()) {
  process_.Start();
  harness::WriteFile(dir_ / "clients.pem", ca_.certificate_pem());
  auto transport = apiclient::Connect({.clock = clock_,
                                       .files = files_,
                                       .log = Log(sink_),
                                       .kubeconfig = process_.Kubeconfig("admin"),
                                       .user_agent = "cluster_bench"});
  CHECK(transport.ok(), "{}", transport.status());
  transport_ = *std::move(transport);
}

std::string ClusterApi::Config() const {
  return fmt::format(
      "failSwapOn: false\nevictionHard: {{}}\ncontainerLogMaxSize: 1Gi\naddress: 127.0.0.1\nport: "
      "{}\nhealthzPort: "
      "0\nauthentication: {{x509: "
      "{{clientCAFile: {}}}}}\nauthorization: {{mode: AlwaysAllow}}\nsplitlet: {{machineSetup: "
      "false}}\n",
      port_, dir_ / "clients.pem");
}

std::vector<std::string> ClusterApi::Flags() const {
  return {"--kubeconfig", process_.Kubeconfig("node"), "--cert-dir", dir_ / "pki"};
}

void ClusterApi::SendAll(const std::vector<apiclient::Request>& requests) {
  std::atomic<size_t> answered{0}, refused{0};
  size_t begun = 0;
  for (const auto& request : requests) {
    CHECK(WaitEvery(200us, kLimit, [&] { return begun - answered < kAtOnce; }));
    ++begun;
    transport_->Begin(request, After(clock_, kLimit), [&](const auto& answer) {
      if (!answer.ok() || answer->code / 100 != 2) ++refused;
      ++answered;
    });
  }
  CHECK(WaitEvery(1ms, kLimit, [&] { return answered == requests.size(); }));
  CHECK(refused == 0, "{} requests were refused", refused.load());
}

void ClusterApi::Create(const std::vector<std::string>& pods) {
  std::vector<apiclient::Request> requests;
  for (const auto& pod : pods)
    requests.push_back({.method = "POST",
                        .path = kPods,
                        .accept = "application/json",
                        .content_type = "application/json",
                        .body = pod});
  SendAll(requests);
}

void ClusterApi::Delete(const std::vector<std::string>& names) {
  std::vector<apiclient::Request> requests;
  for (const auto& name : names)
    requests.push_back({.method = "DELETE",
                        .path = fmt::format("{}/{}", kPods, name),
                        .accept = "application/json",
                        .content_type = "",
                        .body = ""});
  SendAll(requests);
}

std::string PodJson(const std::string& name, const std::string& of_container,
                    int64_t grace_seconds) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default"}},)"
      R"("spec":{{"nodeName":"node-1","terminationGracePeriodSeconds":{},"containers":[{{"name":)"
      R"("app","image":"splitlet.local/busybox:1"{}}}]}}}})",
      name, grace_seconds, of_container);
}

PodWatch::PodWatch(ClusterApi& api)
    : clock_(api.clock()), ending_(std::make_shared<CancelToken>()) {
  Deadline deadline = After(clock_, std::chrono::hours{1});
  deadline.cancel = ending_;
  api.transport().BeginStream(
      {.method = "GET",
       .path = fmt::format("{}?watch=1", kPods),
       .accept = "application/json",
       .content_type = "",
       .body = ""},
      deadline, [this](std::string_view data) { OnData(data); },
      [this](const auto&) {
        const std::lock_guard lock(mutex_);
        ended_ = true;
      });
  CHECK(WaitEvery(1ms, kLimit, [this] {
    const std::lock_guard lock(mutex_);
    return begun_;
  }));
}

PodWatch::~PodWatch() {
  ending_->Cancel();
  CHECK(WaitEvery(1ms, kLimit, [this] {
    const std::lock_guard lock(mutex_);
    return ended_;
  }));
}

void PodWatch::OnData(std::string_view data) {
  const Clock::Time now = clock_.Now();
  rest_ += data;
  size_t begin = 0;
  for (size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
    OnLine(std::string_view(rest_).substr(begin, end - begin), now);
    begin = end + 1;
  }
  rest_.erase(0, begin);
  const std::lock_guard lock(mutex_);
  begun_ = true;
}

/// An event: {"type":"MODIFIED","object":{...}}
void PodWatch::OnLine(std::string_view line, Clock::Time now) {
  constexpr std::string_view kObject = "\"object\":";
  const size_t at = line.find(kObject);
  CHECK(at != std::string_view::npos, "no event: {}", line);
  const std::string_view json =
      line.substr(at + kObject.size(), line.rfind('}') - at - kObject.size());
  core::Pod pod;
  const auto read = kube::DecodeInto(json, "watch", kube::Strictness::kLenient, pod);
  CHECK(read.ok(), "{}", read.status());
  const std::string& name = pod.metadata().name();
  const std::lock_guard lock(mutex_);
  if (pod.status().phase() == "Running") seen_.try_emplace({name, State::kRunning}, now);
  if (IsReady(pod)) seen_.try_emplace({name, State::kReady}, now);
  if (line.substr(0, at).find("DELETED") != std::string_view::npos)
    seen_.try_emplace({name, State::kGone}, now);
}

std::optional<Clock::Time> PodWatch::Seen(const std::string& name, State state) const {
  const std::lock_guard lock(mutex_);
  const auto found = seen_.find({name, state});
  return found == seen_.end() ? std::nullopt : std::optional(found->second);
}

Clock::Time PodWatch::Await(const std::string& name, State state) {
  CHECK(WaitEvery(2ms, kLimit, [&] { return Seen(name, state).has_value(); }),
        "{} does not come to state {}", name, static_cast<int>(state));
  return *Seen(name, state);
}

Clock::Time PodWatch::AwaitAll(const std::vector<std::string>& names, State state) {
  Clock::Time last = Await(names.at(0), state);
  for (const auto& name : names) {
    const Clock::Time time = Await(name, state);
    last = std::max(last, time);
  }
  return last;
}

}  // namespace splitlet::bench
