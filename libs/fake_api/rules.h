#pragma once

/// Rules of the fake API server for creation, update and deletion: system fields, defaults, fields
/// that a subresource may change, graceful deletion.
/// Threads: pure functions, any.
/// Errors: ABORTED: conflict; FAILED_PRECONDITION: validation refuses the object.
/// Source: Kubernetes API conventions, "Metadata", "Spec and Status"; Kubernetes API, "Pod
///         Lifecycle", "Finalizers".

#include <memory>

#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/fake_api/objects.h"

namespace splitlet::fake_api {

struct RulesContext {
  WallTime now;
  Random& random;
};

/// Fills in the server's fields, including the name.
Status PrepareCreate(const Place& place, google::protobuf::Message& object,
                     const RulesContext& context);

/// The object to store when `given`, a PUT's body or a patch's result, replaces `before`.
StatusOr<std::unique_ptr<google::protobuf::Message>> PrepareUpdate(
    const Place& place, const google::protobuf::Message& before,
    const google::protobuf::Message& given);

struct DeleteRequest {
  std::optional<int64_t> grace_period_seconds;
  std::string uid, resource_version;  // preconditions; "": no condition
};
struct Deletion {
  bool remove = false;
  std::unique_ptr<google::protobuf::Message> updated;  // nullptr: the object stays unchanged
};
StatusOr<Deletion> PrepareDelete(const Place& place, const google::protobuf::Message& before,
                                 const DeleteRequest& request, WallTime now);

/// True if an update removed the last finalizer of an object that is being deleted.
bool EndsWithUpdate(const google::protobuf::Message& object);

std::string MakeUid(Random& random);
/// The random suffix after generateName.
std::string MakeSuffix(Random& random);

}  // namespace splitlet::fake_api
