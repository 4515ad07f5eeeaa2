#include "libs/plugins/registration_errors.h"

namespace splitlet::plugins {

Status DialFailed(const std::string& socket, const Status& why) {
  return MakeStatus(why.code(),
                    "RegisterPlugin error -- dial failed at socket {}, err: failed to dial socket "
                    "{}, err: {}",
                    socket, socket, Message(why));
}

Status GetInfoFailed(const std::string& socket, const Status& why) {
  return MakeStatus(why.code(),
                    "RegisterPlugin error -- failed to get plugin info using RPC GetInfo at socket "
                    "{}, err: {}",
                    socket, Message(why));
}

Status NoHandler(const std::string& socket, const std::string& type) {
  return InvalidArgument(
      "RegisterPlugin error -- no handler registered for plugin type: {} at socket {}", type,
      socket);
}

Status ValidationFailed(const Status& why) {
  return MakeStatus(why.code(), "RegisterPlugin error -- plugin validation failed with err: {}",
                    Message(why));
}

Status RegistrationFailed(const Status& why) {
  return MakeStatus(why.code(), "RegisterPlugin error -- plugin registration failed with err: {}",
                    Message(why));
}

Status ReportFailed(const std::string& socket, const Status& why) {
  return MakeStatus(
      why.code(),
      "RegisterPlugin error -- failed to send registration status at socket {}, err: {}", socket,
      Message(why));
}

}  // namespace splitlet::plugins
