(* Stacks of fibers (OCaml 5): 2,000 suspended continuations that a module holds, a quarter of them with stacks that have
   grown; 100 fibers that have ended, whose stacks the runtime keeps; and the program itself, which waits inside a handler. *)

open Effect

type _ Effect.t += Pause : int Effect.t

type suspended = Done of int | Waiting of (int, suspended) Deep.continuation

let run task = match task () with n -> Done n | effect Pause, k -> Waiting k
let rec deep n = if n = 0 then perform Pause else 1 + deep (n - 1)
let small = List.init 1_500 (fun _ -> run (fun () -> perform Pause))
let grown = List.init 500 (fun _ -> run (fun () -> deep 100))

let () =
  let resume = function Waiting k -> Heap_fixture.keep (Deep.continue k 1) | Done _ -> () in
  List.iter resume (List.init 100 (fun _ -> run (fun () -> perform Pause)));
  Heap_fixture.keep (small, grown);
  match Heap_fixture.ready () with () -> () | effect Pause, _ -> ()
