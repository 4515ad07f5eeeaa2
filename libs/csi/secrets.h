#pragma once

/// Keeps secrets out of logs and errors: a driver may repeat in its error what it was sent.
/// Threads: pure functions, any; nothing fails.
/// Source: CSI, Secrets Requirements.

#include <string>
#include <vector>

namespace google::protobuf {
class Message;
}

namespace splitlet::csi {

/// Values of the request's field `secrets`, and tokens of service accounts in its volume context:
/// the JSON of all, and each one.
std::vector<std::string> SecretsIn(const google::protobuf::Message& request);

/// Puts "***stripped***" in place of each secret. A secret of less than four bytes is only found
/// as a word of its own, as otherwise no text would remain.
std::string WithoutSecrets(std::string text, const std::vector<std::string>& secrets);

/// The request on one line, for a log, without values of secrets and tokens.
std::string RequestText(const google::protobuf::Message& request);

}  // namespace splitlet::csi
