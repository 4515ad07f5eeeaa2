#include "tests/harness/node.h"

#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "k8s.io/api/core/v1/pod_status.pb.h"
#include "libs/base/processes.h"
#include "libs/bus/names.h"
#include "libs/rpc/rpc.h"
#include "libs/rpc/unary.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::harness {
namespace core = k8s::io::api::core::v1;
namespace {

constexpr int kCallSeconds = 5;
constexpr int kGcSeconds = 60;  // a run waits for the one in progress
/// Time limit of a script that takes a second, because a burst of pods on a slow machine delays it.
constexpr Duration kScriptLimit = 120s;

/// One unary call to a process on a new channel, because processes restart during a test.
template <class Service, int kSeconds = kCallSeconds, class Request, class Reply>
StatusOr<Reply> Call(const std::string& dir, const std::string& process,
                     grpc::Status (Service::Stub::*method)(grpc::ClientContext*, const Request&,
                                                           Reply*),
                     const Request& request) {
  const RealClock clock;
  const auto stub = Service::NewStub(rpc::Connect(rpc::SocketPath(dir + "/run", process)));
  rpc::ClientCall call(clock, After(clock, std::chrono::seconds{kSeconds}));
  return Annotate(rpc::Unary(call, *stub, method, request), process);
}

Node::ContainerView ViewOf(const core::ContainerStatus& status) {
  Node::ContainerView view{.name = status.name(), .id = status.container_id(), .state = "waiting"};
  view.restarts = status.restart_count();
  view.ready = status.ready();
  if (status.state().has_running()) view.state = "running";
  if (status.state().has_waiting()) {
    view.reason = status.state().waiting().reason();
    view.message = status.state().waiting().message();
  }
  if (status.state().has_terminated()) {
    view.state = "terminated";
    view.reason = status.state().terminated().reason();
    view.message = status.state().terminated().message();
    view.exit_code = status.state().terminated().exit_code();
  }
  return view;
}

Node::PodView ViewOf(const v1::PodStatusRecord& record) {
  core::PodStatus status;
  CHECK(status.ParseFromString(record.status()));
  Node::PodView pod{.uid = record.uid(), .name = record.name(), .phase = status.phase()};
  pod.reason = status.reason();
  pod.message = status.message();
  pod.ip = status.pod_ip();
  for (const auto& condition : status.conditions())
    if (condition.type() == "Ready") pod.ready = condition.status() == "True";
  for (const auto& c : status.container_statuses()) pod.containers.push_back(ViewOf(c));
  for (const auto& c : status.init_container_statuses()) pod.init_containers.push_back(ViewOf(c));
  return pod;
}

std::string TailOf(const std::string& path, size_t bytes) {
  std::string text = ReadFile(path);
  if (text.size() > bytes) text.erase(0, text.size() - bytes);
  return text;
}

std::string HttpExchange(const std::string& host, int port, const std::string& path) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  const timeval limit{.tv_sec = 5, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  std::string answer;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    const std::string request =
        fmt::format("GET {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);
    if (write(fd, request.data(), request.size()) == static_cast<ssize_t>(request.size())) {
      char buffer[65536];
      ssize_t n = 0;
      while ((n = read(fd, buffer, sizeof buffer)) > 0)
        answer.append(buffer, static_cast<size_t>(n));
    }
  }
  close(fd);
  return answer;
}

constexpr const char* kTestConfig = R"(apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
fileCheckFrequency: 2s
syncFrequency: 10s
)";

}  // namespace

std::string BinDir() {
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  return self.parent_path().parent_path() / "bin";
}

std::string SourceDir() { return BinDir() + "/../../.."; }

Node::Node(NodeOptions options) : options_(std::move(options)), dir_("sl") {
  for (const char* sub : {"/run", "/state", "/kubelet", "/log", "/pods", "/nats", "/manifests"})
    std::filesystem::create_directories(dir() + sub);
  WriteFile(dir() + "/config.yaml", options_.config.empty() ? kTestConfig : options_.config);
}

void Node::ShareDirs() const {
  CHECK(chmod(dir().c_str(), 0755) == 0 && chmod((dir() + "/nats").c_str(), 0711) == 0);
  CHECK(chmod((dir() + "/nats/creds").c_str(), 0711) == 0);
  for (const char* sub : {"/run", "/state", "/kubelet"}) {
    const std::string path = dir() + sub;
    CHECK(chown(path.c_str(), 0, kGroup) == 0 && chmod(path.c_str(), 0770) == 0);
  }
  for (const auto& [process, uid] : options_.users)
    CHECK(chown((dir() + "/nats/creds/" + process).c_str(), uid, kGroup) == 0);
}

void Node::RunAsItsUser(const std::string& process, Command& command) const {
  const auto user = options_.users.find(process);
  const uint32_t uid = user == options_.users.end() ? 0 : user->second;
  std::vector<std::string> argv = {"setpriv",
                                   "--reuid",
                                   std::to_string(uid),
                                   "--regid",
                                   std::to_string(kGroup),
                                   "--clear-groups",
                                   "--pdeathsig",
                                   "KILL"};
  argv.insert(argv.end(), command.argv.begin(), command.argv.end());
  command.argv = std::move(argv);
}

Node::~Node() {
  for (const auto& process : ProcessNames()) Resume(process);
}

void Node::StartNats() {
  const std::string script = SourceDir() + "/deploy/local/nats.sh";
  keeper_.Start(
      "nats",
      {.argv = {"bash", script, "serve", dir() + "/nats"}, .env = {}, .output = LogOf("nats")});
  CHECK(RunToEnd({.argv = {"bash", script, "ready", dir() + "/nats"},
                  .env = {},
                  .output = LogOf("nats-ready")},
                 kScriptLimit) == 0,
        "nats-server: {}", TailOf(LogOf("nats"), 2000));
}

void Node::Start() {
  const std::string script = SourceDir() + "/deploy/local/nats.sh";
  CHECK(RunToEnd({.argv = {"bash", script, "config", dir() + "/nats"},
                  .env = {},
                  .output = LogOf("nats-config")},
                 kScriptLimit) == 0,
        "nats configuration: {}", TailOf(LogOf("nats-config"), 2000));
  if (!options_.nats_settings.empty()) {
    const std::string conf = dir() + "/nats/nats.conf";
    WriteFile(conf, ReadFile(conf) + options_.nats_settings);
  }
  nats_url_ = fmt::format("nats://127.0.0.1:{}", std::stoi(ReadFile(dir() + "/nats/port")));
  if (!options_.users.empty()) ShareDirs();
  StartNats();
  for (const auto& process : ProcessNames()) keeper_.Start(process, CommandOf(process, true));
  for (const auto& process : ProcessNames())
    CHECK(WaitFor(30s, [&] { return Answers(process); }), "{} does not answer: {}", process,
          TailOf(LogOf(process), 3000));
}

void Node::StartProcess(const std::string& process) {
  keeper_.Start(process, CommandOf(process, false));
  CHECK(WaitFor(30s, [&] { return Answers(process); }), "{} does not answer", process);
}

void Node::StartTwice(const std::string& process) {
  Command again = CommandOf(process, false);
  again.output = LogOf(process) + "-again";
  keeper_.Start(process, CommandOf(process, false));
  keeper_.Start(process + "-again", again);
  CHECK(WaitFor(30s, [&] { return Answers(process); }), "{} does not answer", process);
}

bool Node::Answers(const std::string& process) { return Info(process).ok(); }

void Node::KillAndAwait(const std::string& process) {
  const pid_t before = keeper_.PidOf(process);
  Kill(process);
  CHECK(WaitFor(30s,
                [&] {
                  const auto info = Info(process);
                  return info.ok() && info->pid() != before;
                }),
        "{} does not come back: {}", process, TailOf(LogOf(process), 3000));
}

Command Node::CommandOf(const std::string& process, bool first_start) const {
  Command command{.argv = {BinDir() + "/splitlet-" + process,
                           "--config",
                           dir() + "/config.yaml",
                           "--run-dir",
                           dir() + "/run",
                           "--state-dir",
                           dir() + "/state",
                           "--root-dir",
                           dir() + "/kubelet",
                           "--log-dir",
                           dir() + "/pods",
                           "--runtime-endpoint",
                           options_.runtime_endpoint,
                           "--node-name",
                           options_.node_name,
                           "--manifests",
                           manifests(),
                           "--nats-url",
                           nats_url_,
                           "--nats-creds",
                           dir() + "/nats/creds/" + process,
                           "--nats-ca",
                           dir() + "/nats/tls/current/ca.pem",
                           "--http-address",
                           "127.0.0.1:0"},
                  .env = options_.env,
                  .output = LogOf(process)};
  command.argv.insert(command.argv.end(), options_.flags.begin(), options_.flags.end());
  const auto points = options_.fail_points.find(process);
  if (first_start && points != options_.fail_points.end())
    command.env["SPLITLET_FAILPOINTS"] = points->second;
  if (!options_.users.empty()) RunAsItsUser(process, command);
  return command;
}

void Node::PutManifest(const std::string& name, const std::string& yaml) {
  WriteFile(manifests() + "/" + name, yaml);
}

void Node::RemoveManifest(const std::string& name) {
  std::filesystem::remove(manifests() + "/" + name);
}

StatusOr<std::map<std::string, std::string>> Node::ListTable(const std::string& table) {
  const RealClock clock;
  const auto channel = rpc::Connect(rpc::SocketPath(dir() + "/run", bus::OwnerOf(table)));
  const auto stub = v1::Tables::NewStub(channel);
  rpc::ClientCall call(clock, After(clock, std::chrono::seconds{kCallSeconds}));
  v1::ListRequest request;
  request.set_table(table);
  const auto reader = stub->List(&call.context(), request);
  std::map<std::string, std::string> records;
  v1::ListItem item;
  while (reader->Read(&item))
    if (item.has_change() && !item.change().removal())
      records[item.change().key()] = item.change().record();
  RETURN_IF_ERROR(rpc::FromGrpc(reader->Finish()), "list {}", table);
  return records;
}

std::vector<Node::PodView> Node::Pods() {
  std::vector<PodView> pods;
  for (const auto& [key, record] : Table<v1::PodStatusRecord>("podstatus"))
    if (key != "node") pods.push_back(ViewOf(record));
  return pods;
}

std::unique_ptr<Node::PodView> Node::Pod(const std::string& name) {
  for (auto& pod : Pods())
    if (pod.name == name || pod.name == name + "-" + options_.node_name)
      return std::make_unique<PodView>(std::move(pod));
  return nullptr;
}

bool Node::IsRunning(const std::string& name) {
  const auto pod = Pod(name);
  return pod != nullptr && pod->phase == "Running" && pod->ready;
}

bool Node::IsGone(const std::string& name) {
  return ListTable("podstatus").ok() && Pod(name) == nullptr;
}

Status Node::SetFault(const std::string& process, const std::string& point,
                      const std::string& term) {
  v1::SetFaultRequest request;
  request.set_name(point);
  request.set_term(term);
  return Call<v1::Admin>(dir(), process, &v1::Admin::Stub::SetFault, request).status();
}

StatusOr<v1::FaultList> Node::Faults(const std::string& process) {
  return Call<v1::Admin>(dir(), process, &v1::Admin::Stub::ListFaults, v1::ListFaultsRequest{});
}

Node::Run Node::RunAgain(const std::string& process) {
  Command command = CommandOf(process, false);
  command.output = LogOf(process) + ".second";
  const int code = RunToEnd(command, 20s);
  return {code, ReadFile(command.output)};
}

Node::Run Node::Ctl(const std::vector<std::string>& arguments) {
  Command command{.argv = {BinDir() + "/splitletctl", "--state-dir", dir()},
                  .output = LogOf("splitletctl")};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  std::filesystem::remove(command.output);
  const int code = RunToEnd(command, 20s);
  return {code, ReadFile(command.output)};
}

Node::Run Node::RunWithConfig(const std::string& process, const std::string& config) {
  const std::string own = dir() + "/bad";
  std::filesystem::remove_all(own);
  std::filesystem::create_directories(own);
  WriteFile(own + "/bad.yaml", config);
  Command command{.argv = {BinDir() + "/splitlet-" + process, "--config", own + "/bad.yaml",
                           "--run-dir", own, "--state-dir", own, "--root-dir", own + "/kubelet"},
                  .env = options_.env,
                  .output = own + "/log"};
  const int code = RunToEnd(command, 20s);
  return {code, ReadFile(command.output)};
}

StatusOr<v1::ProcessInfo> Node::Info(const std::string& process) {
  return Call<v1::Admin>(dir(), process, &v1::Admin::Stub::GetProcess, v1::GetProcessRequest{});
}

StatusOr<v1::Sources> Node::Sources() {
  return Call<v1::ConfigSource>(dir(), "config-source", &v1::ConfigSource::Stub::GetSources,
                                v1::GetSourcesRequest{});
}

StatusOr<v1::GcReport> Node::RunGc(bool dry_run) {
  v1::GcRunRequest request;
  request.set_dry_run(dry_run);
  return Call<v1::Gc, kGcSeconds>(dir(), "gc", &v1::Gc::Stub::Run, request);
}

std::string Node::HttpGet(const std::string& process, const std::string& path) {
  std::string address = ReadFile(dir() + "/run/" + process + "/http.addr");
  while (!address.empty() && address.back() == '\n') address.pop_back();
  const auto colon = address.rfind(':');
  if (colon == std::string::npos) return {};
  return HttpExchange(address.substr(0, colon), std::stoi(address.substr(colon + 1)), path);
}

std::string Node::LogTails() const {
  std::string text;
  for (const auto& process : ProcessNames())
    text += fmt::format("--- {}\n{}\n", process, TailOf(LogOf(process), 2500));
  return text;
}

std::string Node::SanitizerReports() const {
  constexpr size_t kReportBytes = 6000;
  std::string reports;
  for (const auto& file : std::filesystem::directory_iterator(dir() + "/log")) {
    const std::string text = ReadFile(file.path());
    const size_t begin = std::min(text.find("Sanitizer: "), text.find(": runtime error: "));
    if (begin == std::string::npos) continue;
    const size_t line = text.rfind('\n', begin) + 1;  // 0 if there is no line
    reports += fmt::format("--- {}\n{}\n", file.path().filename().string(),
                           text.substr(line, kReportBytes));
  }
  return reports;
}

std::string PodYaml(const std::string& name, const std::string& script,
                    const std::string& more_spec) {
  return fmt::format(R"(apiVersion: v1
kind: Pod
metadata:
  name: {}
spec:
  terminationGracePeriodSeconds: 2
{}  containers:
  - name: app
    image: splitlet.local/busybox:1
    command: ["/bin/sh", "-c", "{}"]
)",
                     name, more_spec, script);
}

}  // namespace splitlet::harness
