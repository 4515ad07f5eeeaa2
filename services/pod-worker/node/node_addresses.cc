#include "services/pod-worker/node/node_addresses.h"

#include <fmt/ranges.h>

#include <utility>

#include "libs/bus/names.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr const char* kAddressStrand = "records/node";
constexpr Duration kSaveAgain = 1s;

}  // namespace

void NodeAddresses::OnRead(std::vector<std::string> ips) {
  if (!ips_.empty() || ips.empty()) return;
  ips_ = std::move(ips);
  deps_.on_changed();
}

/// A record that is gone, or names no address, changes nothing.
void NodeAddresses::OnNode() {
  const auto record = deps_.podstatus.Find(bus::kNodeKey);
  if (record == nullptr) return;
  const auto& known = record->node().host_ips();
  std::vector<std::string> ips(known.begin(), known.end());
  if (ips.empty() || ips == ips_) return;
  ips_ = std::move(ips);
  deps_.env.log.Info("addresses of the node",
                     {KV("addresses", fmt::format("{}", fmt::join(ips_, ",")))});
  Save();
  deps_.on_changed();
}

/// One save at a time; a change during a save is in the next one. Containers need not wait for it:
/// the file only spares the next start the wait for status.
void NodeAddresses::Save() {
  changed_ = true;
  if (std::exchange(saving_, true)) return;
  changed_ = false;
  asker_.Ask(
      kAddressStrand, [save = deps_.save, ips = ips_] { return save(ips); },
      [this](const Status& saved) { OnSaved(saved); });
}

void NodeAddresses::OnSaved(const Status& status) {
  const std::string why = status.ok() ? std::string() : std::string(Message(status));
  if (std::exchange(error_, why) != why && !why.empty())
    deps_.env.log.Error("cannot save the node's addresses, will try again", {KV("err", status)});
  if (!status.ok()) {
    asker_.RunAfter(kSaveAgain, [this] {
      saving_ = false;
      Save();
    });
    return;
  }
  saving_ = false;
  if (changed_) Save();
}

}  // namespace splitlet::pod_worker
