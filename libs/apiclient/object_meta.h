#pragma once

/// The metadata of an object or list of any type.
/// Threads: any.
/// Errors:  CHECK: the type has no metadata.

#include <string>

namespace google::protobuf {
class Message;
}

namespace splitlet::apiclient {

/// Empty if the server gave none.
std::string ResourceVersionOf(const google::protobuf::Message& object);

}  // namespace splitlet::apiclient
