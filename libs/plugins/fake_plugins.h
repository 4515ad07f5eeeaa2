#pragma once

/// Plugins behind sockets, on virtual time: a RegistrationClient for tests. Passes the contract
/// test of the real one.
/// Threads: one.
/// Errors:  those that a test sets.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/exec/fake_exec.h"
#include "libs/plugins/registration_client.h"

namespace splitlet::plugins {

class FakePlugins final : public RegistrationClient {
 public:
  struct Behaviour {
    Plugin info;
    Status dial, get_info, notify;  // errors of these calls
    Duration takes{0};              // time of GetInfo
    bool hangs = false;             // GetInfo has no answer
    /// Set: a later socket that stands there now.
    std::optional<PluginSocket> replaced_by = std::nullopt;
  };
  struct Seen {
    int dials = 0, infos = 0;
    std::vector<Status> reports;  // OK: registered
    int open = 0;                 // connections
  };
  FakePlugins(const Clock& clock, exec::FakeLoop& loop) : clock_(clock), loop_(loop) {}

  Behaviour& At(const std::string& socket) { return plugins_[socket]; }
  Seen& SeenBy(const std::string& socket) { return seen_[socket]; }

  StatusOr<Connection> Dial(const PluginSocket& socket) override {
    ++seen_[socket.path].dials;
    const auto it = plugins_.find(socket.path);
    if (it == plugins_.end()) return NotFound("no such file or directory");
    if (!it->second.dial.ok()) return it->second.dial;
    if (it->second.replaced_by.value_or(socket) != socket)
      return Aborted("another socket has taken its place");
    return std::make_shared<FakeConnection>(*this, socket.path);
  }

 private:
  class FakeConnection final : public PluginConnection {
   public:
    FakeConnection(FakePlugins& plugins, std::string path)
        : plugins_(plugins), path_(std::move(path)) {
      ++plugins_.seen_[path_].open;
    }
    ~FakeConnection() override { --plugins_.seen_[path_].open; }

    void BeginGetInfo(const Deadline& deadline, OnInfo done) override {
      ++plugins_.seen_[path_].infos;
      const Behaviour& plugin = plugins_.plugins_[path_];
      const Duration left = Remaining(plugins_.clock_, deadline);
      const bool late = plugin.hangs || plugin.takes > left;
      StatusOr<Plugin> info = plugin.info;
      if (!plugin.get_info.ok()) info = plugin.get_info;
      if (late) info = DeadlineExceeded("Deadline Exceeded");
      Answer(late ? left : plugin.takes, [done, info](bool closed) {
        done(closed ? StatusOr<Plugin>(Cancelled("CANCELLED")) : info);
      });
    }
    void BeginNotify(const Status& outcome, const Deadline& /*deadline*/,
                     OnNotified done) override {
      const Status answer = plugins_.plugins_[path_].notify;
      if (answer.ok()) plugins_.seen_[path_].reports.push_back(outcome);
      Answer(Duration{0},
             [done, answer](bool closed) { done(closed ? Cancelled("CANCELLED") : answer); });
    }

   private:
    void Answer(Duration after, std::function<void(bool closed)> done) {
      plugins_.loop_.RunAfter(after, [alive = std::weak_ptr(alive_), done = std::move(done)] {
        done(alive.expired());
      });
    }
    FakePlugins& plugins_;
    const std::string path_;
    const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
  };

  const Clock& clock_;
  exec::FakeLoop& loop_;
  std::map<std::string, Behaviour> plugins_;
  std::map<std::string, Seen> seen_;
};

}  // namespace splitlet::plugins
