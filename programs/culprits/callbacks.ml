(* Whoever waits for a change registers a function, and takes it back never. *)

type widget = { name : string; pixels : Bytes.t }

module Signal = struct
  type t = { mutable listeners : (int -> unit) list }

  let changed = { listeners = [] }
  let connect signal listener = signal.listeners <- listener :: signal.listeners
  let emit signal value = List.iter (fun listener -> listener value) signal.listeners
end

let show n =
  let widget = { name = Printf.sprintf "widget %d" n; pixels = Bytes.make 2_000 '.' } in
  Signal.connect Signal.changed (fun value -> Bytes.set widget.pixels (value mod 2_000) '#');
  String.length widget.name

let () =
  let widgets = int_of_string Sys.argv.(1) in
  let letters = List.fold_left (fun all n -> all + show n) 0 (List.init widgets Fun.id) in
  Signal.emit Signal.changed 7;
  Printf.printf "%d\n" letters
