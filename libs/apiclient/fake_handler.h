#pragma once

/// How the server in memory answers one request, and what the controllers of a cluster would do
/// after it: accounts of namespaces, certificates, binding.
/// Threads: one at a time.
/// Errors:  as Status objects in the answers.
/// Source:  Kubernetes API, reference and concepts.

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "libs/apiclient/fake_authority.h"
#include "libs/apiclient/fake_reviews.h"
#include "libs/apiclient/fake_rules.h"
#include "libs/apiclient/fake_store.h"
#include "libs/apiclient/fake_watches.h"
#include "libs/base/random.h"

namespace splitlet::apiclient {

class Handler {
 public:
  using Message = google::protobuf::Message;
  struct Settings {
    bool signing = true;      // requests of kubelets are approved; what is approved is signed
    bool scheduling = false;  // a pod without a node is bound to the only one
    bool publish_ca = false;  // each namespace has the config map kube-root-ca.crt
  };
  Handler(const Clock& clock, uint64_t seed, size_t window, Store::OnChange on_change);

  Response Serve(const Request& request, const FakeUser& user);
  /// True: OpenWatch is to be asked.
  static bool IsWatch(const Request& request);
  /// With the frames that are due at once. A watch that cannot be has its end.
  Watches::WatchPtr OpenWatch(const Request& request);

  /// As nobody in particular: also what the server would fill in, or refuse to change.
  void Put(const Place& place, const Message& object);
  /// False: there is none.
  bool Remove(const Place& place);

  /// What each namespace has from the start.
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
  /// What a controller does about an object that was written.
  void React(const Place& place, const Message& object);
  void EnsureNamespace(const std::string& name);
  /// As admission of service accounts has it: a pod without pull secrets gets its account's.
  void AddPullSecrets(const Place& place, Message& object) const;
  void Certify(const Place& place, const Message& object);
  void Schedule(const Place& place, const Message& object);

  const Clock& clock_;
  Random random_;
  Store store_;
  Reviews reviews_;
  Settings settings_;
  std::unique_ptr<FakeAuthority> authority_;  // made when it is first needed
};

/// "limit=500&watch=1", unescaped.
std::map<std::string, std::string> ParseQuery(std::string_view path);

}  // namespace splitlet::apiclient
