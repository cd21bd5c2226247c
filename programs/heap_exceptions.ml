(* Exceptions: as values with and without arguments, of exceptions that are made while the program runs, and
   their backtraces; handlers on the stack while the program waits. *)

exception Simple
exception Carrying of string * int list

let () = Printexc.record_backtrace true
let values = List.init 1_000 (fun n -> Carrying (string_of_int n, [ n; n + 1 ]))
let plain = Array.make 100 Simple

(* Each is an exception of its own. *)
let fresh n =
  let exception Local of int in
  Local n

let locals = List.init 500 fresh

let rec fail n = if n = 0 then raise (Carrying ("deep", [])) else 1 + fail (n - 1)

let traces =
  List.init 50 (fun n ->
      match fail n with
      | _ -> None
      | exception (Carrying _ as reason) -> Some (reason, Printexc.get_raw_backtrace ()))

let rec guarded n =
  let mine = [ string_of_int n ] in
  if n = 0 then Heap_fixture.ready ()
  else
    try
      guarded (n - 1);
      Heap_fixture.keep mine
    with Carrying (text, _) -> print_endline (List.hd mine ^ text)

let () =
  Heap_fixture.keep (values, plain, locals, traces);
  guarded 200
