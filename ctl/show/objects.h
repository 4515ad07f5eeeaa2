#pragma once

/// Prints Kubernetes objects as kubectl does: -o json and -o yaml, alone and as a list.
/// Threads: any.
/// Errors: none.

#include <string>
#include <vector>

namespace google::protobuf {
class Message;
}

namespace splitlet::ctl {

struct ApiObject {
  std::string kind;  // of v1
  const google::protobuf::Message& message;
};

std::string ObjectJson(const ApiObject& object);
std::string ObjectYaml(const ApiObject& object);
/// A List of them.
std::string ListJson(const std::vector<ApiObject>& objects);
std::string ListYaml(const std::vector<ApiObject>& objects);

}  // namespace splitlet::ctl
