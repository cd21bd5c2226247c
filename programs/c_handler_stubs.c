/* The part of c_handler.ml that is written in C. */
#include <caml/mlvalues.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static void handle(int signal)
{
  (void)signal;
  if (write(1, "bye\n", 4) == 4) _exit(7);
  _exit(8);
}

/* After so many microseconds. */
value end_by_a_signal(value microseconds)
{
  struct sigaction action;
  struct itimerval timer;
  memset(&action, 0, sizeof action);
  memset(&timer, 0, sizeof timer);
  action.sa_handler = handle;
  sigaction(SIGALRM, &action, NULL);
  timer.it_value.tv_usec = Long_val(microseconds);
  setitimer(ITIMER_REAL, &timer, NULL);
  return Val_unit;
}
