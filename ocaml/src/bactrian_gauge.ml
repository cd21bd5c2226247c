module Observer = Bactrian_observer

type cell
type t = cell * Observer.t

external make : string -> Observer.labels -> int -> t = "bactrian_gauge"
external set_cell : cell -> (float[@unboxed]) -> unit = "bactrian_gauge_set" "bactrian_gauge_set_unboxed" [@@noalloc]
external add_cell : cell -> (float[@unboxed]) -> unit = "bactrian_gauge_add" "bactrian_gauge_add_unboxed" [@@noalloc]
external get_cell : cell -> (float[@unboxed]) = "bactrian_gauge_get" "bactrian_gauge_get_unboxed"

let create ?(labels = []) ?(unit = `None) name =
  Observer.prepare ();
  make name labels (Observer.measure unit)

let[@inline] set (cell, _) number = set_cell cell number
let[@inline] add (cell, _) number = add_cell cell number
let get (cell, _) = get_cell cell
let kill (_, id) = Observer.kill id
