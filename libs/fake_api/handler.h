#pragma once

/// Answers one request of the fake API server, then acts as the cluster's controllers: service
/// accounts, certificates, binding.
/// Threads: one at a time.
/// Errors:  Status objects in the answers.
/// Source:  Kubernetes API, reference and concepts.

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "libs/base/random.h"
#include "libs/fake_api/authority.h"
#include "libs/fake_api/reviews.h"
#include "libs/fake_api/rules.h"
#include "libs/fake_api/store.h"
#include "libs/fake_api/watches.h"

namespace splitlet::fake_api {

class Handler {
 public:
  using Message = google::protobuf::Message;
  using Request = apiclient::Request;
  using Response = apiclient::Response;
  struct Settings {
    bool signing = true;      // approve kubelets' requests, sign approved requests
    bool scheduling = false;  // bind a pod without a node to the only node
    bool publish_ca = false;  // put the config map kube-root-ca.crt into each namespace
  };
  Handler(const Clock& clock, uint64_t seed, size_t window, Store::OnChange on_change);

  Response Serve(const Request& request, const FakeUser& user);
  /// True: call OpenWatch instead of Serve.
  static bool IsWatch(const Request& request);
  /// The watch contains the frames that are due immediately. A refused watch has `end` set.
  Watches::WatchPtr OpenWatch(const Request& request);

  /// Writes without validation: the server neither fills in nor refuses fields.
  void Put(const Place& place, const Message& object);
  /// False if the object does not exist.
  bool Remove(const Place& place);

  /// Creates what each namespace has from the start.
  void FillNamespace(const std::string& name);

  Store& store() { return store_; }
  Reviews& reviews() { return reviews_; }
  Settings& settings() { return settings_; }
  const FakeAuthority& authority();
  void SetAuthority(std::unique_ptr<FakeAuthority> authority) { authority_ = std::move(authority); }

 private:
  using Query = std::map<std::string, std::string>;
  struct Call {
    const Request& request;
    const FakeUser& user;
    Place place;
    Query query;
    Format format = Format::kJson;
    bool dry_run = false, strict = false;
  };
  static Call MakeCall(const Request& request, const FakeUser& user, Place place);
  RulesContext Rules() { return {clock_.WallNow(), random_}; }

  StatusOr<Response> Dispatch(const Call& call);
  StatusOr<Response> Get(const Call& call);
  StatusOr<Response> List(const Call& call);
  StatusOr<Response> Post(const Call& call);
  StatusOr<Response> Create(const Call& call, std::unique_ptr<Message> object);
  StatusOr<Response> Update(const Call& call);
  StatusOr<Response> Patch(const Call& call);
  StatusOr<Response> Delete(const Call& call);
  StatusOr<Response> DeleteAll(const Call& call);
  StatusOr<Response> Bind(const Call& call);
  StatusOr<Response> Evict(const Call& call);
  StatusOr<Response> MakeToken(const Call& call);

  StatusOr<Object> Existing(const Place& place) const;
  StatusOr<Response> Replace(const Call& call, const Object& before, const Message& given);
  StatusOr<Object> DeleteOne(const Place& place, const DeleteRequest& request, bool dry_run);
  StatusOr<Selector> SelectorOf(const Call& call) const;
  Status CheckNamespace(const Place& place) const;
  Object Write(const Place& place, std::unique_ptr<Message> object);
  void Erase(const Place& place);
  /// Acts as the controllers for an object that was written.
  void React(const Place& place, const Message& object);
  void EnsureNamespace(const std::string& name);
  /// Gives a pod without pull secrets those of its service account, as admission does.
  void AddPullSecrets(const Place& place, Message& object) const;
  void Certify(const Place& place, const Message& object);
  void Schedule(const Place& place, const Message& object);

  const Clock& clock_;
  Random random_;
  Store store_;
  Reviews reviews_;
  Settings settings_;
  std::unique_ptr<FakeAuthority> authority_;  // created at first use
};

/// Parses "limit=500&watch=1" and unescapes its values.
std::map<std::string, std::string> ParseQuery(std::string_view path);

}  // namespace splitlet::fake_api
