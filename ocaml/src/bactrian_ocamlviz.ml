module Point = struct
  include Bactrian_point

  let create name = create name
  let observe_calls = observe_calls2
end

module Tag = struct
  (* Values are found by hashing their first fields and comparing all fields physically, because [Weak] passes shallow
     copies to these functions. *)
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

  (* The original does the same, whatever its documentation says. *)
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

let send_now = Bactrian_clients.show

(* The original's internals; these do nothing. *)
let to_send () = ""
let declare_tags () = ""
let set_nb_clients (_ : int) = ()

(* Like the original, which shows a program's memory as soon as it is linked. *)
let () = init ()
