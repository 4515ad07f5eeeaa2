#pragma once

/// An API server in memory that behaves like a real one: resource versions, lists in pages, watches
/// with a window and bookmarks, 410, conflicts, patches, status subresources, graceful deletion,
/// tokens, reviews, signing requests. Tests and the program fake-api use it. contract_test.cc
/// compares it with a real API server.
/// Threads: any. An answer that is available immediately comes before Begin returns.
///          Watches answer on the thread that made the change.
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
    uint64_t seed = 1;  // seed of uids and tokens
    /// Timers of the loop end watches and hanging requests. Without a loop only the next request
    /// and Tick do so. Without `ticks` too, a hanging request fails immediately with
    /// DEADLINE_EXCEEDED.
    exec::EventLoop* loop = nullptr;  // outlives the server
    bool ticks = false;               // true: the owner calls Tick regularly
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

  // deletes gracefully, as kubectl does
  void Put(const std::string& path, const google::protobuf::Message& object);
  void PutJson(const std::string& path, std::string_view json);
  void Delete(const std::string& path);  // deletes immediately
  void Remove(const std::string& path);  // Returns false if the object does not exist.
  bool Has(const std::string& path) const;
  /// Returns "" if there is no such object.
  bool Get(const std::string& path, google::protobuf::Message& into) const;
  std::string GetJson(const std::string& path) const;                  // "": no such object
  std::vector<std::string> List(const std::string& collection) const;  // paths

  // Injects a fault. `method` "" and `prefix` "" match every request.
  struct Fault {
    std::string method, prefix;  // prefix of the path without query
    int times = -1;              // number of requests; negative: until ClearFaults
    int code = 0;                // code of the answer; 0: the connection fails; 200: answers `body`
    std::optional<Duration> retry_after = {};
    bool after_effect = false;  // true: the request takes effect, then its answer is lost
    bool hang = false;          // true: no answer until the deadline or ClearFaults
    std::string body = {};      // replaces the Status object, like an answer of a proxy
    std::string content_type = "application/json";  // content type of `body`
  };
  void Inject(Fault fault);
  void ClearFaults();
  /// While the server is away, every request fails and watches end.
  void SetAway(bool away);
  void EndWatches();
  /// Forgets earlier changes: a watch from an older resourceVersion gets 410.
  void Compact();
  void SendBookmarks();

  /// A request by the server's operator: faults do not apply, and TakeSeen does not list it. No
  /// watches.
  apiclient::Response Serve(const apiclient::Request& request);

  /// A request: "PATCH", "/api/v1/nodes/n1/status", its body.
  struct Seen {
    std::string method, path;  // path with query
    std::string content_type, body;
  };
  /// Requests since the last call, oldest first; at most the newest 100,000.
  std::vector<Seen> TakeSeen();
  /// Ends watches past their timeoutSeconds, and hanging requests past their deadline.
  void Tick();

  // Authentication and authorization.
  void AddToken(const std::string& token, const FakeUser& user);
  void RemoveToken(const std::string& token);
  /// Accepts tokens of service accounts too.
  std::optional<FakeUser> UserOf(const std::string& token) const;
  /// Access reviews allow requests that match a rule; without rules only those of the group
  /// system:masters.
  void Allow(const AccessRule& rule);
  void AllowAll(bool all);
  void ForbidAll();  // removes all rules
  bool IsAllowed(const FakeUser& user, const Access& access) const;

  // Controllers of a cluster.
  // On: approves kubelets' signing requests, and signs approved requests. Initially on.
  void SetSigning(bool on);
  /// On: binds a pod without a node if there is exactly one node. Initially off.
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
