(* Roots that only OCaml 5 has: domains, fibers that run and fibers that are suspended. *)

open Effect
open Effect.Deep

external register : 'a -> unit = "heap_roots_register"
external note : unit -> unit = "heap_roots_note"
external list_roots : 'a -> unit = "heap_roots_list"

type _ Effect.t += Wait : string list -> string list Effect.t

let text n = String.concat "-" [ "text"; string_of_int n ]
let suspended : (string list, int) continuation list ref = ref []
let key = Domain.DLS.new_key (fun () -> [ text 0 ])
let never_read, never_written = Unix.pipe ()
let started = Atomic.make 0

let rec hold depth =
  let mine = List.init (depth + 1) text in
  let below =
    if depth = 0 then begin
      note ();
      Atomic.incr started;
      Unix.read never_read (Bytes.create 1) 0 1
    end
    else hold (depth - 1)
  in
  below + List.length mine

let in_domain n =
  let value = ref (text n) in
  Gc.finalise (fun value -> value := "") value;
  Domain.DLS.set key [ text n; text (n + 1) ];
  let thread = Thread.create (fun () -> ignore (Unix.read never_read (Bytes.create 1) 0 1)) () in
  let held = hold (n + 3) in
  Thread.join thread;
  held + String.length !value

let rec performing n =
  let here = [ text n ] in
  let got = if n = 0 then perform (Wait here) else string_of_int (performing (n - 1)) :: here in
  List.length got + List.length here

(* A fiber that is suspended, and holds values that nobody else does. *)
let suspend n =
  match_with performing n
    { retc = (fun n -> n);
      exnc = raise;
      effc =
        (fun (type a) (e : a Effect.t) ->
          match e with
          | Wait _ -> Some (fun (k : (a, int) continuation) -> suspended := k :: !suspended; n)
          | _ -> None) }

(* Handlers within handlers: fibers below one another when the roots are listed. *)
let rec within n kept =
  match_with
    (fun () ->
      let mine = List.init n text in
      if n = 0 then list_roots kept else within (n - 1) (text n :: kept);
      print_string (String.concat "" mine))
    ()
    { retc = (fun () -> print_string (String.concat "" kept));
      exnc = (fun e -> print_string (String.concat "" kept); raise e);
      effc = (fun (type a) (_ : a Effect.t) -> None) }

let domains = List.init 2 (fun n -> Domain.spawn (fun () -> in_domain n))

let () =
  Domain.DLS.set key [ text 9 ];
  Printexc.record_backtrace true;
  (try failwith (text 8) with Failure _ -> ());
  register (text 3);
  for n = 1 to 5 do ignore (suspend n) done;
  while Atomic.get started < 2 do Domain.cpu_relax () done;
  Unix.sleepf 0.2;
  within 4 [ text 1 ];
  ignore (domains, never_written)
