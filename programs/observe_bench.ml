(* What observers cost: written for Ocamlviz, and compiled with the original and with ours. Prints nanoseconds of processor
   time, in the best of several rounds, for what its first argument says. *)

open Ocamlviz

let now = Sys.time
let rounds = 7

(* Nanoseconds that one of [count] takes. *)
let best count f =
  let best = ref infinity in
  for _ = 1 to rounds do
    let start = now () in
    f count;
    best := min !best (now () -. start)
  done;
  !best /. float count *. 1e9

let empty count = for _ = 1 to count do ignore (Sys.opaque_identity 0) done

let point () =
  let point = Point.create "point" in
  let count = 30_000_000 in
  best count (fun count -> for _ = 1 to count do Point.observe point done) -. best count empty

let time () =
  let time = Time.create "time" in
  best 200_000 (fun count -> for _ = 1 to count do Time.start time; Time.stop time done)

let log_line () = best 100_000 (fun count -> for n = 1 to count do log "line %d of the log" n done)

(* Values that are alive, all different; what making them takes is taken off. *)
let distinct count =
  let tag = Tag.create "tag" and kept = Array.make count (ref 0) in
  let start = now () in
  for n = 0 to count - 1 do kept.(n) <- ref n done;
  let made = now () in
  for n = 0 to count - 1 do kept.(n) <- Tag.mark tag (ref n) done;
  let marked = now () in
  ignore (Sys.opaque_identity kept);
  (marked -. made -. (made -. start)) /. float count *. 1e9

let equal count =
  let tag = Tag.create "tag" and kept = Array.make count (ref 0) in
  let start = now () in
  for n = 0 to count - 1 do kept.(n) <- Tag.mark tag (ref 0) done;
  let marked = now () in
  ignore (Sys.opaque_identity kept);
  (marked -. start) /. float count *. 1e9

(* The longest time for which the program stood still while somebody watched, if the size of a list is observed or if it is not:
   of processor time, and on the wall, where what else the machine does is in it too. *)
let pause ~is_observed length =
  let list = List.init length Fun.id in
  let tag = Tag.create ~size:true "tag" in
  if is_observed then ignore (Tag.mark tag list);
  Gc.full_major ();
  (* The collector's own pauses, of 10 ms with such a list, are not what this is about. *)
  Gc.set { (Gc.get ()) with space_overhead = 1_000_000 };
  wait_for_connected_clients 1;
  let longest = ref 0.0 and last = ref (now ()) and longest_wall = ref 0.0 and last_wall = ref (Unix.gettimeofday ()) in
  let until = !last_wall +. 4.0 in
  while !last_wall < until do
    ignore (Sys.opaque_identity (ref 0));
    let time = now () and wall = Unix.gettimeofday () in
    longest := max !longest (time -. !last);
    longest_wall := max !longest_wall (wall -. !last_wall);
    last := time;
    last_wall := wall
  done;
  ignore (Sys.opaque_identity list);
  Printf.printf "%.0f " (!longest_wall *. 1e9);
  !longest *. 1e9

(* Observes a little, and nobody watches. *)
let idle () =
  let point = Point.create "point" and seen = ref 0 in
  Value.observe_int_fct "value" (fun () -> incr seen; !seen);
  Point.observe point;
  print_endline "ready";
  (try ignore (input_char stdin) with End_of_file -> ());
  float !seen

let () =
  let number () = int_of_string Sys.argv.(2) in
  let result =
    match Sys.argv.(1) with
    | "point" -> point ()
    | "time" -> time ()
    | "log" -> log_line ()
    | "distinct" -> distinct (number ())
    | "equal" -> equal (number ())
    | "pause" -> pause ~is_observed:true (number ())
    | "still" -> pause ~is_observed:false (number ())
    | "idle" -> idle ()
    | what -> failwith what
  in
  Printf.printf "%.2f\n" result
