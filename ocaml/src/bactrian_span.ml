module Observer = Bactrian_observer

type cell
type t = cell * Observer.t
type running = { span : cell; begun : int }

external make : string -> Observer.labels -> t = "bactrian_span"
external begin_cell : cell -> int = "bactrian_span_begin" [@@noalloc]
external end_cell : cell -> int -> unit = "bactrian_span_end" [@@noalloc]

let create ?(labels = []) name =
  Observer.prepare ();
  make name labels

let start (span, _) = { span; begun = begin_cell span }
let finish running = end_cell running.span running.begun

let during (span, _) f =
  let begun = begin_cell span in
  match f () with
  | result -> end_cell span begun; result
  | exception error ->
      let trace = Printexc.get_raw_backtrace () in
      end_cell span begun;
      Printexc.raise_with_backtrace error trace

let kill (_, id) = Observer.kill id
