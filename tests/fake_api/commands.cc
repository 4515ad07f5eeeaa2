#include "tests/fake_api/commands.h"

#include <charconv>
#include <sstream>
#include <string_view>

#include "libs/fake_api/json.h"

namespace splitlet::fake_api {
namespace {

int NumberOf(const std::string& text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// The rest of a line after `count` words.
std::string Rest(const std::string& line, size_t count) {
  size_t at = 0;
  for (size_t i = 0; i < count && at != std::string::npos; ++i)
    at = line.find(' ', at == 0 ? 0 : at + 1);
  return at == std::string::npos ? "" : line.substr(at + 1);
}

std::string Any(const std::string& word) { return word == "*" ? "" : word; }

Status Unknown(const std::string& line) { return InvalidArgument("\"{}\" is no command", line); }

}  // namespace

StatusOr<std::string> Commands::Ask(const std::string& method, const std::string& path,
                                    const std::string& body) {
  const auto type =
      method == "PATCH" ? "application/strategic-merge-patch+json" : "application/json";
  const auto answer =
      api_.Serve({.method = method, .path = path, .content_type = type, .body = body});
  if (answer.code / 100 == 2) return answer.body;
  return MakeStatus(StatusCodeOf(answer.code), answer.body);
}

StatusOr<std::string> Commands::Run(const std::string& line) {
  Words words;
  std::istringstream in(line);
  for (std::string word; in >> word;) words.push_back(word);
  if (words.empty()) return Unknown(line);
  if (words[0] == "seen") return TakeSeen();
  if (words[0] == "fault" && words.size() >= 4) return SetFault(words);
  if (words[0] == "repeat" && words.size() >= 3) return Repeat(NumberOf(words[1]), Rest(line, 2));
  if (words.size() == 1 || words[1] == "on" || words[1] == "off") return RunSwitch(words);
  return RunObject(words, line);
}

StatusOr<std::string> Commands::Repeat(int times, const std::string& line) {
  constexpr std::string_view kNumber = "%i";
  StatusOr<std::string> last = std::string();
  for (int i = 0; i < times && last.ok(); ++i) {
    std::string numbered = line;
    for (size_t at = numbered.find(kNumber); at != std::string::npos; at = numbered.find(kNumber))
      numbered.replace(at, kNumber.size(), std::to_string(i));
    last = Run(numbered);
  }
  return last;
}

StatusOr<std::string> Commands::RunSwitch(const Words& words) {
  const std::string& name = words[0];
  const bool on = words.size() > 1 && words[1] == "on";
  if (name == "faults" && !on) {
    api_.ClearFaults();
  } else if (name == "away") {
    if (Status done = server_.SetAway(on); !done.ok()) return done;
  } else if (name == "compact") {
    api_.Compact();
  } else if (name == "end-watches") {
    api_.EndWatches();
  } else if (name == "bookmarks") {
    api_.SendBookmarks();
  } else if (name == "sign") {
    api_.SetSigning(on);
  } else if (name == "schedule") {
    api_.SetScheduling(on);
  } else if (name == "allow-all") {
    api_.AllowAll(on);
  } else {
    return Unknown(name);
  }
  return std::string();
}

StatusOr<std::string> Commands::RunObject(const Words& words, const std::string& line) {
  const std::string& name = words[0];
  const std::string& path = words[1];
  if (name == "allow" && words.size() >= 5) {
    api_.Allow({.who = words[1],
                .verb = words[2],
                .group = words[3] == "core" ? "" : words[3],
                .resource = words[4]});
    return std::string();
  }
  if (name == "token" && words.size() >= 3) {
    api_.AddToken(words[1], {words[2], "", {words.begin() + 3, words.end()}});
    return std::string();
  }
  const auto place = ParsePath(path);
  if (!place) return InvalidArgument("{} is no path of the API", path);
  if (name == "list") return Ask("GET", path, "");
  if (name == "get") return Ask("GET", path, "");
  if (name == "post") return Ask("POST", path, Rest(line, 2));
  if (name == "patch") return Ask("PATCH", path, Rest(line, 2));
  if (name == "delete") return Ask("DELETE", path, Rest(line, 2));
  if (name == "put") {
    const auto json = ParseJson(Rest(line, 2));
    if (!json.ok()) return json.status();
    api_.PutJson(path, Rest(line, 2));
    return std::string();
  }
  return Unknown(line);
}

StatusOr<std::string> Commands::SetFault(const Words& words) {
  FakeApiServer::Fault fault{.method = Any(words[1]), .prefix = Any(words[2])};
  size_t at = 3;
  if (words[at].ends_with('*') && at + 1 < words.size()) fault.times = NumberOf(words[at++]);
  const std::string& term = words[at];
  if (term == "hang") {
    fault.hang = true;
  } else if (term == "lose") {
    fault.after_effect = true;
  } else if (term == "garbage") {
    fault.body = "<html>garbage</html>";
  } else if (term == "no-page") {
    fault.code = 404;
    fault.body = "404 page not found\n";
    fault.content_type = "text/plain";
  } else if (term == "code" && at + 1 < words.size()) {
    fault.code = NumberOf(words[at + 1]);
    if (at + 2 < words.size()) fault.retry_after = std::chrono::seconds{NumberOf(words[at + 2])};
  } else if (term != "drop") {
    return InvalidArgument("\"{}\" is no fault", term);
  }
  api_.Inject(std::move(fault));
  return std::string();
}

std::string Commands::TakeSeen() {
  Json list = Json::List();
  for (const auto& seen : api_.TakeSeen())
    list.items.push_back(Json::String(seen.method + " " + seen.path));
  return WriteJson(list);
}

}  // namespace splitlet::fake_api
