#include "libs/operate/client.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/processes.h"
#include "libs/bus/boot_time.h"
#include "libs/bus/bus.h"
#include "libs/kube/pod_bytes.h"
#include "libs/operate/caller.h"
#include "libs/operate/supervisor.h"
#include "libs/rpc/rpc.h"
#include "libs/rpc/unary.h"
#include "splitlet/v1/services.grpc.pb.h"
#include "splitlet/v1/streams.grpc.pb.h"

namespace splitlet::operate {
namespace {

constexpr Duration kCallLimit = 3s;
constexpr Duration kGcLimit = 120s;
constexpr Duration kDiscardLimit = 15s;
constexpr Duration kStreamLimit = 25s;
constexpr int kLookMs = 50;  // interval of attempts to reach a process that is starting
constexpr const char* kDoesNotAnswer = " does not answer";

/// Name of the file with the number of starts in this boot.
std::string StartsFile(const Layout& layout, const std::string& process) {
  return layout.run_dir + "/" + process + "/starts";
}

struct Callee {
  const Clock& clock;
  const StatusOr<std::shared_ptr<grpc::Channel>>& channel;
  std::string process;
  Duration limit = kCallLimit;
  const char* doing = "";  // text in an error after the name of the process
};

/// Formats the error of a call for a person. PERMISSION_DENIED names the caller.
Status Explain(const Status& status, const std::string& process, const char* doing) {
  if (status.code() == StatusCode::kPermissionDenied) return RefusedBy(process, Message(status));
  return Annotate(status, process + doing);
}

/// Makes a unary call. The reply is on the heap, because the headers here only declare its type.
template <class Service, class Request, class Reply>
StatusOr<std::shared_ptr<Reply>> Call(const Callee& callee,
                                      grpc::Status (Service::Stub::*method)(grpc::ClientContext*,
                                                                            const Request&, Reply*),
                                      const Request& request) {
  if (!callee.channel.ok()) return callee.channel.status();
  const auto stub = Service::NewStub(*callee.channel);
  rpc::ClientCall call(callee.clock, After(callee.clock, callee.limit));
  auto reply = rpc::Unary(call, *stub, method, request);
  if (!reply.ok()) return Explain(reply.status(), callee.process, callee.doing);
  return std::make_shared<Reply>(*std::move(reply));
}

template <class R>
std::shared_ptr<R> Parsed(const Records& records, const std::string& key) {
  const auto found = records.find(key);
  auto record = std::make_shared<R>();
  if (found == records.end() || !record->ParseFromString(found->second)) return nullptr;
  return record;
}

template <class R>
void Name(PodView& view, const std::shared_ptr<R>& record) {
  if (record == nullptr || !view.name.empty()) return;
  view.name = record->name();
  view.name_space = record->namespace_();
}

/// The tables of the node; null if the owner did not answer.
struct Tables {
  std::map<std::string, Records> by_name;
  const Records& Of(const std::string& table) const {
    static const Records none;
    const auto found = by_name.find(table);
    return found == by_name.end() ? none : found->second;
  }
};

/// 0 for a time of another boot.
int64_t WallOf(const v1::BootTime& time, const Clock& clock) {
  const Clock::Time at = bus::FromProto(time), now = clock.Now();
  return at && now.SameBoot(at) ? ToNanos(clock.WallNow() - (now - at)) : 0;
}

PodView MakeView(const std::string& uid, const Tables& tables, const Clock& clock) {
  PodView view;
  view.uid = uid;
  view.desired = Parsed<v1::DesiredRecord>(tables.Of("desired"), uid);
  view.admission = Parsed<v1::AdmissionRecord>(tables.Of("admission"), uid);
  view.worker = Parsed<v1::WorkerRecord>(tables.Of("workers"), uid);
  view.runtime = Parsed<v1::RuntimeRecord>(tables.Of("runtime"), uid);
  const auto status = Parsed<v1::PodStatusRecord>(tables.Of("podstatus"), uid);
  Name(view, view.desired);
  Name(view, status);
  Name(view, view.worker);
  view.pod = std::make_shared<kube::Pod>();
  if (view.desired != nullptr) {
    view.source = view.desired->source();
    view.removed = view.desired->state() == v1::DesiredRecord::REMOVED;
    view.seen_at_wall_ns = view.desired->seen_at_wall_ns();
    if (view.removed) view.removed_at_wall_ns = WallOf(view.desired->put_at(), clock);
    if (auto pod = kube::ParsePod(view.desired->pod()); pod.ok()) *view.pod = *std::move(pod);
  } else {
    view.pod->mutable_metadata()->set_name(view.name);
    view.pod->mutable_metadata()->set_namespace_(view.name_space);
    view.pod->mutable_metadata()->set_uid(uid);
  }
  view.has_status =
      status != nullptr && view.pod->mutable_status()->ParseFromString(status->status());
  return view;
}

/// False for a mirror pod, because its static pod is in the list already.
bool IsShown(const PodView& view) {
  return !view.name.empty() &&
         (view.desired == nullptr || view.desired->state() != v1::DesiredRecord::MIRROR);
}

}  // namespace

Status Client::CheckRuns(const std::string& process) const {
  if (layout_.stopped)
    return Unavailable("the stack in {} is stopped ({} starts it)", layout_.top,
                       layout_.compose ? "docker compose up" : "make run");
  const std::string path = rpc::SocketPath(layout_.run_dir, process);
  const Status listens = rpc::ListenerOf(path).status();
  std::error_code unknown;
  const std::string shown = std::filesystem::absolute(path, unknown).string();
  if (listens.code() == StatusCode::kPermissionDenied)
    return RefusedBy(process, WhoMay(Use::kConnect, path));
  if (listens.code() == StatusCode::kUnavailable)
    return Unavailable("{} does not run (nothing listens on {})", process, shown);
  return listens;
}

Status Client::AwaitListener(const std::string& process) const {
  Status runs = CheckRuns(process);
  const auto is_away = [&runs] { return runs.code() == StatusCode::kUnavailable; };
  if (!is_away() || patience_ == 0s || layout_.stopped) return runs;
  if (!FindSupervisor(layout_)->IsWanted(process)) return runs;
  const Deadline deadline = After(clock_, patience_);
  while (is_away() && Remaining(clock_, deadline) > 0s) {
    poll(nullptr, 0, kLookMs);
    runs = CheckRuns(process);
  }
  return runs;
}

StatusOr<std::shared_ptr<grpc::Channel>> Client::ChannelTo(const std::string& process) const {
  if (Status listens = AwaitListener(process); !listens.ok()) return listens;
  return rpc::Connect(rpc::SocketPath(layout_.run_dir, process));
}

StatusOr<Records> Client::ListTable(const std::string& table, Duration limit) const {
  const std::string owner = bus::OwnerOf(table);
  auto channel = ChannelTo(owner);
  if (!channel.ok()) return channel.status();
  const auto stub = v1::Tables::NewStub(*channel);
  rpc::ClientCall call(clock_, After(clock_, limit));
  v1::ListRequest request;
  request.set_table(table);
  const auto reader = stub->List(&call.context(), request);
  Records records;
  v1::ListItem item;
  while (reader->Read(&item))
    if (item.has_change() && !item.change().removal())
      records[item.change().key()] = item.change().record();
  const grpc::Status status = reader->Finish();
  if (!status.ok()) return Explain(rpc::FromGrpc(status), owner, kDoesNotAnswer);
  return records;
}

NodePods Client::ListPods(Detail detail) const {
  std::vector<std::string> names = {"desired", "podstatus"};
  if (detail == Detail::kAll) names.insert(names.end(), {"workers", "admission", "runtime"});
  std::vector<StatusOr<Records>> answers(names.size(), Unavailable("not asked"));
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < names.size(); ++i)
      threads.emplace_back([this, &answers, &names, i] { answers[i] = ListTable(names[i]); });
  }
  Tables tables;
  NodePods node{.refused = std::ranges::all_of(answers, [](const auto& answer) {
                  return answer.status().code() == StatusCode::kPermissionDenied;
                })};
  for (size_t i = 0; i < names.size(); ++i) {
    if (answers[i].ok())
      tables.by_name[names[i]] = std::move(*answers[i]);
    else
      node.problems.push_back(Message(answers[i].status()));
  }
  std::set<std::string> uids;
  for (const char* table : {"desired", "podstatus", "workers"}) {
    node.listed = node.listed || tables.by_name.contains(table);
    for (const auto& [uid, record] : tables.Of(table)) uids.insert(uid);
  }
  uids.erase("node");
  for (const std::string& uid : uids)
    if (PodView view = MakeView(uid, tables, clock_); IsShown(view))
      node.pods.push_back(std::move(view));
  std::ranges::sort(node.pods, {},
                    [](const PodView& v) { return std::tie(v.name_space, v.name, v.uid); });
  return node;
}

StatusOr<std::shared_ptr<kube::PodStatus>> Client::GetPodStatus(const std::string& uid) const {
  v1::GetPodStatusRequest request;
  request.set_uid(uid);
  const auto record = Call<v1::Status>({clock_, ChannelTo("status"), "status"},
                                       &v1::Status::Stub::GetPodStatus, request);
  if (!record.ok()) return record.status();
  auto status = std::make_shared<kube::PodStatus>();
  if (!status->ParseFromString((*record)->status()))
    return DataLoss("status returned an invalid pod status");
  return status;
}

ProcessView Client::Ask(const std::string& process) const {
  ProcessView view{.name = process};
  std::ifstream starts(StartsFile(layout_, process));
  uint64_t boot = 0, count = 0;
  if (starts >> boot >> count && count > 0) view.restarts = count - 1;
  const Status listens = CheckRuns(process);
  const auto channel =
      listens.ok() ? ChannelTo(process) : StatusOr<std::shared_ptr<grpc::Channel>>(listens);
  auto info = Call<v1::Admin>({clock_, channel, process, kCallLimit, kDoesNotAnswer},
                              &v1::Admin::Stub::GetProcess, v1::GetProcessRequest());
  if (!info.ok()) {
    view.problem = Message(info.status());
    view.refused = info.status().code() == StatusCode::kPermissionDenied;
    view.listens = !view.refused && CheckRuns(process).ok();
    return view;
  }
  view.info = *std::move(info);
  view.info->set_pid(PidHere(view.info->pid(), rpc::SocketPath(layout_.run_dir, process), process));
  return view;
}

std::vector<std::string> Client::ProcessesHere() const {
  std::vector<std::string> names = ProcessNames();
  for (const std::string& name : ClusterProcessNames()) {
    std::error_code unseen;
    if (std::filesystem::exists(StartsFile(layout_, name), unseen)) names.push_back(name);
  }
  return names;
}

std::vector<ProcessView> Client::ListProcesses() const {
  const auto names = ProcessesHere();
  std::vector<ProcessView> views(names.size());
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < names.size(); ++i)
    threads.emplace_back([this, &views, &names, i] { views[i] = Ask(names[i]); });
  threads.clear();
  return views;
}

StatusOr<std::string> Client::GetRuntimeVersion() const {
  const auto health = Call<v1::Pleg>({clock_, ChannelTo("pleg"), "pleg"},
                                     &v1::Pleg::Stub::GetHealth, v1::PlegHealthRequest());
  if (!health.ok()) return health.status();
  if ((*health)->runtime_name().empty()) return std::string();
  return (*health)->runtime_name() + "://" + (*health)->runtime_version();
}

StatusOr<std::shared_ptr<v1::Sources>> Client::GetSources() const {
  return Call<v1::ConfigSource>({clock_, ChannelTo("config-source"), "config-source"},
                                &v1::ConfigSource::Stub::GetSources, v1::GetSourcesRequest());
}

StatusOr<std::shared_ptr<v1::GcReport>> Client::RunGc(bool dry_run) const {
  v1::GcRunRequest request;
  request.set_dry_run(dry_run);
  return Call<v1::Gc>({clock_, ChannelTo("gc"), "gc", kGcLimit}, &v1::Gc::Stub::Run, request);
}

StatusOr<std::vector<std::shared_ptr<v1::EventRecord>>> Client::ListEvents(
    const std::string& uid) const {
  v1::ListEventsRequest request;
  request.set_uid(uid);
  const auto reply = Call<v1::Status>({clock_, ChannelTo("status"), "status"},
                                      &v1::Status::Stub::ListEvents, request);
  if (!reply.ok()) return reply.status();
  std::vector<std::shared_ptr<v1::EventRecord>> events;
  for (const auto& event : (*reply)->events())
    events.push_back(std::make_shared<v1::EventRecord>(event));
  return events;
}

StatusOr<std::shared_ptr<v1::DiscardRecordReply>> Client::DiscardRecord(
    const std::string& process, const std::string& uid) const {
  v1::DiscardRecordRequest request;
  request.set_uid(uid);
  return Call<v1::Admin>({clock_, ChannelTo(process), process, kDiscardLimit},
                         &v1::Admin::Stub::DiscardRecord, request);
}

StatusOr<std::string> Client::SetLogLevel(const std::string& process,
                                          const std::string& level) const {
  v1::SetLogLevelRequest request;
  request.set_level(level);
  const auto reply = Call<v1::Admin>({clock_, ChannelTo(process), process},
                                     &v1::Admin::Stub::SetLogLevel, request);
  if (!reply.ok()) return reply.status();
  return (*reply)->before();
}

StatusOr<std::string> Client::OpenStream(const v1::OpenStreamRequest& request) const {
  const auto reply =
      Call<v1::PodStreams>({clock_, ChannelTo("pod-worker"), "pod-worker", kStreamLimit},
                           &v1::PodStreams::Stub::OpenStream, request);
  if (!reply.ok()) return reply.status();
  return (*reply)->url();
}

StatusOr<std::shared_ptr<v1::FaultList>> Client::ListFaults(const std::string& process) const {
  return Call<v1::Admin>({clock_, ChannelTo(process), process}, &v1::Admin::Stub::ListFaults,
                         v1::ListFaultsRequest());
}

StatusOr<std::shared_ptr<v1::FaultList>> Client::SetFault(const std::string& process,
                                                          const std::string& name,
                                                          const std::string& term,
                                                          Duration limit) const {
  v1::SetFaultRequest request;
  request.set_name(name);
  request.set_term(term);
  return Call<v1::Admin>({clock_, ChannelTo(process), process, limit}, &v1::Admin::Stub::SetFault,
                         request);
}

}  // namespace splitlet::operate
