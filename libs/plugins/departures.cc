#include "libs/plugins/departures.h"

#include <utility>

#include "libs/plugins/answer.h"
#include "libs/plugins/registration_plan.h"

namespace splitlet::plugins {

Departures::Departures(const exec::Env& env, Duration limit,
                       std::function<void(const Plugin&)> on_gone)
    : env_(env), limit_(limit), on_gone_(std::move(on_gone)), asker_(env.loop, env.strands) {}

void Departures::Add(const Plugin& plugin, PluginHandler& handler) {
  const Key key = KeyOf(plugin);
  if (leaving_.size() >= kMost && !leaving_.contains(key)) {
    env_.log.Error("too many plugins wait to be de-registered, leaving one registered",
                   {KV("plugin", plugin.name), KV("endpoint", plugin.endpoint)});
    return;
  }
  Withdraw(plugin);
  Leaving& leaving = leaving_[key];
  leaving = {.plugin = plugin, .handler = &handler};
  Call(key, leaving);
}

void Departures::Withdraw(const Plugin& plugin) {
  const auto it = leaving_.find(KeyOf(plugin));
  if (it == leaving_.end()) return;
  env_.loop.CancelTimer(it->second.timer);
  leaving_.erase(it);
}

void Departures::Call(const Key& key, Leaving& leaving) {
  const uint64_t call = leaving.call = ++last_call_;
  const auto answer = AnswerOnLoop<Status>(
      env_.loop, asker_,
      [this, key, call](const Status& status) { OnDeRegistered(key, call, status); });
  leaving.timer = asker_.RunAfter(limit_, [this, key, call] {
    OnDeRegistered(key, call, DeadlineExceeded("no answer of its handler"));
  });
  leaving.handler->DeRegister(leaving.plugin, [answer](const Status& status) { answer(status); });
}

void Departures::OnDeRegistered(const Key& key, uint64_t call, const Status& status) {
  const auto it = leaving_.find(key);
  if (it == leaving_.end() || it->second.call != call) return;
  Leaving& leaving = it->second;
  env_.loop.CancelTimer(leaving.timer);
  if (status.ok()) {
    const Plugin gone = leaving.plugin;
    leaving_.erase(it);
    return on_gone_(gone);
  }
  leaving.call = 0;
  leaving.wait = NextBackoff(leaving.wait);
  const std::string error = ToString(status);
  if (std::exchange(leaving.error, error) != error) {
    auto fields = FieldsOf(leaving.plugin);
    fields.push_back(KV("err", status));
    fields.push_back(KV("retryInMs", leaving.wait / 1ms));
    env_.log.Warn("cannot de-register the plugin, will try again", fields);
  }
  leaving.timer = asker_.RunAfter(leaving.wait, [this, key] {
    const auto again = leaving_.find(key);
    if (again != leaving_.end()) Call(key, again->second);
  });
}

}  // namespace splitlet::plugins
