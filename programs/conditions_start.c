/* Sets up a condition and becomes another program, or starts it: for the table of conditions.
   Usage: conditions_start CONDITION COMMAND ARGUMENTS.. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Processes cannot be copied: clone without CLONE_VM, fork, and clone3, of which a filter cannot see the flags, is not there, so that
   libc uses clone. Threads, vfork and posix_spawn go on. */
static void filter_copies(unsigned action)
{
  struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone3, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_fork, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, action),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 3),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_VM, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, action),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) _exit(90);
}

/* As filters of containers do: what is newer than they know, or unusual, is refused. */
static void filter_unusual(void)
{
  static const unsigned refused[] = { __NR_clone3, __NR_close_range, __NR_memfd_create, __NR_membarrier, __NR_faccessat2, __NR_ptrace,
                                      __NR_process_vm_readv, __NR_openat2, __NR_statx, __NR_pidfd_open, __NR_rseq };
  struct sock_filter filter[2 * sizeof refused / sizeof *refused + 2];
  size_t count = 0;
  filter[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (size_t n = 0; n < sizeof refused / sizeof *refused; n++) {
    unsigned error = refused[n] == __NR_clone3 ? ENOSYS : EPERM;
    filter[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[n], 0, 1);
    filter[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
  }
  filter[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = { (unsigned short)count, filter };
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) _exit(90);
}

/* Ends as a child ended. */
static void end_like(int status)
{
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    kill(getpid(), WTERMSIG(status));
    pause();
  }
  _exit(WEXITSTATUS(status));
}

static pid_t start(char **command, int is_traced)
{
  pid_t child = fork();
  if (child == 0) {
    if (is_traced && ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) _exit(91);
    execvp(command[0], command);
    _exit(92);
  }
  if (child < 0) _exit(93);
  return child;
}

/* Traces it to its end, as a debugger does that has set no breakpoint. */
static void trace(char **command)
{
  pid_t child = start(command, 1);
  int status, has_begun = 0;
  for (;;) {
    if (waitpid(child, &status, __WALL) < 0) continue;
    if (!WIFSTOPPED(status)) end_like(status);
    /* The first stop is that of exec. */
    int number = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    if (!has_begun) ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_EXITKILL);
    has_begun = 1;
    ptrace(PTRACE_CONT, child, 0, number);
  }
}

/* Reaps all orphans of it. */
static void adopt(char **command)
{
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  pid_t child = start(command, 0);
  int status, last = 0;
  for (;;) {
    pid_t ended = wait(&status);
    if (ended == child) last = status;
    if (ended < 0 && errno == ECHILD) end_like(last);
  }
}

int main(int count, char **arguments)
{
  if (count < 3) return 94;
  const char *condition = arguments[1];
  char **command = arguments + 2;
  if (strcmp(condition, "copies-kill") == 0) filter_copies(SECCOMP_RET_KILL_PROCESS);
  else if (strcmp(condition, "copies-fail") == 0) filter_copies(SECCOMP_RET_ERRNO | EPERM);
  else if (strcmp(condition, "unusual-fails") == 0) filter_unusual();
  else if (strcmp(condition, "traced") == 0) trace(command);
  else if (strcmp(condition, "adopted") == 0) adopt(command);
  else return 95;
  execvp(command[0], command);
  perror(command[0]);
  return 96;
}
