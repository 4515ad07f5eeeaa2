#include "services/pod-worker/node/pod_cidr.h"

#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "k8s.io/api/core/v1/node.pb.h"

namespace splitlet::pod_worker {
namespace {

namespace core = k8s::io::api::core::v1;

constexpr Duration kCheckPeriod = 10s;  // a kubelet's round of the node

}  // namespace

std::string PodCidrOf(const kube::Node& node) {
  const auto& all = node.spec().pod_cidrs();
  return all.empty() ? node.spec().pod_cidr() : fmt::format("{}", fmt::join(all, ","));
}

PodCidr::PodCidr(Deps deps, Settings settings)
    : deps_(std::move(deps)), settings_(std::move(settings)), asker_(deps_.loop, deps_.strands) {}

void PodCidr::Start() {
  CHECK(deps_.loop.IsCurrent());
  Want(settings_.configured);
  if (deps_.api != nullptr) StartWatch();
}

void PodCidr::StartWatch() {
  const ApiContext& api = *deps_.api;
  using apiclient::Reflector;
  Reflector::Callbacks callbacks;
  callbacks.on_list = [this](const std::vector<Reflector::Object>& nodes) {
    for (const auto& node : nodes) OnNode(static_cast<const kube::Node&>(*node));
  };
  callbacks.on_event = [this](Reflector::Event event, const Reflector::Object& node) {
    if (event != Reflector::Event::kDeleted) OnNode(static_cast<const kube::Node&>(*node));
  };
  watch_ = std::make_unique<Reflector>(
      WatchDeps(api),
      Reflector::Options{.path = "/api/v1/nodes",
                         .field_selector = "metadata.name=" + settings_.node_name,
                         .content = api.content,
                         .item = &core::Node::default_instance(),
                         .list = &core::NodeList::default_instance(),
                         .strand = "nodes"},
      std::move(callbacks));
  watch_->Start();
}

void PodCidr::OnNode(const kube::Node& node) { Want(PodCidrOf(node)); }

void PodCidr::Want(std::string cidr) {
  if (cidr.empty() || cidr == wanted_) return;
  wanted_ = std::move(cidr);
  if (tick_ == nullptr)
    tick_ = std::make_unique<exec::Periodic>(deps_.loop, kCheckPeriod, [this] { OnTick(); });
  OnTick();
}

void PodCidr::OnTick() {
  if (busy_ || (sent_ == wanted_ && deps_.runtime.Connected())) return;
  busy_ = true;
  asker_.Ask(
      "pod-cidr",
      [&clock = deps_.clock, &runtime = deps_.runtime, cidr = wanted_, limit = settings_.call_limit,
       ending = deps_.ending] {
        return runtime.UpdatePodCidr(cidr, {clock.Now() + limit, ending});
      },
      [this, cidr = wanted_](const Status& status) { OnSent(cidr, status); });
}

void PodCidr::OnSent(const std::string& cidr, const Status& status) {
  busy_ = false;
  if (status.ok()) {
    problem_.clear();
    if (sent_ != cidr)
      deps_.log.Info("pod CIDR updated", {{"originalPodCIDR", sent_}, {"newPodCIDR", cidr}});
    sent_ = cidr;
  } else if (std::string problem = cidr + ToString(status); problem != problem_) {
    deps_.log.Warn("failed to update pod CIDR", {{"podCIDR", cidr}, KV("err", status)});
    problem_ = std::move(problem);
  }
  // Another range has come since.
  if (cidr != wanted_) OnTick();
}

}  // namespace splitlet::pod_worker
