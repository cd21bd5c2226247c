module type Monitor = sig
  module Point : sig
    type t

    val create : string -> t
    val kill : t -> unit
    val observe : t -> unit
    val observe_calls : string -> ('a -> 'b -> 'c) -> 'a -> 'b -> 'c
    val observe_calls2 : string -> ('a -> 'b -> 'c) -> 'a -> 'b -> 'c
    val observe_calls_rec : string -> (('a -> 'b) -> 'a -> 'b) -> 'a -> 'b
    val observe_calls_rec2 : string -> (('a -> 'b -> 'c) -> 'a -> 'b -> 'c) -> 'a -> 'b -> 'c
  end

  module Tag : sig
    module WeakHash : sig
      type t
      type data

      val create : int -> t
      val clear : t -> unit
      val merge : t -> data -> data
      val add : t -> data -> unit
      val remove : t -> data -> unit
      val find : t -> data -> data
      val find_all : t -> data -> data list
      val mem : t -> data -> bool
      val iter : (data -> unit) -> t -> unit
      val fold : (data -> 'a -> 'a) -> t -> 'a -> 'a
      val count : t -> int
      val stats : t -> int * int * int * int * int * int
    end

    type t

    val create :
      ?size:bool -> ?count:bool -> ?fct_size:(WeakHash.t -> Int64.t) -> ?period:int -> string -> t

    val kill : t -> unit
    val set_period : t -> int -> unit
    val mark : t -> 'a -> 'a
  end

  module Time : sig
    type t

    val elapsed_time : unit -> float
    val create : string -> t
    val kill : t -> unit
    val start : t -> unit
    val stop : t -> unit
    val time : string -> ('a -> 'b) -> 'a -> 'b
  end

  module Value : sig
    val observe_int_fct : ?weak:bool -> ?period:int -> string -> (unit -> int) -> unit
    val observe_int : ?weak:bool -> ?period:int -> string -> int -> unit
    val observe_float_fct : ?weak:bool -> ?period:int -> string -> (unit -> float) -> unit
    val observe_float : ?weak:bool -> ?period:int -> string -> float -> unit
    val observe_bool_fct : ?weak:bool -> ?period:int -> string -> (unit -> bool) -> unit
    val observe_bool : ?weak:bool -> ?period:int -> string -> bool -> unit
    val observe_string_fct : ?weak:bool -> ?period:int -> string -> (unit -> string) -> unit
    val observe_string : ?weak:bool -> ?period:int -> string -> string -> unit
    val observe_int_ref : ?period:int -> string -> int ref -> int ref
    val observe_float_ref : ?period:int -> string -> float ref -> float ref
    val observe_bool_ref : ?period:int -> string -> bool ref -> bool ref
    val observe_string_ref : ?period:int -> string -> string ref -> string ref
  end

  module Tree : sig
    val observe : ?period:int -> string -> (unit -> Bactrian_protocol.variant) -> unit
  end

  module Hashtable : sig
    type 'a t

    val observe : ?period:int -> string -> 'a -> 'a
  end

  val to_send : unit -> string
  val declare_tags : unit -> string

  val log : ('a, Format.formatter, unit, unit) format4 -> 'a
  val wait_for_connected_clients : int -> unit
  val wait_for_killed_clients : unit -> unit

  val set_nb_clients : int -> unit
end

module Point = struct
  include Bactrian_point

  let create name = create name
  let observe_calls = observe_calls2
end

module Tag = struct
  (* A value in it is found by what its first fields are, as they are compared with those of copies. *)
  module WeakHash = struct
    module Key = struct
      type t = Obj.t

      let hash value = Hashtbl.hash_param 4 8 value

      let equal a b =
        Obj.tag a = Obj.tag b
        && Obj.size a = Obj.size b
        &&
        if Obj.tag a >= Obj.no_scan_tag then a = b
        else
          let rec same field = field < 0 || (Obj.field a field == Obj.field b field && same (field - 1)) in
          same (Obj.size a - 1)
    end

    include Weak.Make (Key)
  end

  type t = Bactrian_tag.t

  let create ?size ?count ?fct_size ?period name =
    let measure of_table all =
      let table = WeakHash.create 1000 in
      all (WeakHash.add table);
      Int64.to_int (of_table table)
    in
    Bactrian_tag.create_with ?size ?count ?measure:(Option.map measure fct_size) ?period name

  let kill = Bactrian_tag.kill
  let set_period = Bactrian_tag.set_period
  let mark = Bactrian_tag.mark
end

module Time = struct
  include Bactrian_time

  let create name = create name

  (* So does the original, whatever its documentation says. *)
  let stop time = try stop time with Not_started -> ()
end

module Value = struct
  open Bactrian_value

  let observe_int_fct ?weak ?period name f = ignore (int ?weak ?period name f)
  let observe_float_fct ?weak ?period name f = ignore (float ?weak ?period name f)
  let observe_bool_fct ?weak ?period name f = ignore (bool ?weak ?period name f)
  let observe_string_fct ?weak ?period name f = ignore (string ?weak ?period name f)
  let observe_int ?weak:_ ?period:_ name it = ignore (constant_int name it)
  let observe_float ?weak:_ ?period:_ name it = ignore (constant_float name it)
  let observe_bool ?weak:_ ?period:_ name it = ignore (constant_bool name it)
  let observe_string ?weak:_ ?period:_ name it = ignore (constant_string name it)
  let observe_int_ref ?period name it = ignore (int_ref ?period name it); it
  let observe_float_ref ?period name it = ignore (float_ref ?period name it); it
  let observe_bool_ref ?period name it = ignore (bool_ref ?period name it); it
  let observe_string_ref ?period name it = ignore (string_ref ?period name it); it
end

module Tree = struct
  let observe ?period name f = ignore (Bactrian_tree.observe ?period name f)
end

module Hashtable = struct
  type 'a t = 'a

  let observe ?period name table = Bactrian_hashtable.observe_any ?period name table
end

let log = Bactrian_log.log
let wait_for_connected_clients = Bactrian_clients.wait_for_connected
let wait_for_killed_clients = Bactrian_clients.wait_for_killed
let yield = Bactrian_clients.yield
let init = Bactrian_observer.prepare

let send_now () =
  yield ();
  Bactrian_clients.tick ()

(* What the original is built from; there is nothing behind these. *)
let to_send () = ""
let declare_tags () = ""
let set_nb_clients (_ : int) = ()

(* As the original, which shows a program's memory if it is linked with it. *)
let () = init ()
