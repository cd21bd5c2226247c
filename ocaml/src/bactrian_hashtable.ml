module Observer = Bactrian_observer

type walk

external make_walk : unit -> walk = "bactrian_table_walk"
external say_table : Observer.t -> Obj.Ephemeron.t -> walk -> int -> Observer.outcome = "bactrian_say_table"

let watch_any ?labels ?period name table =
  if Obj.is_int (Obj.repr table) then
    Observer.asked Observer.Table ?labels ?period name (fun _ ~deadline:_ -> failwith "this is not a hash table")
  else begin
    let cell = Obj.Ephemeron.create 1 and walk = make_walk () in
    Obj.Ephemeron.set_key cell 0 (Obj.repr table);
    Observer.asked Observer.Table ?labels ?period name (fun id ~deadline -> say_table id cell walk deadline)
  end

let watch ?labels ?period name (table : (_, _) Hashtbl.t) = watch_any ?labels ?period name table

let observe_any ?labels ?period name table =
  ignore (watch_any ?labels ?period name table);
  table

let observe ?labels ?period name (table : (_, _) Hashtbl.t) = observe_any ?labels ?period name table
