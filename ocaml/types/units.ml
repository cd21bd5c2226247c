type t = {
  name : string;
  file : string;
  interface : Digest.t option;
  imports : (string, Digest.t option) Hashtbl.t;
  directories : string list; (* where the compiler looked for what it imports *)
  structure : Typedtree.structure option;
  source : string;
  mutable evaluated : (Modules.t * Modules.frame option) option;
}

let folders : string list ref = ref []
let known : (string, t) Hashtbl.t = Hashtbl.create 100 (* several may have the same name *)
let announced : t list ref = ref []
let failure file reason = ignore (Table.Rows.add Table.failures (file, reason))

let rec search names =
  let inside name =
    if Sys.is_directory name then
      search (List.sort compare (List.map (Filename.concat name) (Array.to_list (Sys.readdir name))))
    else if Filename.check_suffix name ".cmt" then [ name ]
    else []
  in
  List.concat_map
    (fun name -> try inside name with Sys_error reason -> failure name reason; [])
    names

let reason = function
  | Cmt_format.Error (Not_a_typedtree what) -> what
  | Cmi_format.Error _ -> "it was written by another version of the compiler"
  | End_of_file | Failure _ -> "it is cut or damaged"
  | Sys_error what -> what
  | Stack_overflow -> "it needs a larger stack"
  | error -> Printexc.to_string error

let cmi_beside file =
  match Cmi_format.read_cmi (Filename.remove_extension file ^ ".cmi") with
  | cmi -> Some cmi
  | exception _ -> None

(* The interface's digest is in its own file, if it was compiled by itself. *)
let interface_digest (cmt : Cmt_format.cmt_infos) file =
  match cmt.cmt_interface_digest with
  | Some digest -> Some digest
  | None ->
      Option.bind (cmi_beside file) (fun cmi -> Option.join (List.assoc_opt cmt.cmt_modname cmi.Cmi_format.cmi_crcs))

(* A .cmx ends with its digest. It is beside the .cmt, or where dune puts it. *)
let implementation_digest file =
  let base = Filename.remove_extension (Filename.basename file) ^ ".cmx" in
  let folder = Filename.dirname file in
  let of_file name =
    let channel = open_in_bin name in
    Fun.protect ~finally:(fun () -> close_in channel) @@ fun () ->
    let magic = really_input_string channel (String.length Config.cmx_magic_number) in
    if magic <> Config.cmx_magic_number then None
    else begin
      seek_in channel (in_channel_length channel - 16);
      Some (really_input_string channel 16)
    end
  in
  let places = [ Filename.concat folder base; Filename.concat (Filename.concat (Filename.dirname folder) "native") base ] in
  match List.find_opt Sys.file_exists places with
  | None -> None
  | Some name -> ( try of_file name with Sys_error _ | End_of_file -> None)

let read file =
  let cmt = Cmt_format.read_cmt file in
  let imports = Hashtbl.create 20 in
  List.iter (fun (name, digest) -> Hashtbl.replace imports name digest) cmt.cmt_imports;
  let absolute folder = if Filename.is_relative folder then Filename.concat cmt.cmt_builddir folder else folder in
  let unit_ =
    { name = cmt.cmt_modname; file; interface = interface_digest cmt file; imports;
      directories = Filename.dirname file :: List.map absolute (Compat.load_path cmt);
      structure = (match cmt.cmt_annots with Implementation s -> Some s | _ -> None);
      source = Option.value cmt.cmt_sourcefile ~default:""; evaluated = None }
  in
  Hashtbl.add known unit_.name unit_;
  unit_

let evaluate unit_ =
  match (unit_.evaluated, unit_.structure) with
  | Some made, _ -> made
  | None, None -> (Modules.Unknown unit_.name, None)
  | None, Some structure ->
      let m, frame = Modules.of_structure unit_.name structure in
      let made = (m, Some frame) in
      unit_.evaluated <- Some made;
      made

(* A unit that is not in the table, but used by one that is: its .cmt, or at least its .cmi. *)
let load ~directories name =
  let file = String.uncapitalize_ascii name in
  let candidates =
    List.concat_map
      (fun folder -> [ Filename.concat folder file; Filename.concat folder name ])
      (!folders @ directories)
  in
  let exists extension = List.find_opt (fun base -> Sys.file_exists (base ^ extension)) candidates in
  let of_cmi () =
    match exists ".cmi" with
    | None -> None
    | Some base -> (
        match Cmi_format.read_cmi (base ^ ".cmi") with
        | exception _ -> None
        | cmi ->
            let m = Modules.of_signature name cmi.cmi_sign in
            Some
              { name; file = base ^ ".cmi"; interface = Option.join (List.assoc_opt name cmi.cmi_crcs);
                imports = Hashtbl.create 1; directories; structure = None; source = ""; evaluated = Some (m, None) })
  in
  let of_cmt () =
    match exists ".cmt" with
    | None -> None
    | Some base -> ( match read (base ^ ".cmt") with exception _ -> None | u -> if u.structure = None then None else Some u)
  in
  match of_cmt () with
  | Some unit_ -> Some unit_
  | None ->
      let unit_ = of_cmi () in
      Option.iter (fun u -> Hashtbl.add known name u) unit_;
      unit_

let fits digest unit_ =
  match (digest, unit_.interface) with Some a, Some b -> a = b | _ -> true

(* A unit's name alone may mean several units; the digest says which one was compiled against. *)
let find ~from name =
  let user = Hashtbl.find_opt known from in
  let digest = Option.join (Option.bind user (fun u -> Hashtbl.find_opt u.imports name)) in
  let evaluate unit_ = fst (evaluate unit_) in
  match List.filter (fun u -> u.structure <> None || u.evaluated <> None) (Hashtbl.find_all known name) with
  | [] -> (
      let directories = match user with Some u -> u.directories | None -> [] in
      match load ~directories name with
      | Some unit_ when fits digest unit_ -> evaluate unit_
      | Some _ -> Modules.Unknown (Names.unit name ^ ", which was compiled anew since")
      | None ->
          Modules.Unknown (Names.unit name))
  | candidates -> (
      match List.find_opt (fits digest) (List.rev candidates) with
      | Some unit_ -> evaluate unit_
      | None -> Modules.Unknown (Names.unit name ^ ", which was compiled anew since"))

let () = Modules.find_unit := find

let add file =
  match read file with
  | { structure = None; _ } -> failure file "there is no implementation in it"
  | unit_ -> announced := unit_ :: !announced
  | exception error -> failure file (reason error)

let layout unit_ m frame structure =
  Option.map
    (fun (cmi : Cmi_format.cmi_infos) -> Layouts.of_unit frame m (Names.unit unit_.name) structure ~interface:cmi.cmi_sign)
    (cmi_beside unit_.file)

let finish_unit unit_ structure =
  let m, frame = evaluate unit_ in
  let frame = Option.get frame in
  let unit_layout = try layout unit_ m frame structure with error -> failure unit_.file (reason error); None in
  let number =
    Table.Rows.add Table.units
      { unit_name = unit_.name; source = unit_.source; cmt = unit_.file; interface = unit_.interface;
        implementation = implementation_digest unit_.file; unit_layout }
  in
  Sites.add ~unit:number frame structure

let finish () =
  let finish_one unit_ =
    try Option.iter (finish_unit unit_) unit_.structure with error -> failure unit_.file (reason error)
  in
  List.iter finish_one (List.rev !announced)
