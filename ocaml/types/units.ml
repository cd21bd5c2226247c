type t = {
  number : int; (* among all units that were read *)
  name : string;
  file : string;
  interface : Digest.t option;
  imports : (string, Digest.t option) Hashtbl.t;
  directories : string list; (* where the compiler looked for imports *)
  structure : Typedtree.structure option;
  source : string;
  text : string option; (* the path of the source, if it is still the one that was compiled *)
  mutable evaluated : (Modules.t * Modules.frame option) option;
}

let folders : string list ref = ref []
let linked : string list ref = ref []
let input_folders : string list ref = ref []
let all : t Table.Rows.t = Table.Rows.create ()
let known : (string, t) Hashtbl.t = Hashtbl.create 100 (* several may have the same name *)
let failure file reason = ignore (Table.Rows.add Table.failures (file, reason))

(* Symbolic links between folders may form cycles. *)
let deepest_folder = 30

let search names =
  let rec inside depth name =
    match Sys.is_directory name with
    | true when depth < deepest_folder ->
        let names = Array.to_list (Sys.readdir name) in
        List.concat_map (inside (depth + 1)) (List.map (Filename.concat name) (List.sort compare names))
    | true -> []
    | false -> if Filename.check_suffix name ".cmt" then [ name ] else []
    | exception Sys_error reason ->
        if depth = 0 then failure name reason;
        []
  in
  List.concat_map (inside 0) names

(* The compiler reports files of another version only for interfaces. *)
let is_of_another_version file =
  let kinds = [ Config.cmt_magic_number; Config.cmi_magic_number ] in
  let family magic = String.sub magic 0 (String.length magic - 3) in
  match open_in_bin file with
  | exception Sys_error _ -> false
  | channel ->
      Fun.protect ~finally:(fun () -> close_in channel) @@ fun () ->
      let magic = try really_input_string channel (String.length Config.cmt_magic_number) with End_of_file -> "" in
      (not (List.mem magic kinds)) && magic <> "" && List.mem (family magic) (List.map family kinds)

let reason file = function
  | (Cmt_format.Error _ | Cmi_format.Error _) when is_of_another_version file ->
      "it was written by another version of the compiler"
  | Cmt_format.Error _ | Cmi_format.Error _ | End_of_file | Failure _ -> "it is cut or damaged"
  | Sys_error what -> what
  | Stack_overflow -> "it needs a larger stack"
  | error -> Printexc.to_string error

(* A unit whose interface was compiled separately imports that interface. *)
let interface_digest (cmt : Cmt_format.cmt_infos) =
  match cmt.cmt_interface_digest with
  | Some digest -> Some digest
  | None -> Option.join (List.assoc_opt cmt.cmt_modname cmt.cmt_imports)

(* The .cmx is beside the .cmt, or where dune puts it. *)
let implementation file =
  let base = Filename.remove_extension (Filename.basename file) ^ ".cmx" in
  let folder = Filename.dirname file in
  let native = Filename.concat (Filename.dirname folder) "native" in
  List.find_opt Sys.file_exists [ Filename.concat folder base; Filename.concat native base ]

(* A .cmx ends with its digest. *)
let implementation_digest file =
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
  match implementation file with
  | None -> None
  | Some name -> ( try of_file name with Sys_error _ | End_of_file -> None)

(* How many folders above a .cmt are searched for its source, if it is not where the compiler recorded it. *)
let far = 8

(* The source of a .cmt, if it still exists and is unchanged. *)
let text file (cmt : Cmt_format.cmt_infos) =
  let rec above count folder = if count = 0 then [] else folder :: above (count - 1) (Filename.dirname folder) in
  let is_it digest name = try (not (Sys.is_directory name)) && Compat.source_digest name = digest with Sys_error _ -> false in
  match (cmt.cmt_sourcefile, cmt.cmt_source_digest) with
  | Some source, Some digest ->
      let places = cmt.cmt_builddir :: above far (Filename.dirname file) in
      let in_place folder = if Filename.is_relative source then Filename.concat folder source else source in
      List.find_opt (is_it digest) (List.map in_place places)
  | _ -> None

let written name = match Unix.stat name with exception Unix.Unix_error _ -> None | about -> Some about.Unix.st_mtime

(* The file, a .cmx or a program, that is older than both the .cmt and its source, if there is one: then the .cmt was
   made from a later version of the source. Digests do not show that if the interface stayed the same. A .cmt that is
   newer while its source is not proves nothing, because dune writes files in any order. *)
let changed_since unit_ =
  match (written unit_.file, Option.bind unit_.text written) with
  | Some cmt, Some text ->
      let is_before name = match written name with Some time -> time < cmt && time < text | None -> false in
      (* The unit may belong to any of the linked programs. *)
      let linked = match !linked with one :: _ as all when List.for_all is_before all -> [ one ] | _ -> [] in
      List.find_opt is_before (Option.to_list (implementation unit_.file) @ linked)
  | _ -> None

let register unit_ =
  ignore (Table.Rows.add all unit_);
  Hashtbl.add known unit_.name unit_;
  unit_

let read file =
  let cmt = Cmt_format.read_cmt file in
  let imports = Hashtbl.create 20 in
  List.iter (fun (name, digest) -> Hashtbl.replace imports name digest) cmt.cmt_imports;
  let absolute folder = if Filename.is_relative folder then Filename.concat cmt.cmt_builddir folder else folder in
  match cmt.cmt_annots with
  | Implementation structure ->
      Ok
        (register
           { number = all.count; name = cmt.cmt_modname; file; interface = interface_digest cmt; imports;
             directories = Filename.dirname file :: List.map absolute (Compat.load_path cmt); structure = Some structure;
             source = Option.value cmt.cmt_sourcefile ~default:""; text = text file cmt; evaluated = None })
  | Partial_implementation _ | Partial_interface _ -> Error "it has errors in it"
  | Packed _ -> Error "it is a pack of other units"
  | Interface _ -> Error "there is no implementation in it"

let evaluate unit_ =
  match (unit_.evaluated, unit_.structure) with
  | Some made, _ -> made
  | None, None -> (Modules.Unknown unit_.name, None)
  | None, Some structure ->
      let m, frame = Modules.of_structure unit_.number (Names.unit unit_.name) structure in
      let made = (m, Some frame) in
      unit_.evaluated <- Some made;
      made

(* A unit that is used by one of the table but is not in it: its .cmt, or at least its .cmi. *)
let load ~directories name =
  let bases folder = [ Filename.concat folder (String.uncapitalize_ascii name); Filename.concat folder name ] in
  let candidates = List.concat_map bases (!folders @ directories @ !input_folders) in
  let exists extension = List.find_opt (fun base -> Sys.file_exists (base ^ extension)) candidates in
  let of_cmt base = match read (base ^ ".cmt") with Ok unit_ -> Some unit_ | Error _ | (exception _) -> None in
  let of_cmi base =
    match Cmi_format.read_cmi (base ^ ".cmi") with
    | exception _ -> None
    | cmi ->
        let m = Modules.of_signature all.count (Names.unit name) cmi.cmi_sign in
        let imports = Hashtbl.create 20 in
        List.iter (fun (name, digest) -> Hashtbl.replace imports name digest) cmi.cmi_crcs;
        Some
          (register
             { number = all.count; name; file = base ^ ".cmi"; imports; directories; structure = None; source = ""; text = None;
               interface = Option.join (Hashtbl.find_opt imports name); evaluated = Some (m, None) })
  in
  match Option.bind (exists ".cmt") of_cmt with
  | Some unit_ -> Some unit_
  | None -> Option.bind (exists ".cmi") of_cmi

let fits digest unit_ = match (digest, unit_.interface) with Some a, Some b -> a = b | _ -> true
let searched : (int * string, unit) Hashtbl.t = Hashtbl.create 20

(* Several units may have the same name; the digest says which one was imported. *)
let find ~from name =
  let user = Table.Rows.get all from in
  let digest = Option.join (Hashtbl.find_opt user.imports name) in
  let fitting () = List.find_opt (fits digest) (List.rev (Hashtbl.find_all known name)) in
  let unit_ =
    match fitting () with
    | None when not (Hashtbl.mem searched (from, name)) ->
        Hashtbl.add searched (from, name) ();
        ignore (load ~directories:user.directories name);
        fitting ()
    | found -> found
  in
  match unit_ with
  | Some unit_ -> fst (evaluate unit_)
  | None when Hashtbl.mem known name -> Modules.Unknown (Names.unit name ^ " as it was then")
  | None -> Modules.Unknown (Names.unit name)

let () = Modules.find_unit := find

(* Only the interface that the unit was compiled against determines its fields. *)
let layout unit_ m frame structure =
  let cmi = Cmi_format.read_cmi (Filename.remove_extension unit_.file ^ ".cmi") in
  if cmi.cmi_name = unit_.name && Option.join (List.assoc_opt unit_.name cmi.cmi_crcs) = unit_.interface then
    Some (Layouts.of_unit frame m (Names.unit unit_.name) structure ~interface:cmi.cmi_sign)
  else begin
    failure (Filename.remove_extension unit_.file ^ ".cmi") "it is not what the .cmt beside it was compiled with";
    None
  end

let finish unit_ =
  match (evaluate unit_, unit_.structure) with
  | (m, Some frame), Some structure ->
      let unit_layout =
        try layout unit_ m frame structure
        with error ->
          let file = Filename.remove_extension unit_.file ^ ".cmi" in
          failure file (reason file error);
          None
      in
      let interface, implementation =
        match changed_since unit_ with
        | None -> (unit_.interface, implementation_digest unit_.file)
        | Some older ->
            failure unit_.file ("it was made from a source that was changed after " ^ Filename.basename older ^ " was made");
            (* It is unknown to what it belongs. *)
            (None, None)
      in
      let number =
        Table.Rows.add Table.units
          { unit_name = unit_.name; source = unit_.source; cmt = unit_.file; interface; implementation; unit_layout }
      in
      Sites.add ~unit:number frame structure
  | _ -> ()

let add files =
  input_folders := List.sort_uniq compare (List.map Filename.dirname files);
  (* Installed files are often links to the ones that were built. *)
  let contents = Hashtbl.create 100 in
  let read file =
    match Digest.file file with
    | digest when Hashtbl.mem contents digest -> None
    | digest -> (
        Hashtbl.add contents digest ();
        match read file with
        | Ok unit_ -> Some unit_
        | Error reason -> failure file reason; None)
    | exception Sys_error reason -> failure file reason; None
  in
  let read file = try read file with error -> failure file (reason file error); None in
  let finish unit_ = try finish unit_ with error -> failure unit_.file (reason unit_.file error) in
  List.iter finish (List.filter_map read files)
