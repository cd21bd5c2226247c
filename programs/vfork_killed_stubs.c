/* The part of vfork_killed.ml that is written in C. */
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <caml/mlvalues.h>

/* The signal by which the child ended; 0 if it ended by itself. */
value vfork_and_die(value unit)
{
  static char *const nothing[] = { NULL };
  struct itimerval soon = { { 0, 0 }, { 0, 300000 } };
  int status = 0;
  pid_t child = vfork();

  (void)unit;
  if (child == 0) {
    signal(SIGALRM, SIG_DFL);
    setitimer(ITIMER_REAL, &soon, NULL);
    execve("/nonexistent", nothing, nothing);
    _exit(127);
  }
  waitpid(child, &status, 0);
  return Val_int(WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}
