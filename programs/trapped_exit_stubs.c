/* The part of trapped_exit.ml that is written in C. */
#include <caml/alloc.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int forks;

static void handle(int signal)
{
  (void)signal;
  if (forks) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) _exit(0);
    if (waitpid(child, &status, 0) != child || status != 0) _exit(10);
  }
  if (write(1, "bye\n", 4) == 4) _exit(7);
  _exit(8);
}

/* From now on a signal comes in place of a mapping of 1 MiB. */
value trap(value also_forks)
{
  struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1 << 20, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
  struct sigaction action;
  forks = Bool_val(also_forks);
  memset(&action, 0, sizeof action);
  action.sa_handler = handle;
  sigaction(SIGSYS, &action, NULL);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
      || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    _exit(9);
  return Val_unit;
}

/* A list of so many cells. */
value cells(value count)
{
  CAMLparam1(count);
  CAMLlocal2(list, cell);
  long n;
  list = Val_emptylist;
  for (n = 0; n < Long_val(count); n++) {
    cell = caml_alloc_small(2, 0);
    Field(cell, 0) = Val_long(n);
    Field(cell, 1) = list;
    list = cell;
  }
  CAMLreturn(list);
}
