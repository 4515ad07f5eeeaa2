#pragma once

/// Credentials of a plugin program, kept until they expire or the server refuses them.
/// Threads: one, which blocks while the program runs; GiveUp from any.
/// Errors:  UNAUTHENTICATED with the install hint; kept for ten seconds, so that a failing plugin
///          does not run for each request. No error shows output of the plugin.
/// Source:  docs/behaviour/api-client.md, "Credentials"; client-go credential plugins.

#include <memory>
#include <optional>
#include <string>

#include "libs/apiclient/client_metrics.h"
#include "libs/apiclient/kubeconfig.h"
#include "libs/base/cancel.h"
#include "libs/base/clock.h"
#include "libs/process/run_program.h"
#include "libs/x509/certificate.h"

namespace splitlet::apiclient {

struct PluginAnswer {
  std::string token;
  std::string certificate, key;  // PEM
};

class PluginCredentials {
 public:
  struct Deps {
    const Clock& clock;
    process::ProgramRunner run;
    std::shared_ptr<PluginMetrics> metrics;  // null: none
  };
  explicit PluginCredentials(Deps deps) : deps_(std::move(deps)) {}

  /// `ca`: PEM of the cluster's CA. `again`: the server refused the kept credentials.
  StatusOr<PluginAnswer> Get(const ClientConfig& config, const std::string& ca, bool again);
  /// Drops the kept credentials: the kubeconfig names another plugin or none.
  void Forget();
  void GiveUp() { stop_.Cancel(); }

 private:
  struct Kept {
    StatusOr<PluginAnswer> answer;
    Clock::Time since;
    std::optional<WallTime> expires;  // none: never
  };
  bool IsGood() const;
  Kept Run(const ClientConfig& config, const std::string& ca);
  StatusOr<Kept> Ask(const ClientConfig& config, const std::string& ca);
  StatusOr<std::string> RunCounted(process::Program program);
  void NoteCertificate(const StatusOr<PluginAnswer>& answer);

  const Deps deps_;
  CancelToken stop_;
  std::optional<Kept> kept_;
  std::optional<x509::Certificate> certificate_;  // from the last answer
};

}  // namespace splitlet::apiclient
