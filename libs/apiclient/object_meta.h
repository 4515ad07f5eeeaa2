#pragma once

/// The metadata of an object or list whose type only its owner knows.
/// Threads: any.
/// Errors:  CHECK for a type that has none.

#include <string>

namespace google::protobuf {
class Message;
}

namespace splitlet::apiclient {

/// Empty: the server gave none.
std::string ResourceVersionOf(const google::protobuf::Message& object);

}  // namespace splitlet::apiclient
