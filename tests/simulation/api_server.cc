#include "tests/simulation/api_server.h"

#include <algorithm>
#include <utility>

#include "k8s.io/api/core/v1/config.pb.h"
#include "libs/base/cancel.h"
#include "libs/kube/defaults.h"
#include "tests/simulation/pod_sorts.h"
#include "tests/simulation/pod_truth.h"
#include "tests/simulation/volume_truth.h"

namespace splitlet::simulation {
namespace {

constexpr int kApiNames = 5;
const std::string kPods = "/api/v1/namespaces/default/pods";

std::string PathOf(const std::string& name) { return kPods + "/" + name; }

/// Commands that hooks.cc knows, as in the manifests of steady pods.
void AddHooks(const std::string& name, k8s::io::api::core::v1::Container& container) {
  container.mutable_lifecycle()->mutable_post_start()->mutable_exec()->add_command("post-start");
  container.mutable_lifecycle()->mutable_pre_stop()->mutable_exec()->add_command("pre-stop");
  auto& probe = *container.mutable_readiness_probe();
  probe.set_period_seconds(5);
  probe.mutable_handler()->mutable_http_get()->set_path("/" + name);
  probe.mutable_handler()->mutable_http_get()->mutable_port()->set_int_val(80);
}

k8s::io::api::core::v1::Volume& AddVolume(const std::string& name, kube::Pod& pod) {
  auto& mount = *pod.mutable_spec()->mutable_containers(0)->add_volume_mounts();
  mount.set_name(name);
  mount.set_mount_path("/" + name);
  auto& volume = *pod.mutable_spec()->add_volumes();
  volume.set_name(name);
  return volume;
}

/// The whole volume, and a part of it.
void AddClaim(const std::string& name, kube::Pod& pod) {
  AddVolume(name, pod).mutable_volume_source()->mutable_persistent_volume_claim()->set_claim_name(
      name);
  auto& part = *pod.mutable_spec()->mutable_containers(0)->add_volume_mounts();
  part.set_name(name);
  part.set_mount_path("/part-of-" + name);
  part.set_sub_path("part");
}

/// A volume, and the claim bound to it.
void PutDisk(const std::string& name, const std::string& source, fake_api::FakeApiServer& server) {
  const std::string claim = "/api/v1/namespaces/default/persistentvolumeclaims/" + name;
  server.PutJson(claim,
                 fmt::format(R"({{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{)"
                             R"("name":"{0}","namespace":"default","uid":"claim-{0}"}},"spec":{{)"
                             R"("volumeName":"{0}"}},"status":{{"phase":"Bound"}}}})",
                             name));
  server.PutJson(
      "/api/v1/persistentvolumes/" + name,
      fmt::format(R"({{"apiVersion":"v1","kind":"PersistentVolume","metadata":{{"name":"{0}"}},)"
                  R"("spec":{{{1},"claimRef":{{"kind":"PersistentVolumeClaim","namespace":)"
                  R"("default","name":"{0}","uid":"claim-{0}"}}}},"status":{{"phase":"Bound"}}}})",
                  name, source));
}

/// Contents that volume_truth.h expects.
void AddVolumes(kube::Pod& pod) {
  AddVolume("scratch", pod).mutable_volume_source()->mutable_empty_dir();
  AddVolume("settings", pod)
      .mutable_volume_source()
      ->mutable_config_map()
      ->mutable_local_object_reference()
      ->set_name("settings");
  AddVolume("login", pod).mutable_volume_source()->mutable_secret()->set_secret_name("login");
  AddVolume("memory", pod).mutable_volume_source()->mutable_empty_dir()->set_medium("Memory");
  AddVolume("all", pod)
      .mutable_volume_source()
      ->mutable_projected()
      ->add_sources()
      ->mutable_config_map()
      ->mutable_local_object_reference()
      ->set_name("settings");
  auto& about = *AddVolume("about", pod).mutable_volume_source()->mutable_downward_api();
  for (const char* path : {"a", "b"}) {
    auto& item = *about.add_items();
    item.set_path(path);
    item.mutable_field_ref()->set_field_path("metadata.labels['turn']");
  }
}

/// The reason that the node is expected to report.
std::string AskTooMuch(kube::Pod& pod, bool of_labels) {
  auto& spec = *pod.mutable_spec();
  if (of_labels) {
    (*spec.mutable_node_selector())["disk"] = "none";
    return "NodeAffinity";
  }
  auto& requests = *spec.mutable_containers(0)->mutable_resources()->mutable_requests();
  requests["cpu"].set_string("100");
  return "OutOfcpu";
}

bool IsTerminal(const std::string& phase) { return phase == "Succeeded" || phase == "Failed"; }

}  // namespace

/// A pending request.
struct ApiServer::Exchange {
  exec::Scheduler::Owner client;
  apiclient::Request request;
  Deadline deadline;
  apiclient::Transport::OnData on_data;  // empty: no stream
  apiclient::Transport::Done done;
  Duration last{0};  // when the newest piece of a stream arrives
};

class ApiServer::Way final : public apiclient::Transport {
 public:
  Way(ApiServer& to, exec::Scheduler::Owner client) : to_(to), client_(client) {}
  void Begin(apiclient::Request request, Deadline deadline, Done done) override {
    BeginStream(std::move(request), std::move(deadline), nullptr, std::move(done));
  }
  void BeginStream(apiclient::Request request, Deadline deadline, OnData on_data,
                   Done done) override {
    to_.Send(std::make_shared<Exchange>(Exchange{.client = client_,
                                                 .request = std::move(request),
                                                 .deadline = std::move(deadline),
                                                 .on_data = std::move(on_data),
                                                 .done = std::move(done)}));
  }

 private:
  ApiServer& to_;
  const exec::Scheduler::Owner client_;
};

ApiServer::ApiServer(Deps deps)
    : deps_(std::move(deps)),
      clock_(deps_.scheduler.clock()),
      random_(deps_.seed),
      loop_(deps_.scheduler, deps_.scheduler.NewOwner("api-server")),
      server_(clock_, {.seed = deps_.seed, .loop = &loop_}) {
  for (const char* name : {"default", "kube-node-lease"})
    server_.PutJson(
        fmt::format("/api/v1/namespaces/{}", name),
        fmt::format(R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}"}}}})",
                    name));
  PutDisk("local", fmt::format(R"("local":{{"path":"{}"}})", kLocalDisk), server_);
  PutDisk("host", fmt::format(R"("hostPath":{{"path":"{}"}})", kHostDisk), server_);
  ChangeObjects();
}

std::unique_ptr<apiclient::Transport> ApiServer::Connect(exec::Scheduler::Owner client) {
  return std::make_unique<Way>(*this, client);
}

apiclient::WaitUntil ApiServer::Waiting() {
  return [&scheduler = deps_.scheduler](Clock::Time until, const std::function<bool()>& done) {
    return scheduler.WaitInStep(until, done);
  };
}

// Requests from the node.

Duration ApiServer::Latency() {
  if (!Chance(slow_ ? 0.5 : 0.1)) return Duration{0};
  return Duration{1ms} * static_cast<int64_t>(random_.Below(slow_ ? 4000 : 50));
}

void ApiServer::Send(const std::shared_ptr<Exchange>& exchange) {
  const Duration there = std::min(Latency(), Remaining(clock_, exchange->deadline));
  if (there <= Duration{0}) return CarryOut(exchange);
  loop_.RunAfter(there, [this, exchange] { CarryOut(exchange); });
}

void ApiServer::CarryOut(const std::shared_ptr<Exchange>& exchange) {
  if (!deps_.scheduler.alive(exchange->client)) return;
  const auto& cancel = exchange->deadline.cancel;
  if (cancel != nullptr && cancel->cancelled()) return exchange->done(Cancelled("given up"));
  if (Remaining(clock_, exchange->deadline) <= Duration{0})
    return exchange->done(DeadlineExceeded("no answer in time"));
  if (exchange->on_data) {
    server_.BeginStream(
        exchange->request, exchange->deadline,
        [this, exchange](std::string_view piece) {
          InOrder(exchange, [exchange, piece = std::string(piece)] { exchange->on_data(piece); });
        },
        [this, exchange](StatusOr<apiclient::Response> answer) {
          const auto kept = std::make_shared<StatusOr<apiclient::Response>>(std::move(answer));
          InOrder(exchange, [exchange, kept] { exchange->done(std::move(*kept)); });
        });
    return;
  }
  server_.Begin(exchange->request, exchange->deadline,
                [this, exchange](StatusOr<apiclient::Response> answer) {
                  Answer(exchange, std::move(answer));
                });
  if (exchange->request.method != "GET" && exchange->request.path.starts_with(kPods))
    Look(/*by_user=*/false);
}

void ApiServer::Answer(const std::shared_ptr<Exchange>& exchange,
                       StatusOr<apiclient::Response> answer) {
  const Duration left = Remaining(clock_, exchange->deadline);
  const Duration back = Latency();
  const bool late = back > left;
  const auto kept = std::make_shared<StatusOr<apiclient::Response>>(
      late ? StatusOr<apiclient::Response>(DeadlineExceeded("no answer in time"))
           : std::move(answer));
  const auto arrive = [this, exchange, kept] {
    if (deps_.scheduler.alive(exchange->client)) exchange->done(std::move(*kept));
  };
  if (back == Duration{0}) return arrive();
  loop_.RunAfter(std::min(back, left), arrive);
}

void ApiServer::InOrder(const std::shared_ptr<Exchange>& exchange, std::function<void()> task) {
  const Duration now = clock_.Now().monotonic;
  exchange->last = std::max(exchange->last, now + Latency());
  loop_.RunAfter(exchange->last - now, [this, exchange, task = std::move(task)] {
    if (deps_.scheduler.alive(exchange->client)) task();
  });
}

// Changes by other clients.

void ApiServer::ChangePods(bool rough) {
  const std::string name = fmt::format("api{}", random_.Below(kApiNames));
  kube::Pod pod;
  if (Chance(0.05)) ChangeObjects();
  if (rough && Chance(0.1)) {
    DeleteMirror(Chance(0.5));
  } else if (!server_.Get(PathOf(name), pod)) {
    Create(name);
  } else if (Chance(0.3)) {
    Change(name);
  } else if (Chance(0.4)) {
    Delete(PathOf(name), pod.metadata().uid(), rough && Chance(0.2));
  }
  Look(/*by_user=*/true);
}

void ApiServer::Create(const std::string& name) {
  using enum SimNode::Wanted::Kind;
  const auto kind = Chance(0.6) ? kSteady : Chance(0.4) ? kCrashing : Chance(0.5) ? kJob : kOnce;
  kube::Pod pod;
  pod.mutable_metadata()->set_name(name);
  pod.mutable_metadata()->set_namespace_("default");
  auto& spec = *pod.mutable_spec();
  spec.set_node_name(deps_.node_name);
  spec.set_restart_policy(kind == kJob ? "OnFailure" : kind == kOnce ? "Never" : "Always");
  spec.set_termination_grace_period_seconds(5);
  auto& container = *spec.add_containers();
  container.set_name(ContainerOf(kind));
  const PodSort sort = SortOf(name);
  container.set_image(sort.pulls ? fmt::format("app:{}", random_.Below(2)) : "busybox:1");
  container.add_command("run");
  if (sort.volumes) AddVolumes(pod);
  if (sort.claims)
    for (const char* disk : {"local", "host"}) AddClaim(disk, pod);
  if (kind == kSteady) AddHooks(name, container);
  if (Chance(0.5)) {
    auto& variable = *container.add_env();
    variable.set_name("SETTING");
    auto& from = *variable.mutable_value_from()->mutable_config_map_key_ref();
    from.mutable_local_object_reference()->set_name("settings");
    from.set_key("a");
  }
  std::string refusal;
  if (Chance(0.15)) {
    refusal = AskTooMuch(pod, Chance(0.5));
  } else if (sort.priority != 0) {
    spec.set_priority(sort.priority);
  }
  CHECK(kube::ApplyDefaults(pod).ok());
  pod.mutable_status()->set_phase("Pending");
  server_.Put(PathOf(name), pod);
  CHECK(server_.Get(PathOf(name), pod));
  const std::string& uid = pod.metadata().uid();
  if (!refusal.empty()) refused_.insert(uid);
  wanted_[uid] = {.name = name, .kind = kind, .refusal = refusal};
}

void ApiServer::ChangeObjects() {
  const std::string value = fmt::format("turn {}", ++turn_);
  k8s::io::api::core::v1::ConfigMap settings;
  settings.mutable_metadata()->set_name("settings");
  settings.mutable_metadata()->set_namespace_("default");
  k8s::io::api::core::v1::Secret login;
  login.mutable_metadata()->set_name("login");
  login.mutable_metadata()->set_namespace_("default");
  login.set_type("Opaque");
  for (const char* key : {"a", "b"}) {
    (*settings.mutable_data())[key] = value;
    (*login.mutable_data())[key] = value;
  }
  server_.Put("/api/v1/namespaces/default/configmaps/settings", settings);
  server_.Put("/api/v1/namespaces/default/secrets/login", login);
}

std::string ApiServer::ShownIn(const std::string& uid, const std::string& volume) const {
  if (!volume.ends_with("/about")) return fmt::format("turn {}", turn_);
  for (const auto& pod : Pods())
    if (pod.metadata().uid() == uid) {
      const auto turn = pod.metadata().labels().find("turn");
      return turn == pod.metadata().labels().end() ? "" : turn->second;
    }
  return {};
}

void ApiServer::NoteReplaced(const std::string& uid) {
  if (const auto pod = wanted_.find(uid); pod != wanted_.end()) pod->second.replaced = true;
}

void ApiServer::NoteEnds() {
  for (auto& [uid, pod] : wanted_) pod.ended = pod.refusal.empty();
}

void ApiServer::Change(const std::string& name) {
  kube::Pod pod;
  CHECK(server_.Get(PathOf(name), pod));
  (*pod.mutable_metadata()->mutable_labels())["turn"] = std::to_string(random_.Below(1000));
  server_.Put(PathOf(name), pod);
}

void ApiServer::Delete(const std::string& path, const std::string& uid, bool rough) {
  rough ? server_.Remove(path) : server_.Delete(path);
  wanted_.erase(uid);
}

void ApiServer::DeleteMirror(bool rough) {
  std::vector<std::string> paths;
  for (const auto& pod : Pods())
    if (kube::IsMirror(pod)) paths.push_back(PathOf(pod.metadata().name()));
  if (!paths.empty()) Delete(paths[random_.Below(paths.size())], "", rough);
}

void ApiServer::Disturb() {
  const char* const kMethods[] = {"", "GET", "PATCH", "POST", "DELETE", "PUT"};
  constexpr int kCodes[] = {0, 409, 410, 429, 500, 503};
  fake_api::FakeApiServer::Fault fault{.method = kMethods[random_.Below(std::size(kMethods))],
                                       .prefix = Chance(0.5) ? "/api/v1/namespaces" : "",
                                       .times = static_cast<int>(1 + random_.Below(20))};
  switch (random_.Below(9)) {
    case 0: server_.SetAway(true); break;
    case 1: slow_ = true; break;
    case 2:
      fault.code = kCodes[random_.Below(std::size(kCodes))];
      if (fault.code == 429 && Chance(0.7)) fault.retry_after = 1s;
      server_.Inject(fault);
      break;
    case 3:
      fault.after_effect = true;
      server_.Inject(fault);
      break;
    case 4:
      fault.hang = true;
      fault.after_effect = Chance(0.5);
      fault.times = static_cast<int>(1 + random_.Below(3));
      server_.Inject(fault);
      break;
    case 5: server_.EndWatches(); break;
    case 6:
      server_.Compact();
      server_.EndWatches();
      break;
    case 7:
      if (const auto node = "/api/v1/nodes/" + deps_.node_name; server_.Has(node))
        server_.Remove(node);
      break;
    case 8:  // the server no longer has the node, and must not continue what the node has begun
      if (Chance(0.5)) server_.EndWatches();
      server_.Inject({.code = 401});
      break;
    default: UNREACHABLE();
  }
  loop_.RunAfter(Duration{1s} * static_cast<int64_t>(1 + random_.Below(40)), [this] { Heal(); });
}

void ApiServer::Heal() {
  slow_ = false;
  server_.SetAway(false);
  server_.ClearFaults();
  for (const auto& fault : broken_) server_.Inject(fault);
  Look(/*by_user=*/false);
  server_.TakeSeen();
}

void ApiServer::Break(const fake_api::FakeApiServer::Fault& fault) {
  broken_.push_back(fault);
  server_.Inject(fault);
}

// Checks of the node's writes.

std::vector<kube::Pod> ApiServer::Pods() const {
  std::vector<kube::Pod> pods;
  for (const auto& path : server_.List(kPods)) {
    kube::Pod pod;
    if (server_.Get(path, pod)) pods.push_back(std::move(pod));
  }
  return pods;
}

ApiServer::Shown ApiServer::ShownOf(const kube::Pod& pod) {
  Shown shown{.name = pod.metadata().name(),
              .phase = pod.status().phase(),
              .reason = pod.status().reason(),
              .mirror = kube::IsMirror(pod),
              .deleting = pod.metadata().has_deletion_timestamp()};
  for (const auto& container : pod.status().container_statuses())
    shown.restarts[container.name()] = container.restart_count();
  return shown;
}

void ApiServer::Look(bool by_user) {
  std::map<std::string, Shown> now;
  for (const auto& pod : Pods()) now[pod.metadata().uid()] = ShownOf(pod);
  for (const auto& [uid, before] : shown_) {
    const auto found = now.find(uid);
    if (found == now.end()) {
      if (!by_user && !before.mirror) NoteGone(uid, before);
      continue;
    }
    // A static pod that is removed and put back is another incarnation under the same mirror pod.
    if (before.mirror) continue;
    const Shown& after = found->second;
    if (IsTerminal(before.phase) && after.phase != before.phase)
      deps_.report(
          fmt::format("the server has {} {} after {}", before.name, after.phase, before.phase));
    if (IsTerminal(before.phase) && !before.reason.empty() && after.reason != before.reason)
      deps_.report(fmt::format("the server has \"{}\" of {} after \"{}\"", after.reason,
                               before.name, before.reason));
    // A refused pod first showed waiting containers, and now shows none.
    if (refused_.contains(uid) || after.reason == "NodeShutdown") continue;
    for (const auto& [container, count] : before.restarts) {
      const auto later = after.restarts.find(container);
      if (later == after.restarts.end() || later->second < count)
        deps_.report(
            fmt::format("the server has lost {} restarts of {}/{}", count, before.name, container));
    }
  }
  shown_ = std::move(now);
}

void ApiServer::NoteGone(const std::string& uid, const Shown& before) {
  if (!before.deleting)
    deps_.report(
        fmt::format("{} is deleted at the server, and nobody has asked it to go", before.name));
  auto& containers = gone_[uid];
  for (const auto& container : deps_.runtime.Containers()) {
    if (ValueOf(container.labels, kube::kPodUidLabel) != uid) continue;
    containers.insert(container.id.str());
    if (container.state == cri::ContainerState::kRunning)
      deps_.report(fmt::format("{} is deleted at the server while {} runs", before.name,
                               container.id.str()));
  }
}

void ApiServer::WatchRuntime() {
  for (const auto& container : deps_.runtime.Containers()) {
    const std::string uid = ValueOf(container.labels, kube::kPodUidLabel);
    if (refused_.contains(uid))
      deps_.report(
          fmt::format("{} is made for {}, which was to be refused", container.id.str(), uid));
    const auto gone = gone_.find(uid);
    if (gone != gone_.end() && !gone->second.contains(container.id.str()))
      deps_.report(fmt::format("{} is made for {}, which was gone from the server",
                               container.id.str(), gone->first));
  }
}

}  // namespace splitlet::simulation
