/* How the server obtains values that need OCaml from a program that is busy.

   The server's thread never touches OCaml's heap. When it needs such a value it calls [ask]. That makes the runtime
   believe that a signal has arrived, as the tick thread of OCaml 4's threads library does, so that a function of ours
   is called at the program's next safe point: an allocation, a poll, the end of a system call. No signal is sent, so
   no system call is interrupted and no signal handler is installed: we use a signal number that the program does not
   use, the runtime's table has our function for it, and the kernel's disposition of that signal is unchanged.

   A program that waits does not reach a safe point. If it is linked with OCaml's threads library, a thread of ours
   then takes the runtime lock, as any thread of the program could.

   While we evaluate, signals are blocked: an exception raised by one of the program's signal handlers is meant for
   the program, and not for an observer that happens to be evaluated. */

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bactrian_runtime.h"

int bactrian_is_child;

extern value caml_install_signal_handler(value signal, value action);

/* Defined by the threads library; null in programs without it. */
extern int caml_c_thread_register(void) __attribute__((weak));

/* How long a program may take to reach a safe point before it is assumed to wait, in nanoseconds. */
#define PATIENCE 2000000

/* The signal that never arrives; 0 if there is none. */
static int number;
static int is_evaluating;
static int has_threads;
static const value *answer;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asked = PTHREAD_COND_INITIALIZER;
static int is_asked, has_waiter;

static int is_unused(int signal)
{
    struct sigaction action;

    return sigaction(signal, NULL, &action) == 0 && !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_DFL;
}

/* Registers our function in the runtime's table. The program may later use any signal number itself, so this is
   called again if ours was taken. */
static void take_number(void)
{
    CAMLparam0();
    CAMLlocal1(action);
    struct sigaction before;
    int candidate;

    for (candidate = SIGRTMAX; candidate > SIGRTMIN + 2; candidate--)
        if (is_unused(candidate))
            break;
    if (candidate > SIGRTMIN + 2) {
        action = caml_alloc_small(1, 0);
        Field(action, 0) = *answer;
        sigaction(candidate, NULL, &before);
        caml_install_signal_handler(Val_int(candidate), action);
        sigaction(candidate, &before, NULL);
        __atomic_store_n(&number, candidate, __ATOMIC_RELEASE);
    }
    CAMLreturn0;
}

static void rearm(void)
{
    /* Signals that arrived while they were blocked are not lost, but the runtime does not look for them by itself. */
#if OCAML_VERSION >= 50000
    if (caml_check_pending_signals())
        caml_set_action_pending(Caml_state);
#else
    caml_set_action_pending();
#endif
}

static int (*thread_register(void))(void)
{
    if (caml_c_thread_register != NULL)
        return caml_c_thread_register;
    /* In bytecode the threads library may have been loaded after this one. */
    return (int (*)(void))dlsym(RTLD_DEFAULT, "caml_c_thread_register");
}

/* Evaluates on behalf of a program that waits. */
static void *wait_beside(void *unused)
{
    int (*enter)(void) = thread_register();
    struct timespec patience = { 0, PATIENCE };

    if (enter == NULL || !enter())
        return NULL;
    for (;;) {
        pthread_mutex_lock(&lock);
        while (!is_asked)
            pthread_cond_wait(&asked, &lock);
        is_asked = 0;
        pthread_mutex_unlock(&lock);
        nanosleep(&patience, NULL);
        if (!bactrian_observe_is_asked() || __atomic_load_n(&is_evaluating, __ATOMIC_ACQUIRE))
            continue;
        caml_leave_blocking_section();
        caml_callback_exn(*answer, Val_unit);
        rearm();
        caml_enter_blocking_section();
    }
    return NULL;
}

/* Called by the server's thread. */
static void ask(void)
{
    int signal = __atomic_load_n(&number, __ATOMIC_ACQUIRE);

    if (bactrian_is_child)
        return;
    if (signal != 0) {
        if (is_unused(signal))
            caml_record_signal(signal);
        else
            __atomic_store_n(&number, 0, __ATOMIC_RELEASE);
    }
    if (!__atomic_load_n(&has_threads, __ATOMIC_ACQUIRE))
        return;
    pthread_mutex_lock(&lock);
    is_asked = 1;
    if (!has_waiter) {
        pthread_t thread;

        has_waiter = 1;
        /* It inherits from this thread that all signals are blocked. */
        if (pthread_create(&thread, NULL, wait_beside, NULL) == 0)
            pthread_detach(thread);
    }
    pthread_cond_signal(&asked);
    pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
    bactrian_is_child = 1;
}

/* Prepares all of the above, and starts the server. Later calls check whether something has changed. */
value bactrian_prepare(value unit)
{
    static int is_prepared;
    static const char runtime[] = "OCaml " OCAML_VERSION_STRING;
    struct bactrian_text version = { runtime, sizeof runtime - 1 };

    if (bactrian_is_child)
        return Val_unit;
    if (!__atomic_load_n(&has_threads, __ATOMIC_RELAXED) && caml_named_value("Thread.at_shutdown") != NULL)
        __atomic_store_n(&has_threads, 1, __ATOMIC_RELEASE);
    if (!is_prepared) {
        is_prepared = 1;
        answer = caml_named_value("bactrian.answer");
        pthread_atfork(NULL, NULL, in_child);
        bactrian_observe_start(ask, version);
        bactrian_declare_numbers();
    }
    if (__atomic_load_n(&number, __ATOMIC_RELAXED) == 0 && answer != NULL)
        take_number();
    return Val_unit;
}

static sigset_t program_signals;

/* Begins an evaluation, unless one is already in progress, in this thread or another. */
value bactrian_begin(value unit)
{
    static const int of_the_instruction[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS };
    sigset_t all;

    if (bactrian_is_child || __atomic_exchange_n(&is_evaluating, 1, __ATOMIC_ACQUIRE))
        return Val_false;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof of_the_instruction / sizeof *of_the_instruction; i++)
        sigdelset(&all, of_the_instruction[i]);
    pthread_sigmask(SIG_SETMASK, &all, &program_signals);
    return Val_true;
}

value bactrian_end(value unit)
{
    sigset_t signals = program_signals;

    __atomic_store_n(&is_evaluating, 0, __ATOMIC_RELEASE);
    pthread_sigmask(SIG_SETMASK, &signals, NULL);
    rearm();
    return Val_unit;
}

value bactrian_next(value unit)
{
    uint32_t id;

    if (bactrian_is_child)
        return Val_long(0);
    do
        id = bactrian_observe_next();
    while (id != 0 && bactrian_say_number(id));
    return Val_long(id);
}

value bactrian_again(value id)
{
    if (!bactrian_is_child)
        bactrian_observe_again(Long_val(id));
    return Val_unit;
}

/* Lets the runtime process pending actions, for code that computes without reaching a safe point. */
value bactrian_yield(value unit)
{
    bactrian_prepare(unit);
    caml_process_pending_actions();
    return Val_unit;
}

/* Waits for a while. */
value bactrian_wait(value clients, value milliseconds)
{
    int wanted = Int_val(clients), longest = Int_val(milliseconds), is_so = 1;

    if (!bactrian_is_child) {
        caml_enter_blocking_section();
        is_so = bactrian_observe_wait(wanted, longest);
        caml_leave_blocking_section();
    }
    return Val_bool(is_so);
}

value bactrian_clients(value unit)
{
    return Val_int(bactrian_is_child ? 0 : bactrian_observe_clients());
}

/* Releases the runtime lock while it waits, because the server's thread may have asked another thread. Signal
   handlers run afterwards. */
value bactrian_show(value unit)
{
    if (!bactrian_is_child) {
        caml_enter_blocking_section();
        bactrian_observe_show();
        caml_leave_blocking_section();
    }
    return Val_unit;
}

value bactrian_ticks(value unit)
{
    return Val_long(bactrian_is_child ? 0 : bactrian_observe_ticks());
}

value bactrian_log(value bytes, value length)
{
    struct bactrian_text line = { (const char *)Bytes_val(bytes), Long_val(length) };

    if (!bactrian_is_child)
        bactrian_observe_log(line);
    return Val_unit;
}

value bactrian_marker(value text)
{
    if (!bactrian_is_child)
        bactrian_observe_marker(text_of(text));
    return Val_unit;
}

value bactrian_is_stopped(value id)
{
    return Val_bool(bactrian_is_child || bactrian_observe_is_stopped(Long_val(id)));
}

value bactrian_spent(value id, value nanos)
{
    if (!bactrian_is_child)
        bactrian_observe_spent(Long_val(id), Long_val(nanos));
    return Val_unit;
}

value bactrian_nanos(value unit)
{
    return Val_long(bactrian_observe_now());
}
