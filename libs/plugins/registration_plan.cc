#include "libs/plugins/registration_plan.h"

#include <algorithm>

namespace splitlet::plugins {
namespace {

bool IsDesired(const PluginWorld& world, const PluginSocket& socket) {
  const auto it = world.desired.find(socket.path);
  return it != world.desired.end() && it->second == socket;
}

/// When the socket may be tried; no time: immediately.
Clock::Time DueAt(const PluginWorld& world, const PluginSocket& socket) {
  const auto it = world.failed.find(socket.path);
  return it != world.failed.end() && it->second.socket == socket ? it->second.again_at
                                                                 : Clock::Time{};
}

}  // namespace

PluginActions ComputePluginActions(const PluginWorld& world, Clock::Time now) {
  PluginActions todo;
  for (const auto& [path, socket] : world.running) {
    if (!IsDesired(world, socket)) todo.abandon.push_back(path);
  }
  for (const auto& [path, registered] : world.actual) {
    if (!IsDesired(world, registered.socket)) todo.unregister.push_back(path);
  }
  for (const auto& [path, socket] : world.desired) {
    const auto running = world.running.find(path);
    if (running != world.running.end() && running->second == socket) continue;
    const auto actual = world.actual.find(path);
    if (actual != world.actual.end() && actual->second.socket == socket) continue;
    const Clock::Time due = DueAt(world, socket);
    if (!due || due <= now) {
      todo.begin.push_back(path);
    } else if (!todo.next || due < todo.next) {
      todo.next = due;
    }
  }
  return todo;
}

Duration NextBackoff(Duration last) {
  return last == Duration{0} ? kInitialBackoff : std::min(2 * last, kMaxBackoff);
}

FailedAttempt ComputeFailedAttempt(const FailedAttempt* before, const PluginSocket& socket,
                                   Clock::Time now) {
  const bool again = before != nullptr && before->socket == socket;
  const Duration wait = NextBackoff(again ? before->wait : Duration{0});
  return {.socket = socket, .wait = wait, .again_at = now + wait};
}

bool IsServedElsewhere(const std::map<std::string, RegisteredPlugin>& actual, const Plugin& gone) {
  return std::any_of(actual.begin(), actual.end(), [&](const auto& entry) {
    const Plugin& other = entry.second.plugin;
    return other.socket != gone.socket && other.type == gone.type && other.name == gone.name &&
           other.endpoint == gone.endpoint;
  });
}

}  // namespace splitlet::plugins
