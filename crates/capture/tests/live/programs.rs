//! Small programs to watch.

/// No program here has C code of its own.
pub const C: &str = "";

/// Works when it is told to, and prints its collector's counters.
pub const COUNTING: &str = r#"
let kept = ref []
let work n =
  for i = 1 to n do
    let s = string_of_int i in
    if i mod 10 = 0 then kept := (i, s) :: !kept
  done;
  kept := (0, String.make 1_000_000 'x') :: !kept
let () =
  print_endline "ready";
  try
    while true do
      (match read_line () with
       | "" -> ()
       | line -> work (int_of_string line));
      let s = Gc.stat () in
      let words = [ s.minor_words; s.major_words; s.promoted_words ] in
      let counts = [ s.heap_words; s.live_words; s.minor_collections; s.major_collections; s.compactions ] in
      print_endline (String.concat " "
        (List.map (Printf.sprintf "%.0f") words @ List.map string_of_int counts))
    done
  with End_of_file -> ()
"#;

/// Allocates until the file named by its argument appears; keeps the last thousand lists.
pub const ALLOCATING: &str = r#"
let kept = Array.make 1000 []
let rec make n = if n = 0 then [] else n :: make (n - 1)
let () =
  print_endline "ready";
  let good = ref true in
  while not (Sys.file_exists Sys.argv.(1)) do
    for i = 0 to 999 do
      kept.(i) <- make (i mod 100);
      if List.fold_left (+) 0 kept.(i) <> (i mod 100) * (i mod 100 + 1) / 2 then good := false;
      ignore (String.concat "," (List.map string_of_int kept.(i)))
    done
  done;
  Printf.printf "%b\n" !good;
  exit 7
"#;

/// Counts environment variables that are not its own, and has a child do the same.
pub const LOOKING: &str = r#"
let () =
  let is_odd s = List.exists (fun p -> String.starts_with ~prefix:p s)
    ["OCAML_RUNTIME"; "BACTRIAN"; "LD_PRELOAD"] in
  let is_of_tests s = List.exists (fun p -> String.starts_with ~prefix:p s)
    ["BACTRIAN_TEST="; "BACTRIAN_FIXTURES="] in
  let odd = List.filter is_odd (Array.to_list (Unix.environment ())) in
  let odd = List.filter (fun s -> not (is_of_tests s)) odd in
  print_endline (string_of_int (List.length odd));
  ignore (Sys.command "env | grep -v -E '^BACTRIAN_(TEST|FIXTURES)=' | \
    grep -c -E '^(OCAML_RUNTIME|BACTRIAN|LD_PRELOAD)'");
  Unix.sleepf 0.3
"#;

/// Keeps lists that it makes at one site, and then drops those that it makes at another, until a file
/// appears. It pauses, so that a reader of its samples can keep up on a busy machine.
pub const PLACING: &str = r#"
let last = ref []
let[@inline never] kept n = let list = List.init 10 (fun i -> i + n) in last := list; list
let[@inline never] dropped n =
  let list = List.map (fun i -> i + n) [1; 2; 3; 4; 5; 6; 7; 8; 9; 10] in last := list; list
let () =
  let all = Array.init 20_000 kept in
  while not (Sys.file_exists Sys.argv.(1)) do
    for i = 1 to 10_000 do ignore (Sys.opaque_identity (dropped i)) done;
    Unix.sleepf 0.05
  done;
  print_endline (string_of_int (Array.length (Sys.opaque_identity all)))
"#;

/// Waits while its child runs collections, and creates files when that begins and ends.
pub const FORKING: &str = r#"
let touch name = close_out (open_out name)
let () =
  let stop = Sys.argv.(1) in
  for _ = 1 to 10 do Gc.minor () done;
  match Unix.fork () with
  | 0 ->
    touch (stop ^ ".child");
    Unix.sleepf 0.5;
    for _ = 1 to 1000 do ignore (Sys.opaque_identity (Array.make 200 0)); Gc.minor () done;
    Unix._exit 0
  | child ->
    ignore (Unix.waitpid [] child);
    touch (stop ^ ".ended");
    while not (Sys.file_exists stop) do Unix.sleepf 0.01 done
"#;

/// Like [`COUNTING`], but three domains do the work and end, and three more exist all the time.
pub const COUNTING_DOMAINS: &str = r#"
let kept = Array.make 4 []
let done_ = Atomic.make false
let work at n =
  for i = 1 to n do
    let s = string_of_int i in
    if i mod 10 = 0 then kept.(at) <- (i, s) :: kept.(at)
  done
let () =
  let idle = List.init 3 (fun _ ->
    Domain.spawn (fun () -> while not (Atomic.get done_) do Unix.sleepf 0.01 done)) in
  print_endline "ready";
  (try
    while true do
      (match read_line () with
       | "" -> ()
       | line ->
         let n = int_of_string line in
         List.iter Domain.join (List.init 3 (fun at -> Domain.spawn (fun () -> work at n))));
      let s = Gc.stat () in
      let words = [ s.minor_words; s.major_words; s.promoted_words ] in
      let counts = [ s.heap_words; s.live_words; s.minor_collections; s.major_collections; s.compactions ] in
      print_endline (String.concat " "
        (List.map (Printf.sprintf "%.0f") words @ List.map string_of_int counts))
    done
  with End_of_file -> ());
  Atomic.set done_ true;
  List.iter Domain.join idle
"#;

/// Runs collections all the time.
pub const COLLECTING: &str = r#"
let () =
  while not (Sys.file_exists Sys.argv.(1)) do
    for _ = 1 to 1000 do Gc.minor () done
  done
"#;

/// Uses the runtime's sampler itself.
pub const OWN_SAMPLER: &str = r#"
let () =
  ignore (Gc.Memprof.start ~sampling_rate:1e-4 Gc.Memprof.null_tracker);
  while not (Sys.file_exists Sys.argv.(1)) do
    ignore (Sys.opaque_identity (List.init 1000 string_of_int))
  done
"#;

/// Holds 40 MB in its heap, 50 MB in bigarrays, and 30 MB through a sub-array of a bigarray that was
/// collected, which samples do not see.
pub const USES: &str = r#"
let words = Array.init 5_000 (fun i -> Array.make 1_000 i)
let data =
  List.init 50 (fun _ ->
      let data = Bigarray.(Array1.create char c_layout (1 lsl 20)) in
      Bigarray.Array1.fill data 'x';
      data)
let part =
  let whole = Bigarray.(Array1.create char c_layout (30 lsl 20)) in
  Bigarray.Array1.fill whole 'y';
  Bigarray.Array1.sub whole 10 10
let () =
  Gc.full_major ();
  print_endline "ready";
  while not (Sys.file_exists Sys.argv.(1)) do Unix.sleepf 0.01 done;
  ignore (Sys.opaque_identity (words, data, part))
"#;
