#pragma once

/// A PluginHandler that keeps an endpoint for each name, as a handler of a process does. Its
/// answers may be withheld.
/// Threads: one.
/// Errors:  those that a test sets.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "libs/plugins/plugin_handler.h"

namespace splitlet::plugins {

class FakeHandler final : public PluginHandler {
 public:
  Status Validate(const Plugin& /*plugin*/) override { return validate; }
  void Register(const Plugin& plugin, Done done) override {
    ++registers;
    if (register_error.ok()) endpoints[plugin.name] = plugin.endpoint;
    Answer(register_error, std::move(done));
  }
  void DeRegister(const Plugin& plugin, Done done) override {
    ++de_registers;
    const auto it = endpoints.find(plugin.name);
    const bool current = it != endpoints.end() && it->second == plugin.endpoint;
    if (current && de_register_error.ok()) endpoints.erase(it);
    Answer(de_register_error, std::move(done));
  }
  /// Gives the answers that were withheld.
  void AnswerAll() {
    for (const auto& [status, done] : std::exchange(withheld_, {})) done(status);
  }

  Status validate, register_error, de_register_error;
  bool withholds = false;
  int registers = 0, de_registers = 0;
  std::map<std::string, std::string> endpoints;  // by name

 private:
  void Answer(const Status& status, Done done) {
    if (!withholds) return done(status);
    withheld_.emplace_back(status, std::move(done));
  }
  std::vector<std::pair<Status, Done>> withheld_;
};

}  // namespace splitlet::plugins
