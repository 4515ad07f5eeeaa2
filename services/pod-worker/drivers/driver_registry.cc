#include "services/pod-worker/drivers/driver_registry.h"

#include <algorithm>
#include <utility>

#include "libs/bus/names.h"
#include "libs/csi/driver_lookup.h"
#include "libs/plugins/answer.h"
#include "services/pod-worker/drivers/driver_rules.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

DriverRegistry::DriverRegistry(Deps deps)
    : deps_(std::move(deps)),
      limit_timers_({.env = deps_.env,
                     .period = deps_.limit_period,
                     .on_due = [this](const std::string& name) { RefreshLimit(name); }}),
      asker_(deps_.env.loop, deps_.env.strands) {}

void DriverRegistry::Start() {
  if (!deps_.has_api_server) return;
  asker_.RunAfter(kSettled, [this] {
    settled_ = true;
    deps_.on_changed();
  });
}

void DriverRegistry::BeginStop() {
  stopping_ = true;
  ending_->Cancel();
}

const plugins::DriverVersion* DriverRegistry::VersionOf(const std::string& name) const {
  const auto it = drivers_.find(name);
  return it == drivers_.end() ? nullptr : &it->second.back().version;
}

Status DriverRegistry::Validate(const plugins::Plugin& plugin) {
  return CheckDriver(plugin, VersionOf(plugin.name));
}

/// Stored before anything is asked: volumes may use the driver from here on, as with a kubelet.
void DriverRegistry::Register(const plugins::Plugin& plugin, Done done) {
  if (stopping_) return done(Cancelled("pod-worker ends"));
  const auto version = ChooseVersion("RegisterPlugin", plugin, VersionOf(plugin.name));
  if (!version.ok()) return done(version.status());
  const auto socket = SocketOf(plugin.endpoint);
  if (!socket.ok()) return done(socket.status());
  // Later than those of an earlier start, so that an old outcome in `podstatus` is not taken for
  // this registration's.
  last_number_ = std::max<int64_t>(last_number_ + 1, deps_.env.clock.Now().monotonic.count());
  const int64_t number = last_number_;
  const Driver calls = deps_.connect(plugin.name, *socket);
  drivers_[plugin.name].push_back({.number = number,
                                   .version = *version,
                                   .endpoint = plugin.endpoint,
                                   .calls = calls,
                                   .done = std::move(done)});
  OnServingChanged(plugin.name);
  calls->BeginGetInfo(
      {deps_.env.clock.Now() + kInfoLimit, ending_},
      plugins::AnswerOnLoop<csi::Answer<csi::NodeInfo>>(
          deps_.env.loop, asker_,
          [this, name = plugin.name, number](const csi::Answer<csi::NodeInfo>& answer) {
            OnNodeInfo(name, number, answer);
          }));
}

DriverRegistry::Registration* DriverRegistry::FindRegistration(const std::string& name,
                                                               int64_t number) {
  const auto it = drivers_.find(name);
  if (it == drivers_.end()) return nullptr;
  const auto found = std::ranges::find(it->second, number, &Registration::number);
  return found == it->second.end() ? nullptr : &*found;
}

void DriverRegistry::OnNodeInfo(const std::string& name, int64_t number,
                                const csi::Answer<csi::NodeInfo>& answer) {
  Registration* const registration = FindRegistration(name, number);
  if (registration == nullptr || stopping_) return;
  if (!answer.status.ok()) return Refuse(name, number, answer.status);
  registration->info = answer.reply;
  registration->state = State::kWaitingForStatus;
  deps_.env.log.Info("CSI driver has described this node",
                     {KV("driver", name), KV("nodeID", answer.reply.node_id),
                      KV("version", registration->version.ToText())});
  if (!deps_.has_api_server) Accept(*registration);
  deps_.on_changed();
  OnLimitPeriods();
}

void DriverRegistry::Accept(Registration& registration) {
  registration.state = State::kRegistered;
  std::exchange(registration.done, nullptr)(OkStatus());
}

/// The answer comes last: it may call Register again.
void DriverRegistry::Refuse(const std::string& name, int64_t number, const Status& why) {
  const Done done = std::exchange(FindRegistration(name, number)->done, nullptr);
  EraseIf(name, [&](const Registration& one) { return one.number == number; });
  done(why);
}

/// An outcome counts for the registration that it names. A registration that has been answered
/// stays: status reports what it cannot write later.
void DriverRegistry::OnNode() {
  if (stopping_) return;
  const auto record = deps_.podstatus.Find(bus::kNodeKey);
  if (record == nullptr) return;
  for (const auto& outcome : record->node().csi_drivers()) {
    const std::string& name = outcome.driver().name();
    Registration* const registration = FindRegistration(name, outcome.driver().registration());
    if (registration == nullptr || registration->state != State::kWaitingForStatus) continue;
    if (outcome.error().empty())
      Accept(*registration);
    else
      Refuse(name, registration->number, Unavailable("{}", outcome.error()));
  }
}

void DriverRegistry::OnLimitPeriods() {
  std::set<std::string> names;
  for (const auto& [name, registrations] : drivers_)
    if (Shown(registrations) != nullptr) names.insert(name);
  limit_timers_.Update(names);
}

/// A driver may take longer than the period, and gets one call at a time.
void DriverRegistry::RefreshLimit(const std::string& name) {
  const auto it = drivers_.find(name);
  const Registration* const shown = it == drivers_.end() ? nullptr : Shown(it->second);
  if (stopping_ || shown == nullptr || !asking_limit_.insert(name).second) return;
  shown->calls->BeginGetInfo(
      {deps_.env.clock.Now() + kInfoLimit, ending_},
      plugins::AnswerOnLoop<csi::Answer<csi::NodeInfo>>(
          deps_.env.loop, asker_,
          [this, name, number = shown->number](const csi::Answer<csi::NodeInfo>& answer) {
            OnLimit(name, number, answer);
          }));
}

/// Only the limit, under the same number: id and topology of a node change with a registration.
void DriverRegistry::OnLimit(const std::string& name, int64_t number,
                             const csi::Answer<csi::NodeInfo>& answer) {
  asking_limit_.erase(name);
  Registration* const registration = FindRegistration(name, number);
  if (registration == nullptr || stopping_) return;
  const std::string error = answer.status.ok() ? "" : ToString(answer.status);
  if (std::exchange(limit_errors_[name], error) != error && !error.empty())
    deps_.env.log.Warn("cannot read the limit of volumes of a CSI driver, will read it again",
                       {KV("driver", name), KV("err", answer.status)});
  if (!answer.status.ok()) return;
  if (std::exchange(registration->info.max_volumes, answer.reply.max_volumes) !=
      answer.reply.max_volumes)
    deps_.on_changed();
}

/// By endpoint, since the name may belong to another version already.
void DriverRegistry::DeRegister(const plugins::Plugin& plugin, Done done) {
  EraseIf(plugin.name, [&](const Registration& one) { return one.endpoint == plugin.endpoint; });
  done(OkStatus());
}

void DriverRegistry::EraseIf(const std::string& name,
                             const std::function<bool(const Registration&)>& gone) {
  const auto it = drivers_.find(name);
  if (it == drivers_.end()) return;
  const int64_t served = it->second.back().number;
  if (std::erase_if(it->second, gone) == 0) return;
  const bool changed = it->second.empty() || it->second.back().number != served;
  if (it->second.empty()) {
    drivers_.erase(it);
    limit_errors_.erase(name);
  }
  deps_.on_changed();
  OnLimitPeriods();
  if (changed) OnServingChanged(name);
}

void DriverRegistry::OnServingChanged(const std::string& name) const {
  for (const auto& f : on_serving_) f(name);
}

StatusOr<DriverRegistry::Driver> DriverRegistry::Find(const std::string& name) const {
  const auto it = drivers_.find(name);
  if (it == drivers_.end()) return csi::NoDriver(name);
  return it->second.back().calls;
}

/// The newest registration whose info is known: the version that it replaces stays in the record
/// until then, so that the CSINode does not lose the driver in between.
const DriverRegistry::Registration* DriverRegistry::Shown(const Registrations& registrations) {
  const auto shown =
      std::ranges::find_if(registrations.rbegin(), registrations.rend(),
                           [](const auto& one) { return one.state != State::kAskingNodeInfo; });
  return shown == registrations.rend() ? nullptr : &*shown;
}

void DriverRegistry::FillNode(v1::WorkerNode& node) const {
  node.clear_csi_drivers();
  node.set_csi_drivers_known(settled_);
  for (const auto& [name, registrations] : drivers_) {
    const Registration* const shown = Shown(registrations);
    if (shown == nullptr) continue;
    v1::CsiDriver& driver = *node.add_csi_drivers();
    driver.set_name(name);
    driver.set_node_id(shown->info.node_id);
    driver.mutable_topology()->insert(shown->info.topology.begin(), shown->info.topology.end());
    driver.set_max_volumes(shown->info.max_volumes);
    driver.set_registration(shown->number);
  }
}

}  // namespace splitlet::pod_worker
