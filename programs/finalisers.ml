(* Finalisers, weak pointers and ephemerons: what is gone and what is kept is decided by reachability
   alone, so a recorder that holds on to blocks, or lets go of them, changes what this prints. *)

let finalised = Array.make 3 0
let count kind = finalised.(kind) <- finalised.(kind) + 1

(* Not inlined, so that no register or stack slot keeps what was made here. *)
let[@inline never] with_finalisers n =
  List.init n (fun m ->
      let block = ref m in
      Gc.finalise (fun block -> if !block = m then count 0) block;
      let last = Bytes.make (m mod 40) 'x' in
      Gc.finalise_last (fun () -> count 1) last;
      (* Makes the block reachable once more. *)
      let again = ref m in
      Gc.finalise
        (fun again ->
          count 2;
          if !again mod 2 = 0 then begin
            again := 1;
            Gc.finalise (fun _ -> count 2) again
          end)
        again;
      (block, last, again))

let[@inline never] weak_pointers n =
  let weak = Weak.create n in
  let kept = ref [] in
  for i = 0 to n - 1 do
    let block = ref i in
    Weak.set weak i (Some block);
    if i mod 3 = 0 then kept := block :: !kept
  done;
  (weak, kept)

let full weak = List.length (List.filter (Weak.check weak) (List.init (Weak.length weak) Fun.id))

module Names = Weak.Make (struct
  type t = string

  let equal = String.equal
  let hash = Hashtbl.hash
end)

module Table = Ephemeron.K1.Make (struct
  type t = int ref

  let equal = ( == )
  let hash key = !key
end)

let[@inline never] ephemerons n =
  let table = Table.create 16 in
  let keys = List.init n ref in
  (* The data refers to its key, which must not keep it. *)
  List.iter (fun key -> Table.replace table key (key, String.make 20 'd')) keys;
  (table, List.filter (fun key -> !key mod 5 = 0) keys)

let settle () =
  for _ = 1 to 4 do
    Gc.full_major ()
  done

let () =
  let blocks = ref (with_finalisers 500) in
  settle ();
  Printf.printf "held: %d %d %d\n" finalised.(0) finalised.(1) finalised.(2);
  ignore (Sys.opaque_identity !blocks);
  blocks := [];
  settle ();
  Printf.printf "let go: %d %d %d\n" finalised.(0) finalised.(1) finalised.(2);
  let weak, kept = weak_pointers 900 in
  settle ();
  Printf.printf "weak: %d of %d, %d held\n" (full weak) (Weak.length weak) (List.length !kept);
  kept := [];
  settle ();
  Printf.printf "weak: %d\n" (full weak);
  let names = Names.create 10 in
  let held = List.init 20 (fun n -> Names.merge names (Printf.sprintf "kept %d" n)) in
  for n = 1 to 500 do
    ignore (Names.merge names (Printf.sprintf "name %d" n))
  done;
  settle ();
  Printf.printf "names: %d, %d held\n" (Names.count names) (List.length (Sys.opaque_identity held));
  let table, keys = ephemerons 500 in
  settle ();
  let found = List.for_all (fun key -> fst (Table.find table key) == key) keys in
  let stats = Table.stats_alive table in
  Printf.printf "ephemerons: %d, all found %b\n" stats.Hashtbl.num_bindings found;
  at_exit (fun () -> Printf.printf "at the end: %d\n" (List.length (Sys.opaque_identity keys)))
