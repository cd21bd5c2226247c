(* Several domains (OCaml 5) that allocate at once, share atomics and a lock, start further domains and
   end by an exception; threads within a domain. *)

let work n = List.fold_left ( + ) 0 (List.concat_map (fun m -> [ m; m * 2 ]) (List.init n Fun.id))

let at_once () =
  let domains = List.init 4 (fun id -> Domain.spawn (fun () -> work (2_000 + id))) in
  let mine = work 3_000 in
  mine + List.fold_left (fun sum domain -> sum + Domain.join domain) 0 domains

let shared () =
  let hits = Atomic.make 0 in
  let lock = Mutex.create () in
  let table = Hashtbl.create 16 in
  let run id () =
    for n = 1 to 1_000 do
      Atomic.incr hits;
      if n mod 10 = 0 then
        Mutex.protect lock (fun () -> Hashtbl.replace table (id, n) (string_of_int n))
    done
  in
  List.iter Domain.join (List.init 3 (fun id -> Domain.spawn (run id)));
  (Atomic.get hits, Hashtbl.length table)

(* One after the other: slots of domains are used again. *)
let in_turn () =
  let total = ref 0 in
  for n = 1 to 12 do
    total := !total + Domain.join (Domain.spawn (fun () -> work (n * 20)))
  done;
  !total

let nested () =
  let inner () = work 500 in
  let outer () = work 300 + Domain.join (Domain.spawn inner) in
  Domain.join (Domain.spawn outer)

let failing () =
  let fail () = failwith (String.concat " " [ "from"; "a"; "domain" ]) in
  match Domain.join (Domain.spawn fail) with
  | () -> "returned"
  | exception Failure what -> what

let with_threads () =
  let run () =
    let parts = Array.make 3 0 in
    let threads = List.init 3 (fun id -> Thread.create (fun () -> parts.(id) <- work (300 + id)) ()) in
    List.iter Thread.join threads;
    Array.fold_left ( + ) 0 parts
  in
  List.fold_left (fun sum domain -> sum + Domain.join domain) 0 (List.init 2 (fun _ -> Domain.spawn run))

let key = Domain.DLS.new_key (fun () -> Buffer.create 10)

let own_state () =
  let run () =
    for _ = 1 to 100 do
      Buffer.add_string (Domain.DLS.get key) "xy"
    done;
    Buffer.length (Domain.DLS.get key)
  in
  List.map Domain.join (List.init 3 (fun _ -> Domain.spawn run))

let () =
  Printf.printf "at once: %d\n%!" (at_once ());
  let hits, entries = shared () in
  Printf.printf "shared: %d hits, %d entries\n%!" hits entries;
  Printf.printf "in turn: %d\n%!" (in_turn ());
  Printf.printf "nested: %d\n%!" (nested ());
  Printf.printf "failing: %s\n%!" (failing ());
  Printf.printf "with threads: %d\n%!" (with_threads ());
  Printf.printf "own state: %s\n%!" (String.concat " " (List.map string_of_int (own_state ())));
  Gc.full_major ();
  let busy = List.init 2 (fun _ -> Domain.spawn (fun () -> Gc.compact (); work 1_000)) in
  Printf.printf "collecting: %d\n" (List.fold_left (fun sum d -> sum + Domain.join d) 0 busy)
