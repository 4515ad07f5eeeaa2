#include "ctl/completion.h"

namespace splitlet::ctl {
namespace {

constexpr const char* kBash = R"(_splitletctl() {
  local current=${COMP_WORDS[COMP_CWORD]} words=() word skip=0
  local top=(--state-dir)
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if ((skip)); then skip=0; top+=("$word"); continue; fi
    case $word in
      --state-dir) skip=1 ;;
      -*) ;;
      *) words+=("$word") ;;
    esac
  done
  ((${#top[@]} > 1)) || top=()
  local processes="config-source sync-loop pod-worker pleg status gc node-api" choices=""
  case "${words[*]}" in
    "") choices="get describe logs exec attach events recorder record trace gc run-once fault log-level process chaos doctor completion --state-dir --help --version" ;;
    get) choices="pods pod node events processes sources" ;;
    "get pods" | "get po")
      case $current in
        -*) choices="-o -w -A -n --no-headers" ;;
        *) choices=$(splitletctl "${top[@]}" get pods --no-headers 2>/dev/null | cut -d' ' -f1) ;;
      esac ;;
    "get processes" | "get sources") choices="-o" ;;
    "get node" | "get nodes") choices="-o --no-headers" ;;
    "get events") choices="--for --types -n -A -o --no-headers" ;;
    describe) choices="pod node" ;;
    trace) choices="pod" ;;
    "get pod" | "describe pod" | "trace pod")
      choices=$(splitletctl "${top[@]}" get pods --no-headers 2>/dev/null | cut -d' ' -f1) ;;
    logs | "logs "*)
      case $current in
        -*) choices="-c -n -f -p --since --since-time --tail --limit-bytes --timestamps --process" ;;
        *) choices=$(splitletctl "${top[@]}" get pods --no-headers 2>/dev/null | cut -d' ' -f1) ;;
      esac ;;
    exec | attach)
      case $current in
        -*) choices="-i -t -c -n" ;;
        *) choices=$(splitletctl "${top[@]}" get pods --no-headers 2>/dev/null | cut -d' ' -f1) ;;
      esac ;;
    events) choices="-f --since --heartbeats" ;;
    recorder) choices="run" ;;
    record) choices="discard" ;;
    gc) choices="--dry-run" ;;
    run-once) choices="--timeout" ;;
    fault) choices="set list clear" ;;
    "fault set" | "fault list" | "fault clear") choices=$processes ;;
    "fault set "* | "fault clear "*)
      choices=$(splitletctl "${top[@]}" fault list "${words[2]}" --no-headers 2>/dev/null | cut -d' ' -f1) ;;
    log-level) choices="$processes debug info warn error" ;;
    "log-level "*) choices="debug info warn error" ;;
    process) choices="kill stop cont restart down up" ;;
    "process "*) choices="$processes nats containerd" ;;
    chaos) choices="run flood" ;;
    "chaos flood") choices=${processes% node-api} ;;
    "chaos run")
      case $current in
        -*) choices="--seed --repeat --minutes --report --label --dry-run" ;;
        *) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
      esac ;;
    completion) choices="bash zsh fish" ;;
  esac
  case ${COMP_WORDS[COMP_CWORD-1]} in
    --state-dir) mapfile -t COMPREPLY < <(compgen -d -- "$current"); return ;;
    --types) choices="Warning Normal" ;;
    -o)
      case "${words[*]}" in
        "get processes" | "get sources") choices="json" ;;
        "get events" | "get event" | "get ev") choices="wide json yaml" ;;
        *) choices="wide json yaml name" ;;
      esac ;;
    -c | -n | --for | --since | --since-time | --tail | --limit-bytes | --timeout | --seed | --repeat | --minutes | --label) choices="" ;;
    --process) choices="$processes nats containerd" ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$current")
}
complete -F _splitletctl splitletctl
)";

// zsh uses the completion of bash.
constexpr const char* kZshHead =
    "autoload -Uz bashcompinit && bashcompinit\nmapfile() {\n"
    "  local line; shift 1; COMPREPLY=()\n"
    "  while IFS= read -r line; do COMPREPLY+=(\"$line\"); done\n}\n";

constexpr const char* kFish = R"(function __splitletctl_words
  set -l words
  set -l skip 0
  for word in (commandline -opc)[2..-1]
    if test $skip = 1
      set skip 0
    else if test $word = --state-dir
      set skip 1
    else if not string match -q -- '-*' $word
      set words $words $word
    end
  end
  string join ' ' -- $words
end
function __splitletctl_is
  test (__splitletctl_words) = "$argv"
end
function __splitletctl_pods
  splitletctl get pods --no-headers 2>/dev/null | string split -f1 ' '
end
complete -c splitletctl -f
complete -c splitletctl -l state-dir -r -a '(__fish_complete_directories)' -d 'Directory of the stack'
complete -c splitletctl -n '__splitletctl_is' -a 'get describe logs exec attach events recorder record trace gc run-once fault log-level process chaos doctor completion'
complete -c splitletctl -n '__splitletctl_is get' -a 'pods pod node events processes sources'
complete -c splitletctl -n '__splitletctl_is get events' -l for -r
complete -c splitletctl -n '__splitletctl_is get events' -l types -r -a 'Warning Normal'
complete -c splitletctl -n '__splitletctl_is describe' -a 'pod node'
complete -c splitletctl -n '__splitletctl_is trace' -a pod
complete -c splitletctl -n '__splitletctl_is logs; or __splitletctl_is exec; or __splitletctl_is attach; or __splitletctl_is get pods; or __splitletctl_is get pod; or __splitletctl_is describe pod; or __splitletctl_is trace pod' -a '(__splitletctl_pods)'
complete -c splitletctl -n '__splitletctl_is exec; or __splitletctl_is attach' -s i
complete -c splitletctl -n '__splitletctl_is exec; or __splitletctl_is attach' -s t
complete -c splitletctl -n '__splitletctl_is exec; or __splitletctl_is attach' -s c -r
complete -c splitletctl -n '__splitletctl_is logs' -s f
complete -c splitletctl -n '__splitletctl_is logs' -s p
complete -c splitletctl -n '__splitletctl_is logs' -s c -r
complete -c splitletctl -n '__splitletctl_is logs' -l tail -r
complete -c splitletctl -n '__splitletctl_is logs' -l since -r
complete -c splitletctl -n '__splitletctl_is logs' -l timestamps
complete -c splitletctl -n '__splitletctl_is logs' -l process -r -a 'config-source sync-loop pod-worker pleg status gc node-api nats containerd'
complete -c splitletctl -n '__splitletctl_is recorder' -a run
complete -c splitletctl -n '__splitletctl_is record' -a discard
complete -c splitletctl -n '__splitletctl_is gc' -l dry-run
complete -c splitletctl -n '__splitletctl_is run-once' -l timeout -r
complete -c splitletctl -n '__splitletctl_is events' -l since -r
complete -c splitletctl -n '__splitletctl_is events' -s f
complete -c splitletctl -n '__splitletctl_is fault' -a 'set list clear'
complete -c splitletctl -n '__splitletctl_is fault set; or __splitletctl_is fault list; or __splitletctl_is fault clear' -a 'config-source sync-loop pod-worker pleg status gc node-api'
complete -c splitletctl -n '__splitletctl_is log-level' -a 'config-source sync-loop pod-worker pleg status gc node-api debug info warn error'
complete -c splitletctl -n '__splitletctl_is chaos flood' -a 'config-source sync-loop pod-worker pleg status gc'
complete -c splitletctl -n '__splitletctl_is process' -a 'kill stop cont restart down up'
complete -c splitletctl -n '__splitletctl_is process kill; or __splitletctl_is process stop; or __splitletctl_is process cont; or __splitletctl_is process restart; or __splitletctl_is process down; or __splitletctl_is process up' -a 'config-source sync-loop pod-worker pleg status gc node-api nats containerd'
complete -c splitletctl -n '__splitletctl_is chaos' -a 'run flood'
complete -c splitletctl -n '__splitletctl_is chaos run' -F
complete -c splitletctl -n '__splitletctl_is completion' -a 'bash zsh fish'
complete -c splitletctl -n '__splitletctl_is get pods; or __splitletctl_is get pod; or __splitletctl_is get node' -s o -r -a 'wide json yaml name'
complete -c splitletctl -n '__splitletctl_is get events' -s o -r -a 'wide json yaml'
complete -c splitletctl -n '__splitletctl_is get processes; or __splitletctl_is get sources' -s o -r -a json
)";

}  // namespace

StatusOr<std::string> CompletionScript(const std::string& shell) {
  if (shell == "bash") return std::string(kBash);
  if (shell == "zsh") return std::string("#compdef splitletctl\n") + kZshHead + kBash;
  if (shell == "fish") return std::string(kFish);
  return InvalidArgument("{} is not one of bash, zsh, fish", shell);
}

}  // namespace splitlet::ctl
