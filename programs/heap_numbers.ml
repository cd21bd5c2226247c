(* A heap with holes: live blocks of many sizes, dead ones between them, large ones. Prints the runtime's own
   numbers as `NAME NUMBER`, then `ready`, and waits; nothing is put into the major heap in between.

   The argument says when: `collected`, after full collections; `sweeping`, in the middle of a cycle. *)

let kept = ref []
let arrays : int array array = Array.make 500 [||]

let build () =
  for round = 1 to 20_000 do
    let block = (round, Array.make (round mod 140) round, string_of_int round) in
    if round mod 3 = 0 then kept := block :: !kept
  done;
  for round = 1 to 1000 do
    arrays.(round mod 500) <- Array.make (round * 3) round
  done;
  kept := List.filter (fun (round, _, _) -> round mod 2 = 0) !kept;
  Array.iteri (fun index _ -> if index mod 5 = 0 then arrays.(index) <- [||]) arrays

let print name number = Printf.printf "%s %d\n" name number

let print_stat (stat : Gc.stat) =
  print "promoted_words" (int_of_float stat.promoted_words);
  print "major_words" (int_of_float stat.major_words);
  print "minor_words" (int_of_float stat.minor_words);
  print "minor_collections" stat.minor_collections;
  print "major_collections" stat.major_collections;
  print "compactions" stat.compactions;
  (* The last field, since OCaml 4.12. *)
  if Obj.size (Obj.repr stat) > 16 then print "forced_major_collections" (Obj.obj (Obj.field (Obj.repr stat) 16));
  print "heap_words" stat.heap_words;
  print "top_heap_words" stat.top_heap_words;
  print "heap_chunks" stat.heap_chunks;
  print "live_words" stat.live_words;
  print "live_blocks" stat.live_blocks;
  print "free_words" stat.free_words;
  print "free_blocks" stat.free_blocks;
  print "largest_free" stat.largest_free;
  print "fragments" stat.fragments

let print_control (control : Gc.control) =
  print "minor_heap_size" control.minor_heap_size;
  print "space_overhead" control.space_overhead;
  print "custom_major_ratio" control.custom_major_ratio;
  print "custom_minor_ratio" control.custom_minor_ratio;
  print "custom_minor_max_size" control.custom_minor_max_size

let () =
  Gc.set { (Gc.get ()) with space_overhead = 120 };
  build ();
  let is_5 = Sys.ocaml_version.[0] >= '5' in
  Gc.full_major ();
  if Sys.argv.(1) = "sweeping" then begin
    build ();
    Gc.minor ();
    (* What is known to be dead counts as free in OCaml 4, which so says that it sweeps. In OCaml 5 it
       cannot be told; but right after two collections what died before them waits to be swept. *)
    let before = (Gc.quick_stat ()).major_collections in
    let free () = (Gc.stat ()).free_words in
    let at_first = if is_5 then 0 else free () in
    let is_there () =
      if is_5 then (Gc.quick_stat ()).major_collections > before + 1 else free () > at_first + 100_000
    in
    while not (is_there ()) do
      ignore (Gc.major_slice 5_000)
    done
  end;
  (* OCaml 5's Gc.stat collects first; without, it tells what was so at the last minor collection. *)
  Gc.minor ();
  print_stat (if is_5 then Gc.quick_stat () else Gc.stat ());
  print_control (Gc.get ());
  print_endline "ready";
  ignore (input_char stdin);
  ignore (Sys.opaque_identity (!kept, arrays))
