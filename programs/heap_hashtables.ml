(* Hash tables: growing ones, with several bindings of a key, by structure, by identity, and nested. *)

let by_name : (string, int list) Hashtbl.t = Hashtbl.create 1
let several : (int, string) Hashtbl.t = Hashtbl.create 10_000
let nested : (int, (string * int, float) Hashtbl.t) Hashtbl.t = Hashtbl.create 16

module Identity = Hashtbl.Make (struct
  type t = string ref

  let equal = ( == )
  let hash text = Hashtbl.hash !text
end)

let identities = Identity.create 8

let () =
  for n = 1 to 20_000 do
    Hashtbl.replace by_name (string_of_int (n mod 7_000)) [ n; -n ];
    Hashtbl.add several (n mod 100) (string_of_int n);
    Identity.replace identities (ref (string_of_int (n mod 10))) n
  done;
  for n = 1 to 100 do
    let inner = Hashtbl.create 4 in
    for m = 1 to n do
      Hashtbl.replace inner ("key", m) (float_of_int (n * m))
    done;
    Hashtbl.replace nested n inner
  done;
  for n = 1 to 3_000 do
    Hashtbl.remove by_name (string_of_int n)
  done

let () = Heap_fixture.ready ()
