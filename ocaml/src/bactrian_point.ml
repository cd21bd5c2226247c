module Observer = Bactrian_observer

(* Allocated by the stubs outside the heap, because the server's thread reads it. *)
type t = { mutable count : int; id : Observer.t; mutable is_shared : bool } [@@warning "-69"]

external make : Observer.kind -> string -> Observer.labels -> int -> t = "bactrian_counter"
external add_in_domain : t -> int -> unit = "bactrian_counter_add" [@@noalloc]
external count : t -> int = "bactrian_counter_get" [@@noalloc]

let create ?(labels = []) name =
  Observer.prepare ();
  Bactrian_domains.prepare ();
  make Observer.Point name labels 0

let[@inline] observe point =
  if point.is_shared then add_in_domain point 1 else point.count <- point.count + 1

let kill point = Observer.kill point.id

let observe_calls name f =
  let point = create name in
  fun x -> observe point; f x

let observe_calls2 name f =
  let point = create name in
  fun x y -> observe point; f x y

let observe_calls_rec name f =
  let point = create name in
  let rec call x = observe point; f call x in
  call

let observe_calls_rec2 name f =
  let point = create name in
  let rec call x y = observe point; f call x y in
  call
