//! Small programs to attach to. Each says `ready`, goes on until its standard input ends or a file appears whose
//! name is its argument, and then says whether everything was as it should.

/// Waits in a system call, on standard input, with some data.
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

/// Allocates all the time, and checks what it has.
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

/// Runs a loop in C, which never looks whether there is something else to do.
pub const COMPUTING_IN_C: &str = r#"
external compute : string -> unit = "compute"
let () =
  print_endline "ready";
  compute Sys.argv.(1);
  print_endline "done"
"#;

/// The C of [`COMPUTING_IN_C`]. Between looks for the file it stays out of the kernel.
pub const C: &str = r#"
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <caml/mlvalues.h>
value compute(value file) {
  volatile long n;
  while (access(String_val(file), F_OK) != 0)
    for (n = 0; n < 200000000; n++) ;
  return Val_unit;
}
value wait_unnoted(value file)
{
  while (access(String_val(file), F_OK) != 0) poll(0, 0, 100);
  return Val_unit;
}
value adopt_orphans(value unit)
{
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  return unit;
}
"#;

/// Waits in C that OCaml calls without noting where its stack is, right after it allocated deeper in the stack.
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

/// Holds a list and waits, while another thread, which ran last, has ended.
pub const THREAD_ENDED: &str = r#"
let[@inline never] hold list =
  ignore (Thread.create (fun () -> Thread.delay 0.1) ());
  print_endline "ready";
  ignore (Unix.read Unix.stdin (Bytes.create 1) 0 1);
  List.length list
let () = Printf.printf "%d\n" (hold (Sys.opaque_identity (List.init 5000 string_of_int)))
"#;

/// Sleeps, selects and waits for time to pass; each must last as long as it was told to.
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

/// Children all the time, each waited for; none may come that the program did not start.
pub const FORKING: &str = r#"
let children = ref 0
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
       Unix._exit (if List.length l = 10_000 then n else 255)
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

/// Has so much that copying it takes a while; allocates all the time, and checks what it has.
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

/// Domains of which the first waits, others compute or wait.
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
