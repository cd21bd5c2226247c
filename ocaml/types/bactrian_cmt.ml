(* Reads .cmt files and writes a table of types: see docs/formats/types.md. *)

let usage = "bactrian-cmt -o OUT.types [-I FOLDER].. [-p PROGRAM].. FILE.cmt|FOLDER.."

let () =
  let output = ref "" and inputs = ref [] in
  let folder name = Units.folders := !Units.folders @ [ name ] in
  Arg.parse
    [ ("-o", Arg.Set_string output, "FILE  write the table to this file");
      ("-I", Arg.String folder, "FOLDER  look here for units that are used, but not among those that are read");
      ("-p", Arg.String (fun name -> Units.linked := name :: !Units.linked), "PROGRAM  what was linked from them: a program or a plugin") ]
    (fun input -> inputs := input :: !inputs)
    usage;
  if !output = "" || !inputs = [] then begin
    prerr_endline ("usage: " ^ usage);
    exit 2
  end;
  match
    Units.add (Units.search (List.rev !inputs));
    Convert.finish ();
    Table.save !output
  with
  | () -> prerr_endline (Table.summary ())
  | exception error ->
      prerr_endline ("bactrian-cmt: " ^ Printexc.to_string error);
      exit 1
