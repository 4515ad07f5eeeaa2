#pragma once

/// An API server in memory that keeps the promises of a real one: resource versions, lists in
/// pages, watches with a window and bookmarks, 410, conflicts, patches, status subresources,
/// graceful deletion, tokens, reviews, signing requests. Tests and the program fake-api use it.
/// contract_test.cc compares it with a real API server.
/// Threads: any. An answer that need not wait comes before Begin returns. Watches answer on the
///          thread that made the change.
/// Errors:  the injected ones.
/// Source:  Kubernetes API, concepts; Kubernetes API conventions.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/apiclient/transport.h"
#include "libs/fake_api/authority.h"
#include "libs/fake_api/reviews.h"

namespace splitlet::exec {
class EventLoop;
}
namespace google::protobuf {
class Message;
}

namespace splitlet::fake_api {

class FakeApiServer final : public apiclient::Transport {
 public:
  struct Options {
    uint64_t seed = 1;  // makes uids and tokens
    /// Timers of the loop end watches and hanging requests. Without a loop only the next request
    /// and Tick do so; and without `ticks` a hanging request fails immediately with
    /// DEADLINE_EXCEEDED, as if its time had passed.
    exec::EventLoop* loop = nullptr;  // outlives the server
    bool ticks = false;               // the owner calls Tick now and then
    size_t window = 10'000;           // a watch can start this many changes back
    std::string keep = {};            // file of the journal; empty: a restart forgets all objects
  };
  explicit FakeApiServer(const Clock& clock);
  FakeApiServer(const Clock& clock, Options options);
  ~FakeApiServer() override;

  void Begin(apiclient::Request request, Deadline deadline, Done done) override;
  void BeginStream(apiclient::Request request, Deadline deadline, OnData on_data,
                   Done done) override;
  /// Sends a request as `user`; Begin and BeginStream act as "admin" of the group system:masters.
  struct Listener {
    OnData on_data;  // empty: the whole answer goes to `done`
    Done done;
  };
  void BeginAs(const FakeUser& user, apiclient::Request request, Deadline deadline,
               Listener listener);

  // Changes that a test makes as another client. `path` names an object:
  // "/api/v1/namespaces/a/pods/web". Each function CHECKs that the server accepts the change.
  /// Creates or replaces an object and its namespace. Fields that no user may set are kept too: the
  /// uid (a new uid makes a new object), the status, the time of deletion.
  void Put(const std::string& path, const google::protobuf::Message& object);
  void PutJson(const std::string& path, std::string_view json);
  void Delete(const std::string& path);  // gracefully, as kubectl does
  void Remove(const std::string& path);  // immediately
  bool Has(const std::string& path) const;
  /// False if the object does not exist.
  bool Get(const std::string& path, google::protobuf::Message& into) const;
  std::string GetJson(const std::string& path) const;                  // "": no such object
  std::vector<std::string> List(const std::string& collection) const;  // paths

  // Faults. `method` "" and `prefix` "" match every request.
  struct Fault {
    std::string method, prefix;  // prefix of the path, without query
    int times = -1;              // below 0: until ClearFaults
    int code = 0;                // of the answer; 0: the connection fails; 200: answers `body`
    std::optional<Duration> retry_after = {};
    bool after_effect = false;  // the request takes effect, then its answer is lost
    bool hang = false;          // no answer until the deadline or ClearFaults
    std::string body = {};      // replaces the Status object, as a proxy's answer would
    std::string content_type = "application/json";  // of `body`
  };
  void Inject(Fault fault);
  void ClearFaults();
  /// While away, every request fails; watches end.
  void SetAway(bool away);
  void EndWatches();
  /// Forgets earlier changes: a watch from an older resourceVersion gets 410.
  void Compact();
  void SendBookmarks();

  /// A request by the server's operator: no fault applies, and TakeSeen does not list it. No watch.
  apiclient::Response Serve(const apiclient::Request& request);

  /// A request: "PATCH", "/api/v1/nodes/n1/status", its body.
  struct Seen {
    std::string method, path;  // with query
    std::string content_type, body;
  };
  /// Requests since the last call, oldest first; at most the newest 100,000.
  std::vector<Seen> TakeSeen();
  /// Ends watches past their timeoutSeconds, and hanging requests past their deadline.
  void Tick();

  // Authentication and authorization.
  void AddToken(const std::string& token, const FakeUser& user);
  void RemoveToken(const std::string& token);
  /// Knows tokens of service accounts too.
  std::optional<FakeUser> UserOf(const std::string& token) const;
  /// Access reviews allow what a rule allows; without rules only the group system:masters.
  void Allow(const AccessRule& rule);
  void AllowAll(bool all);
  void ForbidAll();  // forgets the rules
  bool IsAllowed(const FakeUser& user, const Access& access) const;

  // Parts of a cluster beside the API server.
  /// On: approves kubelets' signing requests, and signs approved requests. On at first.
  void SetSigning(bool on);
  /// On: binds a pod without a node if there is exactly one node. Off at first.
  void SetScheduling(bool on);
  /// Puts kube-root-ca.crt into each namespace, existing and new.
  void PublishCa();
  const FakeAuthority& authority() const;
  void SetAuthority(std::unique_ptr<FakeAuthority> authority);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace splitlet::fake_api
