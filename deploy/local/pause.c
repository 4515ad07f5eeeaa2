/* First process of a sandbox: holds its namespaces, reaps what is left to it, and ends on TERM or INT.
 * As process 1 of a PID namespace it gets a signal only if it has a handler for it. */
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGCHLD);
  if (sigprocmask(SIG_BLOCK, &set, NULL) != 0) return 1;
  for (;;) {
    const int signal = sigwaitinfo(&set, NULL);
    if (signal == SIGTERM || signal == SIGINT) return 0;
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
  }
}
