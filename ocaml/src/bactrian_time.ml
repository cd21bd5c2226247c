module Observer = Bactrian_observer

type cell
type t = { cell : cell; id : Observer.t }

exception Already_started
exception Not_started

external make : string -> Observer.labels -> t = "bactrian_stopwatch"
external start_cell : cell -> bool = "bactrian_stopwatch_start" [@@noalloc]
external stop_cell : cell -> bool = "bactrian_stopwatch_stop" [@@noalloc]
external enter_cell : cell -> unit = "bactrian_stopwatch_enter" [@@noalloc]
external leave_cell : cell -> unit = "bactrian_stopwatch_leave" [@@noalloc]
external elapsed_time : unit -> (float[@unboxed]) = "bactrian_now" "bactrian_now_unboxed"

let create ?(labels = []) name =
  Observer.prepare ();
  make name labels

let[@inline] start time = if not (start_cell time.cell) then raise Already_started
let[@inline] stop time = if not (stop_cell time.cell) then raise Not_started
let[@inline] enter time = enter_cell time.cell
let[@inline] leave time = leave_cell time.cell

let leave_and_raise time error =
  let trace = Printexc.get_raw_backtrace () in
  leave time;
  Printexc.raise_with_backtrace error trace

let kill time = Observer.kill time.id

module Names = Map.Make (String)

let named : t Names.t Atomic.t = Atomic.make Names.empty

let rec of_name name =
  let before = Atomic.get named in
  match Names.find_opt name before with
  | Some time -> time
  | None ->
      let time = create name in
      if Atomic.compare_and_set named before (Names.add name time before) then time
      else begin
        kill time;
        of_name name
      end

let time name f x =
  let time = of_name name in
  enter time;
  match f x with
  | result -> leave time; result
  | exception error -> leave_and_raise time error
