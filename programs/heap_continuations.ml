(* Continuations (OCaml 5): suspended computations in the heap, whose stacks hold values that nobody else does;
   nested handlers, one never resumed, one resumed already, and the program itself waiting inside a handler. Handlers are
   written as OCaml 5.0 to 5.2 know them, which have no syntax for them. *)

open Effect

type _ Effect.t += Pause : string -> int Effect.t

type suspended = Done of int | Waiting of string * (int, suspended) Deep.continuation

let run task =
  let effc (type a) (e : a Effect.t) =
    match e with
    | Pause why -> Some (fun (k : (a, suspended) Deep.continuation) -> Waiting (why, k))
    | _ -> None
  in
  Deep.match_with task () { retc = (fun n -> Done n); exnc = raise; effc }

let rec hold depth =
  let mine = List.init 10 (fun n -> string_of_int (n * depth)) in
  if depth = 0 then perform (Pause (string_of_int (Sys.opaque_identity 5)))
  else
    let below = hold (depth - 1) in
    Heap_fixture.keep mine;
    below + 1

let waiting = List.init 100 (fun n -> run (fun () -> hold n))

type _ Effect.t += Other : int Effect.t

(* The stack of a handler within one: both are captured together. *)
let nested n =
  let effc (type a) (e : a Effect.t) =
    match e with
    | Other -> Some (fun (k : (a, int) Deep.continuation) -> Deep.continue k 1)
    | _ -> None
  in
  run (fun () ->
      let mine = ref n in
      let inner = Deep.try_with hold n { effc } in
      incr mine;
      inner + !mine)

let captured = List.init 50 nested
let resumed = match run (fun () -> hold 20) with Waiting (_, k) -> Deep.continue k 3 | other -> other

let () =
  Heap_fixture.keep (waiting, captured, resumed);
  let mine = Array.init 100 string_of_int in
  let effc (type a) (e : a Effect.t) =
    match e with Pause _ -> Some (fun (_ : (a, unit) Deep.continuation) -> ()) | _ -> None
  in
  Deep.match_with Heap_fixture.ready ()
    { retc = (fun () -> Heap_fixture.keep mine); exnc = raise; effc }
