#include "libs/plugins/plugin_registry.h"

#include <set>
#include <utility>

#include "libs/base/text.h"
#include "libs/plugins/answer.h"
#include "libs/plugins/registration_errors.h"

namespace splitlet::plugins {

PluginRegistry::PluginRegistry(Deps deps)
    : deps_(std::move(deps)),
      env_(deps_.env),
      metrics_(env_.metrics),
      watch_({.env = env_,
              .files = deps_.files,
              .make_watcher = deps_.make_watcher,
              .directory = deps_.directory,
              .on_found = [this](const FoundSockets& found) { OnFound(found); }}),
      departures_(env_, deps_.limits.de_registration,
                  [this](const Plugin& plugin) { OnGone(plugin); }),
      asker_(env_.loop, env_.strands) {}

std::vector<Plugin> PluginRegistry::GetPlugins() const {
  std::vector<Plugin> plugins;
  for (const auto& [path, registered] : actual_) plugins.push_back(registered.plugin);
  return plugins;
}

void PluginRegistry::OnFound(const FoundSockets& found) {
  std::erase_if(failed_, [&](const auto& entry) { return !found.sockets.contains(entry.first); });
  std::erase_if(failures_, [&](const auto& entry) { return !failed_.contains(entry.first); });
  Reconcile();
}

void PluginRegistry::Reconcile() {
  std::map<std::string, PluginSocket> running;
  for (const auto& [path, attempt] : attempts_) running[path] = attempt.socket;
  const auto& desired = watch_.found().sockets;
  const PluginActions todo = ComputePluginActions(
      {.desired = desired, .actual = actual_, .running = running, .failed = failed_},
      env_.clock.Now());
  for (const auto& path : todo.abandon) Abandon(path);
  for (const auto& path : todo.unregister) Unregister(path, "its socket is gone or new");
  for (const auto& path : todo.begin) Begin(desired.at(path));
  env_.loop.CancelTimer(std::exchange(due_, 0));
  if (todo.next) due_ = asker_.RunAfter(todo.next - env_.clock.Now(), [this] { Reconcile(); });
  SetMetrics();
}

/// The end of the connection cancels its calls; a handler's answer finds no attempt.
void PluginRegistry::Abandon(const std::string& path) {
  const auto it = attempts_.find(path);
  env_.loop.CancelTimer(it->second.timer);
  attempts_.erase(it);
}

void PluginRegistry::Unregister(const std::string& path, std::string_view reason) {
  const auto it = actual_.find(path);
  const Plugin plugin = it->second.plugin;
  actual_.erase(it);
  const bool served = IsServedElsewhere(actual_, plugin);
  auto fields = FieldsOf(plugin);
  fields.push_back(KV("reason", reason));
  env_.log.Info(
      served ? "plugin is registered at another socket, keeping it" : "de-registering the plugin",
      fields);
  if (!served) departures_.Add(plugin, *deps_.handlers.at(plugin.type));
}

void PluginRegistry::Begin(const PluginSocket& socket) {
  const AttemptId id{socket.path, ++last_attempt_};
  Attempt& attempt = attempts_[socket.path];
  attempt.id = id.id;
  attempt.socket = socket;
  const std::string strand = "plugins/dial/" + socket.path;
  attempt.timer = asker_.RunAfter(deps_.limits.dial, [this, id] {
    OnDialed(id, DeadlineExceeded("the file system does not answer"));
  });
  // A dial that hangs keeps its strand; its attempts end by their timer.
  if (env_.strands.Pending(strand) > 1) return;
  asker_.Ask(
      strand, [&client = deps_.client, socket] { return client.Dial(socket); },
      [this, id](Connected connection) { OnDialed(id, std::move(connection)); });
}

PluginRegistry::Attempt* PluginRegistry::Find(const AttemptId& id, AttemptState state) {
  const auto it = attempts_.find(id.path);
  const bool found = it != attempts_.end() && it->second.id == id.id && it->second.state == state;
  if (!found) return nullptr;
  env_.loop.CancelTimer(std::exchange(it->second.timer, 0));
  return &it->second;
}

void PluginRegistry::OnDialed(const AttemptId& id, Connected connection) {
  Attempt* const attempt = Find(id, AttemptState::kDialing);
  if (attempt == nullptr) return;
  if (!connection.ok()) return Fail(*attempt, DialFailed(id.path, connection.status()));
  attempt->connection = *std::move(connection);
  attempt->state = AttemptState::kAsking;
  attempt->connection->BeginGetInfo(
      After(env_.clock, deps_.limits.get_info),
      AnswerOnLoop<StatusOr<Plugin>>(
          env_.loop, asker_, [this, id](StatusOr<Plugin> info) { OnInfo(id, std::move(info)); }));
}

void PluginRegistry::OnInfo(const AttemptId& id, StatusOr<Plugin> info) {
  Attempt* const attempt = Find(id, AttemptState::kAsking);
  if (attempt == nullptr) return;
  if (!info.ok()) return Fail(*attempt, GetInfoFailed(id.path, info.status()));
  attempt->plugin = *std::move(info);
  attempt->plugin.socket = id.path;
  if (attempt->plugin.endpoint.empty()) attempt->plugin.endpoint = id.path;
  const Status valid = Validate(attempt->plugin);
  if (!valid.ok()) return Report(*attempt, valid);
  Register(*attempt);
}

Status PluginRegistry::Validate(const Plugin& plugin) const {
  const auto handler = deps_.handlers.find(plugin.type);
  if (handler == deps_.handlers.end())
    return NoHandler(plugin.socket, ToText(plugin.type, kMaxPluginName));
  const Status checked = CheckPlugin(plugin);
  if (!checked.ok()) return ValidationFailed(checked);
  const Status valid = handler->second->Validate(plugin);
  return valid.ok() ? valid : ValidationFailed(valid);
}

/// Recorded before the handler is called: a removal during the registration is de-registered.
void PluginRegistry::Register(Attempt& attempt) {
  const AttemptId id{attempt.socket.path, attempt.id};
  attempt.state = AttemptState::kRegistering;
  actual_[id.path] = {.socket = attempt.socket, .plugin = attempt.plugin};
  departures_.Withdraw(attempt.plugin);
  if (deps_.limits.registration)
    attempt.timer = asker_.RunAfter(*deps_.limits.registration, [this, id] {
      OnRegistered(id, DeadlineExceeded("no answer of its handler"), false);
    });
  const auto answer = AnswerOnLoop<Status>(env_.loop, asker_, [this, id](const Status& registered) {
    OnRegistered(id, registered, true);
  });
  SetMetrics();
  deps_.handlers.at(attempt.plugin.type)
      ->Register(attempt.plugin, [answer](const Status& registered) { answer(registered); });
}

/// A handler that has not answered may still take the plugin, so it is called to give it up.
void PluginRegistry::OnRegistered(const AttemptId& id, const Status& registered, bool answered) {
  Attempt* const attempt = Find(id, AttemptState::kRegistering);
  if (attempt == nullptr) return;
  if (!registered.ok() && answered) actual_.erase(id.path);
  if (!registered.ok() && !answered) Unregister(id.path, "its handler does not answer");
  Report(*attempt, registered.ok() ? registered : RegistrationFailed(registered));
}

void PluginRegistry::Report(Attempt& attempt, const Status& outcome) {
  const AttemptId id{attempt.socket.path, attempt.id};
  attempt.state = AttemptState::kReporting;
  attempt.outcome = outcome;
  attempt.connection->BeginNotify(
      outcome, After(env_.clock, deps_.limits.notify),
      AnswerOnLoop<Status>(env_.loop, asker_,
                           [this, id](const Status& reported) { OnReported(id, reported); }));
  SetMetrics();
}

/// A plugin that was not registered has its answer, or will find out: the reason is the outcome.
void PluginRegistry::OnReported(const AttemptId& id, const Status& reported) {
  Attempt* const attempt = Find(id, AttemptState::kReporting);
  if (attempt == nullptr) return;
  if (!attempt->outcome.ok()) return Fail(*attempt, attempt->outcome);
  if (!reported.ok()) {
    Unregister(id.path, "it cannot be notified");
    return Fail(*attempt, ReportFailed(id.path, reported));
  }
  env_.log.Info("plugin registered", FieldsOf(attempt->plugin));
  failed_.erase(id.path);
  failures_.erase(id.path);
  attempts_.erase(id.path);
}

/// Another socket of the plugin may have been refused because the plugin was registered. The socket
/// that is gone keeps its pause: it was de-registered because of its own failure.
void PluginRegistry::OnGone(const Plugin& plugin) {
  env_.log.Info("plugin de-registered", FieldsOf(plugin));
  for (const auto& [path, failure] : failures_)
    if (failure.plugin == plugin.name && path != plugin.socket)
      failed_.at(path).again_at = env_.clock.Now();
  Reconcile();
}

void PluginRegistry::Fail(const Attempt& attempt, const Status& error) {
  const std::string path = attempt.socket.path;
  const auto before = failed_.find(path);
  const FailedAttempt failed = ComputeFailedAttempt(
      before == failed_.end() ? nullptr : &before->second, attempt.socket, env_.clock.Now());
  failed_[path] = failed;
  Failure& failure = failures_[path];
  failure.plugin = ToText(attempt.plugin.name, kMaxPluginName);
  const std::string text = ToString(error);
  if (std::exchange(failure.error, text) != text)
    env_.log.Warn("cannot register the plugin, will try again",
                  {KV("socketPath", path), KV("plugin", failure.plugin), KV("err", error),
                   KV("retryInMs", failed.wait / 1ms)});
  attempts_.erase(path);
  Reconcile();
}

void PluginRegistry::SetMetrics() {
  std::set<std::string> desired, actual;
  for (const auto& [path, socket] : watch_.found().sockets) desired.insert(path);
  for (const auto& [path, registered] : actual_) actual.insert(path);
  metrics_.Set(desired, actual);
}

}  // namespace splitlet::plugins
