(* Keeps a little early and more late, with much that is not kept between: for rates that fall as a trace grows.
   What is kept is 2,000 and 20,000 strings of 1,000 bytes, 127 words each with their headers. *)

let kept = ref []

let[@inline never] early () =
  for _ = 1 to 2_000 do
    kept := Bytes.create 1_000 :: !kept
  done

let[@inline never] between () =
  for n = 1 to 20_000_000 do
    ignore (Sys.opaque_identity (ref n))
  done

let[@inline never] late () =
  for _ = 1 to 20_000 do
    kept := Bytes.create 1_000 :: !kept
  done

let () =
  early ();
  between ();
  late ();
  print_endline (string_of_int (List.length !kept))
