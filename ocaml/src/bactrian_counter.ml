module Observer = Bactrian_observer

(* The same record as [Bactrian_point.t]. *)
type t = { mutable count : int; id : Observer.t; mutable is_shared : bool } [@@warning "-69"]

external make : Observer.kind -> string -> Observer.labels -> int -> t = "bactrian_counter"
external add_in_domain : t -> int -> unit = "bactrian_counter_add" [@@noalloc]
external get : t -> int = "bactrian_counter_get" [@@noalloc]

let create ?(labels = []) ?(unit = `None) name =
  Observer.prepare ();
  Bactrian_domains.prepare ();
  make Observer.Counter name labels (Observer.measure unit)

let[@inline] add counter more =
  if more > 0 then
    if counter.is_shared then add_in_domain counter more else counter.count <- counter.count + more

let[@inline] incr counter = add counter 1
let kill counter = Observer.kill counter.id
