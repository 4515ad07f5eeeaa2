#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "chaos/run.h"
#include "libs/operate/command_line.h"

namespace {

using namespace splitlet;         // NOLINT(google-build-using-namespace): the whole file is wiring
using namespace splitlet::chaos;  // NOLINT(google-build-using-namespace): the whole file is wiring

constexpr const char* kByTool = "splitletctl chaos";

struct Arguments {
  std::optional<std::string> top;
  RunOptions run;
  std::string flooded;
};

void DeclareRun(CLI::App& app, Arguments& a, operate::Command& command) {
  CLI::App* scenario = app.add_subcommand(
      "run", "Run a scenario and check the rules; docs/reliability.md lists them");
  scenario->add_option("scenario", a.run.scenario, "Path of the scenario, a YAML file")->required();
  scenario->add_option(
      "--seed", a.run.seed,
      "Seed of all random choices, a whole number (default: the scenario's, or 1)");
  scenario->add_option("--repeat", a.run.repeat, "Number of rounds, each with the next seed")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  scenario
      ->add_option("--minutes", a.run.minutes,
                   "Start rounds until this many minutes have passed (default: --repeat counts)")
      ->check(CLI::Range(0.0, 10000.0));
  scenario->add_option("--report", a.run.report,
                       "Write report.json and report.html into this folder (default: no files)");
  scenario->add_option("--label", a.run.label,
                       "Label of the tested version in the report, such as a commit");
  scenario->add_flag("--dry-run", a.run.dry_run,
                     "Only check the scenario on this stack and print the plan");
  scenario->callback([&a, &command] {
    command = [&a](const operate::Context& c) { return RunScenario(c, a.run); };
  });
}

void DeclareFlood(CLI::App& app, Arguments& a, operate::Command& command) {
  CLI::App* flood =
      app.add_subcommand("flood", "Send a process far more calls than it serves, until Ctrl-C");
  flood->add_option("process", a.flooded, "The process: config-source, pleg, ...")->required();
  flood->callback([&a, &command] {
    command = [&a](const operate::Context& c) { return RunFlood(c, a.flooded); };
  });
}

}  // namespace

/// `splitletctl chaos` passes only the words after `chaos`; splitletctl has parsed the flags
/// before.
int main(int argc, char** argv) {
  Arguments arguments;
  operate::Command command;
  const bool by_tool = argc > 0 && std::string(argv[0]) == kByTool;
  CLI::App app(
      "splitlet-chaos: injects faults into a running stack, and checks rules that must hold",
      by_tool ? kByTool : "splitlet-chaos");
  app.require_subcommand(1);
  if (by_tool) {
    arguments.top = operate::GivenStateDir();
  } else {
    app.set_version_flag("--version", "splitlet-chaos " SPLITLET_VERSION);
    operate::AddStateDirFlag(app, arguments.top);
  }
  DeclareRun(app, arguments, command);
  DeclareFlood(app, arguments, command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return operate::ExplainParseError(app, error);
  }
  operate::MakeAbsolute(arguments.run.scenario);
  operate::MakeAbsolute(arguments.run.report);
  return operate::RunOnStack(arguments.top, command);
}
