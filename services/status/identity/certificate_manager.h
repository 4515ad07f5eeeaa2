#pragma once

/// Keeps one certificate of this node valid: requests it, waits until it is signed, saves it, and
/// requests the next one in time.
/// In:      the certificate on disk; answers of the API server; the wall clock, read every minute;
///          SetNames.
/// Owns:    the certificate, the time of its replacement, the running request.
/// Out:     files of CertificateStore; objects CertificateSigningRequest; callbacks.
/// Killed:  with a kept key the next start continues its own request; without one it makes a new
///          request.
/// Threads: the loop's; calls and files use a strand of their own.
/// Errors:  none leave it; trouble() says why there is no certificate yet.
/// Source:  client-go util/certificate, certificate manager; docs/behaviour/configuration.md.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "libs/apiclient/transport.h"
#include "libs/base/cancel.h"
#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/exec/work_queue.h"
#include "services/status/identity/certificate_store.h"
#include "services/status/identity/signing_request.h"

namespace splitlet::status {

/// A request that is not signed within this time is replaced by a new one.
inline constexpr Duration kSigningPatience = std::chrono::minutes{15};

class CertificateManager {
 public:
  enum class State {
    kIdle,     // the certificate needs no replacement yet
    kAsking,   // the request is being created
    kWaiting,  // the request waits for its signature
    kPausing,  // an attempt failed, the next one starts later
  };
  struct Deps {
    exec::Env env;
    fs::FileSystem& files;
    Random& random;
    std::function<apiclient::Transport*()> transport;  // of the next call; null: none yet
  };
  struct Options {
    std::string purpose;  // "client", "server": names the strand, and the certificate in logs
    CertificateStore::Options store;
    CertificateWish wish;
    bool rotate = false;         // replace it before it expires, not only after
    bool keep_key = false;       // save the key of a request while there is no certificate
    bool needs_address = false;  // request nothing before the node has an address
  };
  struct Callbacks {
    std::function<void()> on_saved;                  // a new certificate is saved
    std::function<void(Duration used)> on_replaced;  // how long the last certificate was in use
    std::function<void()> on_failure;                // an attempt ended without a certificate
  };

  CertificateManager(Deps deps, Options options, Callbacks callbacks);
  ~CertificateManager();
  CertificateManager(const CertificateManager&) = delete;
  CertificateManager& operator=(const CertificateManager&) = delete;

  /// `certificate`: the one on disk. `replace`: use it only to request another one.
  void Start(std::optional<x509::Certificate> certificate, bool replace);
  void SetNames(x509::Names names);
  void BeginStop();

  const std::optional<x509::Certificate>& certificate() const { return certificate_; }
  /// There is a certificate, and it has not expired.
  bool usable() const;
  State state() const { return state_; }
  const std::string& trouble() const { return trouble_; }

 private:
  struct Asked {
    std::string name, uid, key;
  };
  /// Answer of one poll for the signed certificate.
  struct Polled {
    Judgement::Outcome outcome = Judgement::Outcome::kWaiting;
    Status trouble;
    std::optional<x509::Certificate> saved;
  };
  using AskedBefore = std::shared_ptr<const Asked>;

  StatusOr<Asked> Ask(apiclient::Transport& transport, const CertificateWish& wish, bool keep_key);
  StatusOr<SigningRequest> Adopt(apiclient::Transport& transport, const CertificateWish& wish,
                                 const SigningRequest& ours);
  StatusOr<SigningRequest> Read(apiclient::Transport& transport, const Asked& asked);
  Polled PollAndSave(apiclient::Transport& transport, const Asked& asked);

  Deadline CallDeadline() const;
  void Check();
  void BeginAsking(const std::string& why);
  void OnAsked(uint64_t attempt, StatusOr<Asked> asked);
  void Poll();
  void OnPolled(uint64_t attempt, const Polled& polled);
  void OnSaved(const x509::Certificate& certificate);
  void Fail(const Status& why, bool drop_key);
  void PlanRotation();
  void Arm(Duration delay, void (CertificateManager::*what)());
  std::string Strand() const { return "certificate-" + options_.purpose; }

  Deps deps_;
  Options options_;
  Callbacks callbacks_;
  CertificateStore store_;
  std::shared_ptr<CancelToken> stop_ = std::make_shared<CancelToken>();
  exec::Backoff backoff_;
  State state_ = State::kIdle;
  std::optional<x509::Certificate> certificate_;
  WallTime replace_at_;
  bool replace_now_ = false;
  Clock::Time held_back_until_;  // no time: a request may start now
  uint64_t attempt_ = 0;         // answers to earlier attempts are dropped
  Clock::Time asked_at_;
  AskedBefore asked_;
  Duration poll_period_{0};
  std::string trouble_, logged_trouble_;
  exec::TimerId timer_ = 0;
};

}  // namespace splitlet::status
