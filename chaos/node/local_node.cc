#include "chaos/node/local_node.h"

#include <fmt/format.h>
#include <poll.h>
#include <prometheus/registry.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "chaos/node/manifest.h"
#include "chaos/node/reported_pod.h"
#include "chaos/node/text_files.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/processes.h"
#include "libs/cri/grpc_runtime.h"
#include "libs/cri/labels.h"
#include "libs/cri/observe.h"
#include "libs/operate/bus_text.h"
#include "libs/operate/flight_recorder.h"
#include "libs/operate/host_resources.h"
#include "libs/operate/layout.h"
#include "libs/operate/runtime_leaks.h"
#include "libs/rpc/rpc.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::chaos {
namespace {

namespace stdfs = std::filesystem;

constexpr Duration kInspectLimit = 1s;
/// Events are many, so they are listed less often; an event storm outlasts the gap.
constexpr Duration kEventsPeriod = 3s;

SeenContainer::State StateOf(cri::ContainerState state) {
  switch (state) {
    case cri::ContainerState::kCreated: return SeenContainer::State::kCreated;
    case cri::ContainerState::kRunning: return SeenContainer::State::kRunning;
    case cri::ContainerState::kExited: return SeenContainer::State::kExited;
    case cri::ContainerState::kUnknown: return SeenContainer::State::kUnknown;
  }
  UNREACHABLE();
}

operate::PodPlaces PlacesOf(const LocalPaths& paths) {
  return {.tops = {paths.top},
          .root = paths.root,
          .state = paths.state,
          .run = paths.run,
          .logs = paths.logs,
          .containerd = paths.containerd()};
}

ReportedPod ToReported(const v1::PodStatusRecord& record) {
  ReportedPod reported{.name = record.name(), .uid = record.uid(), .phase = "", .containers = {}};
  kube::PodStatus status;
  if (status.ParseFromString(record.status())) ReadStatus(status, reported);
  return reported;
}

WallTime BootTime(const Clock& clock) {
  std::ifstream file("/proc/uptime");
  double seconds = 0;
  file >> seconds;
  return clock.WallNow() - Duration{1ms} * static_cast<int64_t>(seconds * 1000);
}

uint64_t ResidentBytes(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/statm", pid));
  uint64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

int DescriptorsOf(pid_t pid) {
  std::error_code error;
  int count = 0;
  for (stdfs::directory_iterator it(fmt::format("/proc/{}/fd", pid), error), end;
       !error && it != end; it.increment(error))
    ++count;
  return count;
}

}  // namespace

struct LocalNode::Runtime {
  prometheus::Registry registry;
  cri::GrpcRuntime client;
  Runtime(const std::string& endpoint, const Clock& clock)
      : client(rpc::ConnectEndpoint(endpoint), clock, registry, {}) {}
};

LocalNode::LocalNode(const operate::Client& client, LocalPaths paths)
    : client_(client),
      paths_(std::move(paths)),
      supervisor_(operate::FindSupervisor(client.layout())),
      runtime_(std::make_unique<Runtime>(paths_.endpoint, client.clock())),
      server_({.socket = paths_.api_control,
               .pid =
                   [this] {
                     const pid_t pid = supervisor_->PidOf(kApiServer).value_or(0);
                     return pid != 0 && operate::IsStopped(pid) ? 0 : pid;
                   }}),
      faults_(std::make_unique<LocalFaults>(LocalFaultsDeps{.client = client_,
                                                            .paths = paths_,
                                                            .supervisor = *supervisor_,
                                                            .runtime = runtime_->client,
                                                            .server = server_,
                                                            .last = last_})) {}

LocalNode::~LocalNode() = default;

StatusOr<std::unique_ptr<LocalNode>> LocalNode::Open(const operate::Client& client) {
  if (geteuid() != 0) return PermissionDenied("{}", kNeedsRoot);
  if (client.layout().top.empty())
    return FailedPrecondition(
        "chaos needs a local stack: --state-dir DIR (make run starts one in .run)");
  for (const auto& process : ProcessNames())
    if (Status runs = client.CheckRuns(process); !runs.ok())
      return Annotate(runs, "a process of the stack does not run (see splitletctl doctor)");
  ASSIGN_OR_RETURN(LocalPaths paths, FindLocalPaths(), "local stack");
  std::unique_ptr<LocalNode> node(new LocalNode(client, std::move(paths)));
  std::error_code error;
  stdfs::remove_all(node->paths_.witnesses(), error);
  stdfs::create_directories(node->paths_.witnesses(), error);
  if (error) return ErrnoStatus(error.value());
  node->last_ = node->Inspect();
  if (!node->last_.runtime_answered)
    return Unavailable("the runtime does not answer at {}", node->paths_.endpoint);
  if (!node->last_.status_answered)
    return Unavailable("status does not answer a query for its table podstatus");
  return node;
}

Status LocalNode::CanServe() {
  if (server_.exists()) return OkStatus();
  return FailedPrecondition("the stack has no service {} (tests/chaos/run.sh starts one)",
                            kApiServer);
}

Status LocalNode::PutObjects() {
  if (objects_put_) return OkStatus();
  for (const auto& folder : FoldersOfVolumes(paths_.volumes())) {
    std::error_code error;
    stdfs::create_directories(folder, error);
    if (error) return Annotate(ErrnoStatus(error.value()), folder);
  }
  for (const auto& [path, json] : ObjectsOfVolumes(paths_.volumes(), paths_.node_name))
    RETURN_IF_ERROR(server_.Put(path, json), "{}", path);
  objects_put_ = true;
  return OkStatus();
}

std::string LocalNode::ServedPath(const std::string& pod) const {
  return kServedPods + ("/" + FullName(pod));
}

Status LocalNode::PutPod(const PodToRun& pod) {
  faults_->OnManifestReplaced(pod.name);
  const std::string manifest = ManifestOf(
      pod,
      {.witness_dir = paths_.witnesses(), .processors = get_nprocs(), .node = paths_.node_name});
  if (!pod.from->api) return WriteByRename(paths_.ManifestPath(pod.name), manifest);
  if (pod.from->volumes) RETURN_IF_ERROR(PutObjects(), "objects of volumes");
  RETURN_IF_ERROR(server_.Create(kServedPods, manifest), "create");
  served_[pod.name] = pod.from->forced;
  return OkStatus();
}

Status LocalNode::RemovePod(const std::string& name) {
  if (const auto served = served_.find(name); served != served_.end()) {
    RETURN_IF_ERROR(server_.Delete(ServedPath(name), served->second), "delete");
    served_.erase(served);
    return OkStatus();
  }
  faults_->OnManifestReplaced(name);
  return unlink(paths_.ManifestPath(name).c_str()) == 0 || errno == ENOENT ? OkStatus()
                                                                           : ErrnoStatus(errno);
}

Snapshot LocalNode::Inspect() {
  Snapshot snapshot{.at = client_.clock().Now(), .wall = client_.clock().WallNow()};
  faults_->RetryFailPoints();
  server_.Retry();
  InspectProcesses(snapshot);
  InspectRuntime(snapshot);
  InspectStatus(snapshot);
  InspectServer(snapshot);
  InspectWitnesses(snapshot);
  snapshot.wall = client_.clock().WallNow();
  if (snapshot.runtime_answered) last_ = snapshot;
  return snapshot;
}

/// Deadline of a process's report. The snapshot does not wait for a missing or paused process.
bool LocalNode::Answers(const Snapshot& snapshot, const std::string& process) const {
  const auto found = std::ranges::find(snapshot.processes, process, &SeenProcess::name);
  return found == snapshot.processes.end() || (found->pid != 0 && !operate::IsStopped(found->pid));
}

void LocalNode::InspectRuntime(Snapshot& snapshot) {
  if (!Answers(snapshot, "containerd")) return;
  const Clock& clock = client_.clock();
  const auto sandboxes = runtime_->client.ListPodSandbox("", After(clock, kInspectLimit));
  if (!sandboxes.ok()) return;
  const auto containers = runtime_->client.ListContainers({}, After(clock, kInspectLimit));
  if (!containers.ok()) return;
  snapshot.runtime_answered = true;
  for (const auto& s : *sandboxes) {
    pods_.ids.insert(s.id.str());
    pods_.uids.insert(s.pod_uid);
    snapshot.sandboxes.push_back({.id = s.id.str(),
                                  .pod = s.pod_name,
                                  .uid = s.pod_uid,
                                  .attempt = s.attempt,
                                  .ready = s.state == cri::SandboxState::kReady});
  }
  for (const auto& c : *containers) {
    pods_.ids.insert(c.id.str());
    snapshot.containers.push_back({.id = c.id.str(),
                                   .sandbox = c.sandbox_id.str(),
                                   .pod = cri::LabelOf(c.labels, kube::kPodNameLabel),
                                   .uid = cri::LabelOf(c.labels, kube::kPodUidLabel),
                                   .name = c.name,
                                   .attempt = c.attempt,
                                   .state = StateOf(c.state),
                                   .restarts = cri::ToRecord(c).restart_count()});
    auto& seen = snapshot.containers.back();
    const bool ended = seen.state == SeenContainer::State::kExited;
    if (!ended && seen.state != SeenContainer::State::kRunning) continue;
    if (const auto start = StartOf(seen.id); start) {
      seen.never_ran = ended && !start->at;
      seen.started = start->at;
    }
  }
}

void LocalNode::InspectStatus(Snapshot& snapshot) {
  if (!Answers(snapshot, "status")) return;
  const auto records = client_.ListTable("podstatus", kInspectLimit);
  if (!records.ok()) return;
  snapshot.status_answered = true;
  for (const auto& [uid, bytes] : *records) {
    v1::PodStatusRecord record;
    if (uid != "node" && record.ParseFromString(bytes))
      snapshot.reported.push_back(ToReported(record));
  }
}

void LocalNode::InspectServer(Snapshot& snapshot) {
  if (!server_.exists()) return;
  auto pods = server_.ListPods();
  const auto ready = server_.IsReady(paths_.node_name);
  snapshot.server_answered = pods.ok() && ready.ok();
  if (!snapshot.server_answered) return;
  snapshot.served = *std::move(pods);
  snapshot.node_ready = *ready;
  if (snapshot.at >= events_due_) {
    events_due_ = snapshot.at + kEventsPeriod;
    if (auto events = server_.ListEvents(); events.ok()) events_ = *std::move(events);
  }
  snapshot.events = events_;
}

void LocalNode::InspectProcesses(Snapshot& snapshot) {
  for (const auto& name : Services()) {
    const auto pid = supervisor_->PidOf(name);
    if (!pid.ok()) continue;  // the process belongs to another stack: another runtime
    SeenProcess process{.name = name, .pid = *pid};
    // The API server is not under test, and it keeps every request in memory.
    if (*pid > 0 && name != kApiServer) {
      process.memory_bytes = ResidentBytes(*pid);
      process.descriptors = DescriptorsOf(*pid);
    }
    snapshot.processes.push_back(process);
  }
}

void LocalNode::InspectWitnesses(Snapshot& snapshot) {
  const WallTime boot = BootTime(client_.clock());
  std::error_code error;
  for (stdfs::directory_iterator it(paths_.witnesses(), error), end; !error && it != end;
       it.increment(error))
    snapshot.witnesses[it->path().filename().string()] =
        ParseWitness(ReadAll(it->path().string()), boot);
}

std::optional<WallTime> LocalNode::EndOf(const std::string& container) {
  const auto status = runtime_->client.ContainerStatus(cri::ContainerId(container),
                                                       After(client_.clock(), kInspectLimit));
  if (!status.ok() || status->finished_at_ns <= 0) return std::nullopt;
  return WallFromNanos(status->finished_at_ns);
}

std::optional<LocalNode::Start> LocalNode::StartOf(const std::string& container) {
  if (const auto known = starts_.find(container); known != starts_.end()) return known->second;
  const auto status = runtime_->client.ContainerStatus(cri::ContainerId(container),
                                                       After(client_.clock(), kInspectLimit));
  if (!status.ok()) return std::nullopt;
  Start& start = starts_[container];
  if (status->started_at_ns > 0) start.at = WallFromNanos(status->started_at_ns);
  return start;
}

std::vector<std::string> LocalNode::Unwell() {
  std::vector<std::string> found;
  for (const auto& view : client_.ListProcesses()) {
    if (view.info == nullptr)
      found.push_back(view.problem);
    else if (!view.info->live() || !view.info->ready())
      found.push_back(fmt::format("{} is unhealthy: {}", view.name, view.info->reason()));
    else if (view.info->notes_size() > 0)
      found.push_back(fmt::format("{}: {}", view.name, view.info->notes(0)));
  }
  return found;
}

std::set<std::string> LocalNode::HostResources() {
  return operate::HostResourcesOf(PlacesOf(paths_), pods_);
}

Status LocalNode::CleanUp() {
  const auto report = client_.RunGc(false);
  if (!report.ok()) return report.status();
  std::string kept = (*report)->error();
  for (const auto& line : (*report)->kept()) kept += (kept.empty() ? "" : "; ") + line;
  return kept.empty() ? OkStatus() : Aborted("{}", kept);
}

std::set<std::string> LocalNode::RemoveRuntimeLeaks(const std::set<std::string>& resources) {
  Snapshot now{};
  InspectRuntime(now);
  std::optional<std::set<std::string>> listed;
  if (now.runtime_answered) {
    listed.emplace();
    for (const auto& s : now.sandboxes) listed->insert(s.id);
    for (const auto& c : now.containers) listed->insert(c.id);
  }
  const std::set<std::string> leaks = operate::RuntimeLeaksOf(resources, listed);
  // A second pass, because a cgroup can be removed only when it holds no process and no child.
  for (int i = 0; i < 2; ++i) {
    for (const auto& resource : leaks) operate::RemoveHostResource(PlacesOf(paths_), resource);
    poll(nullptr, 0, 200);
  }
  return leaks;
}

std::vector<BusLine> LocalNode::BusBetween(WallTime from, WallTime to) {
  std::vector<BusLine> lines;
  operate::BusReader reader;
  const Status read = operate::ReadRecorderFiles(
      client_.layout().recorder, from, [&](const operate::BusMessage& message) {
        if (message.at > to) return false;
        const operate::BusEvent event = reader.Read(message);
        if (!event.heartbeat)
          lines.push_back(
              {event.at, fmt::format("{} {}: {} {}", event.process, event.topic,
                                     event.pod.empty() ? event.key : event.pod, event.text)});
        return true;
      });
  if (!read.ok()) lines.push_back({from, "no recording: " + Message(read)});
  return lines;
}

}  // namespace splitlet::chaos
