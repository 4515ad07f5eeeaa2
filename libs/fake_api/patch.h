#pragma once

/// Applies a PATCH to an object, for each of the three content types.
/// Threads: pure functions, any.
/// Errors: INVALID_ARGUMENT: a malformed patch; FAILED_PRECONDITION: an operation of a JSON patch
///         does not apply.
/// Source: RFC 7396; RFC 6902; Kubernetes API conventions, "Strategic Merge Patch".

#include <string_view>

#include "libs/fake_api/json.h"

namespace splitlet::kube {
struct TypeInfo;
}

namespace splitlet::fake_api {

Json MergePatch(Json document, const Json& patch);
/// `type` is the document's type; nullptr: a map of plain values.
StatusOr<Json> StrategicMergePatch(Json document, const Json& patch, const kube::TypeInfo* type);
StatusOr<Json> JsonPatch(Json document, const Json& operations);

}  // namespace splitlet::fake_api
