// Required state of a simulated node's API server at rest: each pod without a requested deletion,
// with its true status, and no other pod. One mirror pod for each static pod, the node, its CSINode
// and its lease.

#include <algorithm>

#include "k8s.io/api/coordination/v1/lease.pb.h"
#include "k8s.io/api/core/v1/event.pb.h"
#include "k8s.io/api/core/v1/node.pb.h"
#include "k8s.io/api/storage/v1/storage.pb.h"
#include "libs/bus/typed.h"
#include "libs/csi/csi_node.h"
#include "splitlet/v1/records.pb.h"
#include "tests/simulation/api_server.h"
#include "tests/simulation/node.h"
#include "tests/simulation/pod_truth.h"

namespace splitlet::simulation {
namespace {

using Found = std::vector<std::string>;

/// Limit of a pod's events in the ten minutes of a run. The rate limit of status restarts with each
/// of its starts, about ten in a run. A quiet run has 44 events of a crashing pod.
constexpr int kMaxEvents = 150;

/// The parts of a status that do not depend on the clock.
std::string Shown(const kube::PodStatus& status) {
  std::string text = fmt::format("{} {} {} {}", status.phase(), status.reason(), status.message(),
                                 status.pod_ip());
  std::vector<std::string> conditions;
  for (const auto& condition : status.conditions())
    conditions.push_back(condition.type() + "=" + condition.status());
  std::ranges::sort(conditions);
  for (const auto& condition : conditions) text += " " + condition;
  for (const auto& c : status.container_statuses())
    text += fmt::format("; {} {} {} restarts {} {}{}{} code {}", c.name(), c.container_id(),
                        c.ready() ? "ready" : "not ready", c.restart_count(),
                        c.state().has_running() ? "running" : "",
                        c.state().has_terminated() ? "terminated" : "",
                        c.state().has_waiting() ? c.state().waiting().reason() : "",
                        c.state().terminated().exit_code());
  return text;
}

/// For a pod that the node refused, or ended when the machine shut down.
std::string WrongEnd(const kube::PodStatus& status, const ApiServer::Pod& pod, const Truth& truth) {
  using enum SimNode::Wanted::Kind;
  if (pod.ended && (pod.kind == kJob || pod.kind == kOnce) && status.phase() == "Succeeded")
    return "";
  if (status.phase() != "Failed") return fmt::format("its phase is {}", status.phase());
  const bool known = pod.ended
                         ? status.reason() == "Terminated" || status.reason() == "NodeShutdown"
                         : status.reason() == pod.refusal;
  if (!known) return fmt::format("it has failed for \"{}\"", status.reason());
  return truth.sandbox == nullptr ? "" : "it has a sandbox that is ready";
}

std::string Differs(kube::PodStatus server, const v1::PodStatusRecord& record) {
  kube::PodStatus told;
  if (!told.ParseFromString(record.status())) return "its record cannot be read";
  // Other clients may set it too, and a kubelet keeps it, even when the next incarnation of a
  // static pod lacks it.
  if (constexpr const char* kShared = "DisruptionTarget"; !IsTrue(told, kShared)) {
    auto& conditions = *server.mutable_conditions();
    const auto shared = std::ranges::find_if(
        conditions, [](const auto& condition) { return condition.type() == kShared; });
    if (shared != conditions.end()) conditions.erase(shared);
  }
  const std::string there = Shown(server), here = Shown(told);
  return there == here ? "" : fmt::format("the server has\n    {}\n  and not\n    {}", there, here);
}

}  // namespace

bool SimNode::IsWantedAtServer(const std::string& uid) const {
  return api_ != nullptr && api_->wanted().contains(uid);
}

void SimNode::CheckApiPods(const bus::View<v1::PodStatusRecord>& view, Found& found) const {
  const auto sandboxes = runtime_->Sandboxes();
  const auto containers = runtime_->Containers();
  std::set<std::string> there;
  for (const auto& pod : api_->Pods()) {
    if (kube::IsMirror(pod)) continue;
    const std::string& uid = pod.metadata().uid();
    const auto wanted = api_->wanted().find(uid);
    if (wanted == api_->wanted().end()) {
      found.push_back(
          fmt::format("the server has {} still, which was asked to go", pod.metadata().name()));
      continue;
    }
    there.insert(uid);
    const auto kind = wanted->second.kind;
    const bool over = wanted->second.ended || !wanted->second.refusal.empty();
    const bool steady = kind == Wanted::Kind::kSteady && !over;
    const Truth truth = TruthOf(uid, kind, sandboxes, containers);
    auto wrong =
        over ? WrongEnd(pod.status(), wanted->second, truth) : WrongAboutPod(pod.status(), truth);
    const bool runs =
        truth.newest != nullptr && truth.newest->state == cri::ContainerState::kRunning;
    if (wrong.empty() && steady && !runs) wrong = "it does not run";
    if (wrong.empty() && steady && !wanted->second.replaced && truth.newest->attempt != 0)
      wrong = fmt::format("it is at attempt {} and never ended", truth.newest->attempt);
    const auto record = view.Find(bus::KeyOf(uid));
    if (wrong.empty())
      wrong = record == nullptr ? "`podstatus` does not have it" : Differs(pod.status(), *record);
    if (wrong.empty() && kind == Wanted::Kind::kOnce && !over &&
        !runs_.contains({uid, std::to_string(record->incarnation())}))
      wrong = "it has never run";
    if (!wrong.empty())
      found.push_back(fmt::format("the server's {} ({}): {}", pod.metadata().name(), uid, wrong));
  }
  for (const auto& [uid, pod] : api_->wanted())
    if (!there.contains(uid))
      found.push_back(fmt::format("the server has lost {} ({})", pod.name, uid));
  view.ForEach([&](const std::string&, const auto& record) {
    if (record != nullptr && record->source() == kube::kApiSource &&
        !IsWantedAtServer(record->uid()))
      found.push_back(fmt::format("`podstatus` shows {}, which is gone", record->name()));
  });
}

void SimNode::CheckMirrors(const bus::View<v1::PodStatusRecord>& view, Found& found) const {
  std::map<std::string, kube::Pod> mirrors;
  for (const auto& pod : api_->Pods())
    if (kube::IsMirror(pod)) mirrors[pod.metadata().name()] = pod;
  view.ForEach([&](const std::string&, const auto& record) {
    if (record == nullptr || record->has_node() || !kube::IsStaticSource(record->source())) return;
    const auto mirror = mirrors.find(record->name());
    if (mirror == mirrors.end())
      return found.push_back(fmt::format("{} has no mirror pod", record->name()));
    const kube::Pod pod = std::move(mirror->second);
    mirrors.erase(mirror);
    if (kube::AnnotationOf(pod, kube::kConfigMirror) != record->uid())
      return found.push_back(fmt::format("{} has the mirror pod of another", record->name()));
    const auto wrong = Differs(pod.status(), *record);
    if (!wrong.empty())
      found.push_back(fmt::format("the mirror pod {}: {}", record->name(), wrong));
  });
  for (const auto& [name, pod] : mirrors)
    found.push_back(fmt::format("the mirror pod {} is left behind", name));
}

void SimNode::CheckNodeObject(Found& found) const {
  k8s::io::api::core::v1::Node node;
  if (!api_->server().Get("/api/v1/nodes/sim", node))
    return found.push_back("the server does not have the node");
  const auto& conditions = node.status().conditions();
  if (std::ranges::none_of(conditions, [](const auto& condition) {
        return condition.type() == "Ready" && condition.status() == "True";
      }))
    found.push_back("the server does not have the node as ready");
  csi::CsiNodeObject csi_node;
  if (!api_->server().Get("/apis/storage.k8s.io/v1/csinodes/sim", csi_node))
    return found.push_back("the node has no CSINode");
  if (!csi::IsOwnedBy(csi_node, node.metadata().uid()))
    found.push_back("the CSINode belongs to another Node");
  k8s::io::api::coordination::v1::Lease lease;
  if (!api_->server().Get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/sim",
                          lease))
    return found.push_back("the node has no lease");
  const auto& renewed = lease.spec().renew_time();
  const auto at = WallFromNanos(renewed.seconds() * 1'000'000'000 + renewed.nanos());
  if (clock_.WallNow() - at > 40s) found.push_back("the lease of the node has run out");
}

void SimNode::CheckEvents(Found& found) const {
  const std::string collection = "/api/v1/namespaces/default/events";
  std::map<std::string, int> times;  // by the UID of the object
  for (const auto& path : api_->server().List(collection)) {
    k8s::io::api::core::v1::Event event;
    if (api_->server().Get(path, event)) times[event.involved_object().uid()] += event.count();
  }
  for (const auto& [uid, count] : times)
    if (count > kMaxEvents)
      found.push_back(fmt::format("the server has {} events of {}", count, uid));
}

std::vector<std::string> SimNode::CheckServer(const bus::View<v1::PodStatusRecord>& view) const {
  Found found;
  if (api_ == nullptr) return found;
  CheckApiPods(view, found);
  CheckMirrors(view, found);
  CheckNodeObject(found);
  CheckEvents(found);
  return found;
}

}  // namespace splitlet::simulation
