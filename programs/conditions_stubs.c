/* The part of conditions.ml that is written in C. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <caml/mlvalues.h>

/* A thread that is there before OCaml, and sleeps. */
static void *sleeps(void *unused)
{
  (void)unused;
  for (;;) pause();
  return NULL;
}

__attribute__((constructor)) static void begin(void)
{
  pthread_t thread;
  if (getenv("CONDITIONS_EARLY_THREAD") != NULL && pthread_create(&thread, NULL, sleeps, NULL) != 0) _exit(65);
}

#define ALLOW(name)                                     \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), \
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* A system call of which no library hears. */
static long unheard(long number, long a, long b, long c)
{
  long result;
  register long r10 __asm__("r10") = 0;
  register long r8 __asm__("r8") = 0;
  __asm__ volatile("syscall" : "=a"(result) : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                   : "rcx", "r11", "memory");
  return result;
}

/* Kills whoever makes a system call that is not in a short list: no openat, no pwrite64, no getpid, no clone of a process. */
value conditions_confine(value is_unheard)
{
  struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    /* What it takes to allocate, to write to a descriptor that is open, to sleep, and to end. */
    ALLOW(mmap), ALLOW(munmap), ALLOW(mremap), ALLOW(brk), ALLOW(madvise), ALLOW(mprotect),
    ALLOW(write), ALLOW(futex), ALLOW(exit), ALLOW(exit_group), ALLOW(rt_sigprocmask), ALLOW(rt_sigaction),
    ALLOW(rt_sigreturn), ALLOW(sigaltstack), ALLOW(nanosleep), ALLOW(clock_nanosleep), ALLOW(clock_gettime),
    ALLOW(restart_syscall), ALLOW(rseq), ALLOW(set_robust_list), ALLOW(sched_yield), ALLOW(select),
    ALLOW(pselect6),
    /* Threads, as glibc makes them. */
    ALLOW(clone3),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
  if (Bool_val(is_unheard)) {
    unheard(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0);
    if (unheard(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program) != 0) _exit(66);
  } else {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) _exit(66);
  }
  return Val_unit;
}

value conditions_adopt_orphans(value unit)
{
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) _exit(67);
  return unit;
}
