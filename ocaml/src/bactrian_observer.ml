type t = int
type labels = (string * string) list
type unit_of_measure = [ `None | `Bytes | `Nanoseconds | `Percent ]

(* The stubs rely on the order of these two types. *)
type kind = Point | Time | Int | Float | Bool | Text | Tag | Tree | Table | Counter | Gauge
type outcome = Said | Unfinished | Collected

external prepare_stubs : unit -> unit = "bactrian_prepare"
external declare_asked : kind -> string -> labels -> int -> int -> t = "bactrian_asked"
external declare_published : kind -> string -> labels -> int -> t = "bactrian_published"
external kill_observer : t -> unit = "bactrian_kill"
external set_period : t -> int -> unit = "bactrian_set_period"
external say : t -> kind -> 'a -> unit = "bactrian_say"
external say_failed : t -> string -> unit = "bactrian_say_failed"
external begin_evaluation : unit -> bool = "bactrian_begin"
external end_evaluation : unit -> unit = "bactrian_end"
external next : unit -> t = "bactrian_next"
external again : t -> unit = "bactrian_again"
external is_stopped : t -> bool = "bactrian_is_stopped" [@@noalloc]
external spent : t -> int -> unit = "bactrian_spent"
external now : unit -> int = "bactrian_nanos" [@@noalloc]
external may_take : Obj.Ephemeron.t -> int -> outcome = "bactrian_may_take" [@@noalloc]
external collections : unit -> int = "bactrian_collections" [@@noalloc]
external tell_collected : t -> unit = "bactrian_collected"

(* How long observers may pause the program at one tick, in nanoseconds. *)
let budget = 4_000_000
let none = 0
let number id = id
let measure = function `None -> 0 | `Bytes -> 1 | `Nanoseconds -> 2 | `Percent -> 3

module Numbers = Map.Make (Int)

(* How observers are evaluated. Domains and threads change the map by replacing it atomically. *)
let evaluations : (t -> deadline:int -> outcome) Numbers.t Atomic.t = Atomic.make Numbers.empty

let rec change f =
  let before = Atomic.get evaluations in
  if not (Atomic.compare_and_set evaluations before (f before)) then change f

let forget id = if id <> none then change (Numbers.remove id)

let kill id =
  forget id;
  kill_observer id

let text error = try Printexc.to_string error with _ -> "an exception that cannot be printed"

let evaluate id ~deadline =
  match Numbers.find_opt id (Atomic.get evaluations) with
  | None -> ()
  | Some evaluation -> (
      let start = now () in
      match evaluation id ~deadline with
      | Said -> spent id (now () - start)
      | Unfinished -> again id
      | Collected -> forget id
      | exception error ->
          say_failed id (text error);
          spent id (now () - start))

let rec evaluate_all ~deadline =
  let id = next () in
  if id <> none then begin
    evaluate id ~deadline;
    if now () < deadline then evaluate_all ~deadline
  end

let answer () =
  if begin_evaluation () then begin
    (* Memory may be exhausted, or a finaliser may raise. *)
    (try evaluate_all ~deadline:(now () + budget) with _ -> ());
    end_evaluation ()
  end

(* Evaluates all observers, due or not, however long that takes, because the program itself requests it. Observers
   that a client has stopped remain stopped. *)
let answer_all () =
  if begin_evaluation () then begin
    (try
       evaluate_all ~deadline:max_int;
       Numbers.iter (fun id _ -> if not (is_stopped id) then evaluate id ~deadline:max_int) (Atomic.get evaluations)
     with _ -> ());
    end_evaluation ()
  end

let () = Callback.register "bactrian.answer" (fun (_ : int) -> answer ())
let is_prepared = ref false

let prepare () =
  prepare_stubs ();
  is_prepared := true

let[@inline] prepare_once () = if not !is_prepared then prepare ()

let declare kind labels unit period name evaluation =
  prepare ();
  let id = declare_asked kind name labels (measure unit) period in
  if id <> none then change (Numbers.add id evaluation);
  id

let asked kind ?(labels = []) ?(unit = `None) ?(period = 0) name evaluation =
  declare kind labels unit period name evaluation

let asked_weakly kind ?(labels = []) ?(unit = `None) ?(period = 0) name ~key evaluation =
  let cell = Obj.Ephemeron.create 1 and taken = ref min_int in
  Obj.Ephemeron.set_key cell 0 (Obj.repr key);
  let evaluate_if_alive id ~deadline:_ =
    match may_take cell !taken with
    | Collected -> tell_collected id; Collected
    | Unfinished -> Unfinished
    | Said -> (
        match Obj.Ephemeron.get_key cell 0 with
        | None -> tell_collected id; Collected
        | Some key ->
            taken := collections ();
            evaluation (Obj.obj key) id)
  in
  declare kind labels unit period name evaluate_if_alive

let published kind ?(labels = []) ?(unit = `None) name =
  prepare ();
  declare_published kind name labels (measure unit)
