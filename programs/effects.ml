(* Effect handlers (OCaml 5): stacks that are cut, kept on the heap and taken up again, while they
   allocate. Deep and shallow handlers, generators, a scheduler, exceptions through all of them. *)

open Effect

type _ Effect.t += Yield : int -> unit Effect.t
type _ Effect.t += Ask : string -> int Effect.t
type _ Effect.t += Pause : unit Effect.t
type _ Effect.t += Unknown : unit Effect.t

(* A generator: the traversal stops at every element until the next is asked for. *)
let generator iterate =
  let rec next =
    ref (fun () ->
        match iterate (fun n -> perform (Yield n)) with
        | () -> None
        | effect Yield n, k ->
            next := (fun () -> Deep.continue k ());
            Some n)
  in
  fun () -> !next ()

let rec drain next sum = match next () with None -> sum | Some n -> drain next (sum + n)

let rec nested depth = if depth = 0 then perform (Ask "bottom") else 1 + nested (depth - 1)

let answered () =
  match nested 500 + perform (Ask (String.make 7 'q')) with
  | n -> n
  | effect Ask question, k -> Deep.continue k (String.length question)

(* A handler within a handler within ... *)
let rec handlers depth =
  if depth = 0 then perform (Ask "x")
  else match handlers (depth - 1) with n -> n + 1 | effect Yield _, k -> Deep.continue k ()

let scheduled () =
  let ready = Queue.create () in
  let log = Buffer.create 100 in
  let start task =
    match task () with
    | () -> ()
    | effect Pause, k -> Queue.push (fun () -> Deep.continue k ()) ready
  in
  let task id () =
    for step = 1 to 50 do
      if step mod 10 = 0 then Buffer.add_string log (Printf.sprintf "%d.%d " id step);
      ignore (Sys.opaque_identity (List.init step Fun.id));
      perform Pause
    done
  in
  List.iter (fun id -> Queue.push (fun () -> start (task id)) ready) [ 1; 2; 3 ];
  while not (Queue.is_empty ready) do
    (Queue.pop ready) ()
  done;
  Buffer.contents log

let shallow () =
  let open Shallow in
  let rec loop : type a. int -> (a, int) continuation -> a -> int =
   fun count k value ->
    continue_with k value
      {
        retc = (fun n -> n + count);
        exnc = raise;
        effc =
          (fun (type b) (e : b Effect.t) ->
            match e with
            | Ask text ->
                Some (fun (k : (b, int) continuation) -> loop (count + 1) k (String.length text))
            | _ -> None);
      }
  in
  loop 0 (fiber (fun () -> perform (Ask "one") + perform (Ask "three"))) ()

let exceptions () =
  let through = try handlers 20 with Unhandled _ -> -1 in
  let discontinued =
    match nested 100 with
    | n -> n
    | effect Ask _, k -> ( try Deep.discontinue k Not_found with Not_found -> -2)
  in
  let raised = match raise Exit with () -> 0 | exception Exit -> -3 | effect Pause, _ -> 1 in
  let nobody = try perform Unknown; 0 with Unhandled Unknown -> -4 in
  List.map string_of_int [ through; discontinued; raised; nobody ]

(* Taken up long after, and after the collector ran over it. *)
let kept () =
  let stored = ref [] in
  for n = 1 to 100 do
    match perform (Ask (string_of_int n)) + List.length (List.init n Fun.id) with
    | answer -> stored := (fun () -> answer) :: !stored
    | effect Ask question, k ->
        stored := (fun () -> Deep.continue k (String.length question); 1) :: !stored
  done;
  Gc.full_major ();
  Gc.compact ();
  let pending = !stored in
  List.length pending + List.fold_left (fun sum resume -> sum + resume ()) 0 pending

let () =
  let iterate f = List.iter f (List.init 2_000 Fun.id) in
  Printf.printf "generator: %d\n" (drain (generator iterate) 0);
  Printf.printf "answered: %d\n" (answered ());
  Printf.printf "scheduled: %s\n" (scheduled ());
  Printf.printf "shallow: %d\n" (shallow ());
  Printf.printf "exceptions: %s\n" (String.concat " " (exceptions ()));
  Printf.printf "kept: %d\n" (kept ());
  let elsewhere = Domain.spawn (fun () -> drain (generator iterate) 0 + answered ()) in
  Printf.printf "in a domain: %d\n" (Domain.join elsewhere)
