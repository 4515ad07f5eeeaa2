#include "libs/operate/command_line.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "libs/base/one_line.h"

namespace splitlet::operate {
namespace {

volatile sig_atomic_t stop_requested = 0;

std::string NamesOf(const CLI::App& app) {
  std::string names;
  for (const CLI::App* sub : app.get_subcommands(nullptr))
    names += (names.empty() ? "" : ", ") + sub->get_name();
  return names;
}

int Leave(int code) {
  std::cout.flush();
#if !defined(SPLITLET_ASAN) && !defined(SPLITLET_TSAN)
  _exit(code);
#endif
  return code;
}

}  // namespace

void AddStateDirFlag(CLI::App& app, std::optional<std::string>& top) {
  app.add_option("--state-dir", top,
                 "Directory of a stack: .run, or compose/.run (default: the packages' folders)")
      ->envname(kStateDirVariable);
}

std::optional<std::string> GivenStateDir() {
  const char* given = std::getenv(kStateDirVariable);
  return given == nullptr || *given == '\0' ? std::nullopt : std::optional<std::string>(given);
}

int ExplainParseError(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);
  const CLI::App* at = &app;
  std::string path = app.get_name();
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    path += " " + at->get_name();
  }
  const std::vector<std::string> rest = app.remaining(true);
  std::string what = error.what();
  if (!rest.empty() && rest.front().starts_with('-'))
    what = "unknown flag: " + rest.front();
  else if (!at->get_subcommands(nullptr).empty())
    what =
        (rest.empty() ? std::string() : "unknown word \"" + rest.front() + "\" after ") +
        fmt::format("\"{}\"{} one of {}", path, rest.empty() ? " wants" : ": want", NamesOf(*at));
  else if (!rest.empty())
    what = "unexpected argument \"" + rest.front() + "\"";
  std::cerr << "error: " << what << "\nSee '" << path << " --help' for usage.\n";
  return 1;
}

void MakeAbsolute(std::string& path) {
  std::error_code error;
  if (!path.empty()) path = std::filesystem::absolute(path, error).lexically_normal().string();
}

int Fail(const Status& status) {
  std::cerr << "error: " << OneLine(Message(status)) << "\n";
  return 1;
}

int RunOnStack(const std::optional<std::string>& top, const Command& command, Duration patience) {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGINT, [](int) { stop_requested = 1; });
  signal(SIGTERM, [](int) { stop_requested = 1; });
  auto layout = FindLayout(top);
  if (!layout.ok()) return Fail(layout.status());
  const RealClock clock;
  const Client client(std::move(*layout), clock, patience);
  int exit_code = 0;
  const Status ran = command({.client = client,
                              .out = std::cout,
                              .err = std::cerr,
                              .stopped = [] { return stop_requested != 0 || !std::cout; },
                              .exit_code = exit_code});
  return Leave(ran.ok() ? exit_code : Fail(ran));
}

std::string ProgramPath(const std::string& name) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string beside = (self.parent_path() / name).string();
  return !error && access(beside.c_str(), X_OK) == 0 ? beside : name;
}

}  // namespace splitlet::operate
