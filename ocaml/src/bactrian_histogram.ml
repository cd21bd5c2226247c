module Observer = Bactrian_observer

type cell
type t = cell * Observer.t

external make : string -> Observer.labels -> int -> t = "bactrian_histogram"
external record_cell : cell -> int -> unit = "bactrian_histogram_record" [@@noalloc]

let create ?(labels = []) ?(unit = `None) name =
  Observer.prepare ();
  make name labels (Observer.measure unit)

let[@inline] record (cell, _) number = record_cell cell number
let kill (_, id) = Observer.kill id
