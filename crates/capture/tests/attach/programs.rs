//! Small programs to attach to. Each prints `ready`, runs until its standard input ends or the file named by
//! its argument appears, and then prints whether everything was as it should be.

/// Blocks in a system call, on standard input, with some data.
pub const READING: &str = r#"
let kept = ref []
let () =
  for i = 1 to 100_000 do kept := (i, string_of_int i) :: !kept done;
  print_endline "ready";
  let lines = ref 0 in
  (try while true do ignore (read_line ()); incr lines done with End_of_file -> ());
  let good = List.for_all (fun (i, s) -> int_of_string s = i) !kept in
  Printf.printf "%d lines, %d kept, %b\n" !lines (List.length !kept) good;
  exit 3
"#;

/// Allocates all the time, and checks its data.
pub const ALLOCATING: &str = r#"
let kept = Array.make 1000 []
let rec make n = if n = 0 then [] else n :: make (n - 1)
let () =
  print_endline "ready";
  let good = ref true and round = ref 0 in
  while not (Sys.file_exists Sys.argv.(1)) do
    for i = 0 to 999 do
      incr round;
      kept.(i) <- make (i mod 100);
      if List.fold_left (+) 0 kept.(i) <> (i mod 100) * (i mod 100 + 1) / 2 then good := false;
      ignore (String.concat "," (List.map string_of_int kept.(i)))
    done
  done;
  Printf.printf "%b\n" !good
"#;

/// Runs a loop that allocates nothing.
pub const COMPUTING: &str = r#"
let () =
  print_endline "ready";
  let x = ref 1 in
  while not (Sys.file_exists Sys.argv.(1)) do
    for _ = 1 to 50_000_000 do x := (!x * 75 + 74) land 0xffff done
  done;
  Printf.printf "%b\n" (!x >= 0)
"#;

/// Runs a loop in C, which never polls.
pub const COMPUTING_IN_C: &str = r#"
external compute : string -> unit = "compute"
let () =
  print_endline "ready";
  compute Sys.argv.(1);
  print_endline "done"
"#;

/// Waits in the kernel, where it cannot be stopped, for a child that shares its memory.
pub const VFORKING: &str = r#"
external wait_for_vfork : string -> unit = "wait_for_vfork"
let () =
  print_endline "ready";
  wait_for_vfork Sys.argv.(1);
  print_endline "done"
"#;

/// Waits with a value in every register, below its stack, and with an unusual rounding mode; compares
/// afterwards.
pub const REGISTERS: &str = r#"
external hold_registers : string -> bool = "hold_registers"
let () =
  print_endline "ready";
  Printf.printf "%b\n" (hold_registers Sys.argv.(1))
"#;

/// The C code of programs. `compute` stays out of the kernel between its checks for the file.
pub const C: &str = r#"
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <caml/mlvalues.h>
value compute(value file) {
  volatile long n;
  while (access(String_val(file), F_OK) != 0)
    for (n = 0; n < 200000000; n++) ;
  return Val_unit;
}
value wait_for_vfork(value file) {
  pid_t child = vfork();
  if (child == 0) {
    while (access(String_val(file), F_OK) != 0) poll(0, 0, 20);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  return Val_unit;
}
value wait_unnoted(value file)
{
  while (access(String_val(file), F_OK) != 0) poll(0, 0, 100);
  return Val_unit;
}
/* Registers as they are loaded, and as they are after `poll(0, 0, 1)`. */
struct registers { unsigned char vectors[16][32]; unsigned long whole[7], below[16]; unsigned csr; };
#define EACH(do) do(0) do(1) do(2) do(3) do(4) do(5) do(6) do(7) do(8) do(9) do(10) do(11) do(12) do(13) do(14) do(15)
#define LOAD_Y(n) "vmovups 32*" #n "(%[from]), %%ymm" #n "\n"
#define LOAD_X(n) "movups 32*" #n "(%[from]), %%xmm" #n "\n"
#define KEEP_Y(n) "vmovups %%ymm" #n ", 32*" #n "(%%rbx)\n"
#define KEEP_X(n) "movups %%xmm" #n ", 32*" #n "(%%rbx)\n"
#define LOAD_BELOW(n) "mov 568+8*" #n "(%[from]), %%rax\n mov %%rax, -8-8*" #n "(%%rsp)\n"
#define KEEP_BELOW(n) "mov -8-8*" #n "(%%rsp), %%rax\n mov %%rax, 568+8*" #n "(%%rbx)\n"
#define WAIT(load, keep) asm volatile( \
  "ldmxcsr 696(%[from])\n" EACH(load) EACH(LOAD_BELOW) \
  "mov 512(%[from]), %%r8\n mov 520(%[from]), %%r9\n mov 528(%[from]), %%r10\n mov 536(%[from]), %%r12\n" \
  "mov 544(%[from]), %%r13\n mov 552(%[from]), %%r14\n mov 560(%[from]), %%r15\n" \
  "xor %%edi, %%edi\n xor %%esi, %%esi\n mov $1, %%edx\n mov $7, %%eax\n syscall\n" EACH(keep) \
  "mov %%r8, 512(%%rbx)\n mov %%r9, 520(%%rbx)\n mov %%r10, 528(%%rbx)\n mov %%r12, 536(%%rbx)\n" \
  "mov %%r13, 544(%%rbx)\n mov %%r14, 552(%%rbx)\n mov %%r15, 560(%%rbx)\n" EACH(KEEP_BELOW) \
  "stmxcsr 696(%%rbx)\n movl $0x1f80, -8(%%rsp)\n ldmxcsr -8(%%rsp)\n" \
  : : [from] "c"(&from), "b"(&now) : "rax", "rdi", "rsi", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", \
    "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", \
    "xmm13", "xmm14", "xmm15")
value hold_registers(value file)
{
  static struct registers from, now;
  unsigned char *bytes = (unsigned char *)&from;
  int same = 1, wide = __builtin_cpu_supports("avx");
  for (size_t i = 0; i < sizeof from; i++) bytes[i] = 7 * i + 1;
  from.csr = 0x3f80;
  if (!wide) for (int i = 0; i < 16; i++) memset(from.vectors[i] + 16, 0, 16);
  while (access(String_val(file), F_OK) != 0) {
    memset(&now, 0, sizeof now);
    if (wide) WAIT(LOAD_Y, KEEP_Y); else WAIT(LOAD_X, KEEP_X);
    same &= !memcmp(from.vectors, now.vectors, sizeof from.vectors) && !memcmp(from.whole, now.whole, sizeof from.whole)
      && !memcmp(from.below, now.below, sizeof from.below) && from.csr == now.csr;
  }
  return Val_bool(same);
}
value adopt_orphans(value unit)
{
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  return unit;
}
"#;

/// Waits in C code that OCaml calls without saving its stack pointer, right after it allocated deeper in the
/// stack.
pub const WAITING_UNNOTED: &str = r#"
external wait_unnoted : string -> unit = "wait_unnoted" [@@noalloc]
let rec build n acc = if n = 0 then acc else build (n - 1) (string_of_int n :: acc)
let[@inline never] deep n =
  let long = Sys.opaque_identity (build n []) in
  let short = Sys.opaque_identity (build 100 []) in
  wait_unnoted Sys.argv.(1);
  List.length long + List.length short
let () =
  print_endline "ready";
  Printf.printf "%d\n" (Sys.opaque_identity (deep 50000))
"#;

/// Holds a list and waits, after another thread, which ran last, has ended.
pub const THREAD_ENDED: &str = r#"
let[@inline never] hold list =
  ignore (Thread.create (fun () -> Thread.delay 0.1) ());
  print_endline "ready";
  ignore (Unix.read Unix.stdin (Bytes.create 1) 0 1);
  List.length list
let () = Printf.printf "%d\n" (hold (Sys.opaque_identity (List.init 5000 string_of_int)))
"#;

/// Sleeps, selects and waits for timeouts; each must last as long as requested.
pub const SLEEPING: &str = r#"
let () =
  print_endline "ready";
  let good = ref true in
  let timed seconds wait =
    let start = Unix.gettimeofday () in
    wait ();
    let took = Unix.gettimeofday () -. start in
    if took < seconds -. 0.002 then good := false in
  while not (Sys.file_exists Sys.argv.(1)) do
    timed 0.1 (fun () -> Unix.sleepf 0.1);
    timed 0.1 (fun () -> ignore (Unix.select [] [] [] 0.1));
    let reading, _writing = Unix.pipe () in
    timed 0.1 (fun () -> ignore (Unix.select [reading] [] [] 0.1));
    Unix.close reading; Unix.close _writing
  done;
  Printf.printf "%b\n" !good
"#;

/// Threads that allocate, sleep, and wait for each other; and a timer whose signals are counted.
pub const THREADS: &str = r#"
let stop = ref false
let good = ref true
let lock = Mutex.create ()
let shared = ref 0
let ticks = ref 0
let rec make n = if n = 0 then [] else n :: make (n - 1)
let worker i =
  let mine = ref 0 in
  while not !stop do
    (match i with
     | 0 -> if List.length (make 1000) <> 1000 then good := false
     | 1 -> Thread.delay 0.003
     | 2 -> Mutex.lock lock; incr shared; Mutex.unlock lock; ignore (make 100)
     | _ -> Mutex.lock lock; incr shared; Thread.yield (); Mutex.unlock lock);
    incr mine
  done
let () =
  Sys.set_signal Sys.sigalrm (Sys.Signal_handle (fun _ -> incr ticks));
  ignore (Unix.setitimer Unix.ITIMER_REAL { Unix.it_interval = 0.002; it_value = 0.002 });
  let threads = List.init 5 (Thread.create worker) in
  print_endline "ready";
  while not (Sys.file_exists Sys.argv.(1)) do Thread.delay 0.01 done;
  stop := true;
  ignore (Unix.setitimer Unix.ITIMER_REAL { Unix.it_interval = 0.; it_value = 0. });
  List.iter Thread.join threads;
  Printf.printf "%b %b %b\n" !good (!shared > 0) (!ticks > 0)
"#;

/// Forks all the time and waits for each child; no child may appear that the program did not start.
pub const FORKING: &str = r#"
let children = ref 0
(* OCaml 4.11 has no Unix._exit. *)
external exit_at_once : int -> 'a = "caml_sys_exit"
let () = Sys.set_signal Sys.sigchld (Sys.Signal_handle (fun _ -> ()))
let rec wait () =
  try Unix.waitpid [] (-1) with Unix.Unix_error (Unix.EINTR, _, _) -> wait ()
let () =
  print_endline "ready";
  let good = ref true in
  while not (Sys.file_exists Sys.argv.(1)) do
    let n = Random.int 200 in
    (match Unix.fork () with
     | 0 ->
       let l = List.init 10_000 (fun i -> i * n) in
       exit_at_once (if List.length l = 10_000 then n else 255)
     | child ->
       let seen, status = wait () in
       if seen <> child || status <> Unix.WEXITED n then good := false);
    (match Unix.waitpid [Unix.WNOHANG] (-1) with
     | exception Unix.Unix_error (Unix.ECHILD, _, _) -> ()
     | _ -> good := false);
    if Sys.command "exit 7" <> 7 then good := false
  done;
  Printf.printf "%b\n" !good
"#;

/// The beginning of a program that adopts orphans.
pub const ADOPTING: &str = r#"
external adopt_orphans : unit -> unit = "adopt_orphans"
let () = adopt_orphans ()
"#;

/// Has so much memory that copying it takes a while; allocates all the time, and checks its data.
pub const LARGE: &str = r#"
let large = Array.init 1500 (fun i -> Bytes.make 100_000 (Char.chr (i land 255)))
let kept = Array.make 1000 []
let rec make n = if n = 0 then [] else n :: make (n - 1)
let () =
  print_endline "ready";
  let good = ref true in
  while not (Sys.file_exists Sys.argv.(1)) do
    for i = 0 to 999 do
      kept.(i) <- make (i mod 100);
      if List.fold_left (+) 0 kept.(i) <> (i mod 100) * (i mod 100 + 1) / 2 then good := false;
      if float_of_string (string_of_float (float_of_int i *. 0.5)) <> float_of_int i /. 2. then good := false
    done
  done;
  Array.iteri (fun i b ->
    if Bytes.get b 0 <> Char.chr (i land 255) || Bytes.get b 99_999 <> Char.chr (i land 255) then good := false) large;
  Printf.printf "%b\n" !good;
  exit 5
"#;

/// The same, but waits until its input ends.
pub const LARGE_WAITING: &str = r#"
let large = Array.init 1500 (fun i -> Bytes.make 100_000 (Char.chr (i land 255)))
let () =
  print_endline "ready";
  let n = Unix.read Unix.stdin (Bytes.create 1) 0 1 in
  let good = ref (n = 0) in
  Array.iteri (fun i b ->
    if Bytes.get b 0 <> Char.chr (i land 255) || Bytes.get b 99_999 <> Char.chr (i land 255) then good := false) large;
  Printf.printf "%b\n" !good;
  exit 5
"#;

/// Domains that allocate, and stop each other for collections.
pub const DOMAINS: &str = r#"
let stop = Atomic.make false
let rec make n = if n = 0 then [] else n :: make (n - 1)
let worker i () =
  let good = ref true and kept = ref [] in
  while not (Atomic.get stop) do
    let l = make (1000 + i) in
    kept := l :: (match !kept with a :: b :: c :: _ -> [a; b; c] | l -> l);
    if List.fold_left (+) 0 l <> (1000 + i) * (1001 + i) / 2 then good := false
  done;
  !good
let () =
  let domains = List.init 3 (fun i -> Domain.spawn (worker i)) in
  print_endline "ready";
  while not (Sys.file_exists Sys.argv.(1)) do ignore (make 10_000) done;
  Atomic.set stop true;
  List.iter (fun domain -> Printf.printf "%b\n" (Domain.join domain)) domains
"#;

/// Domains: the first one waits, others compute or wait.
pub const WAITING_DOMAINS: &str = r#"
let stop = Atomic.make false
let () =
  let sleeper = Domain.spawn (fun () -> while not (Atomic.get stop) do Unix.sleepf 0.01 done; 1) in
  let counter = Domain.spawn (fun () ->
    let n = ref 0 in while not (Atomic.get stop) do incr n done; if !n > 0 then 2 else 0) in
  print_endline "ready";
  (try while true do ignore (read_line ()) done with End_of_file -> ());
  Atomic.set stop true;
  Printf.printf "%d %d\n" (Domain.join sleeper) (Domain.join counter)
"#;
