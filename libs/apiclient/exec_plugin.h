#pragma once

/// Credentials that a program says, kept until they expire or the server refuses them.
/// Threads: one, which blocks while the program runs; GiveUp from any.
/// Errors:  UNAUTHENTICATED with the install hint; kept for ten seconds, so that a plugin that
///          fails is not run for each request. Nothing that it prints stands in them.
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

  /// `ca`: the PEM of the cluster. `again`: what is kept was refused.
  StatusOr<PluginAnswer> Get(const ClientConfig& config, const std::string& ca, bool again);
  /// Another plugin is meant from now on, or none.
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
  std::optional<x509::Certificate> certificate_;  // the last that was given
};

}  // namespace splitlet::apiclient
