open CamlinternalFormatBasics

external log_bytes : Bytes.t -> int -> unit = "bactrian_log" [@@noalloc]

let line text =
  Bactrian_observer.prepare_once ();
  let length = String.length text in
  let length = if length > 0 && text.[length - 1] = '\n' then length - 1 else length in
  log_bytes (Bytes.unsafe_of_string text) length

(* Whether a format needs no feature of Format. Such a format is printed here, in a fifth of the time. *)
let rec is_plain : type a b c d e f. (a, b, c, d, e, f) fmt -> bool = function
  | End_of_format -> true
  | String_literal (_, rest) -> is_plain rest
  | Char_literal (_, rest) -> is_plain rest
  | String (_, rest) -> is_plain rest
  | Caml_string (_, rest) -> is_plain rest
  | Int (_, _, _, rest) -> is_plain rest
  | Int32 (_, _, _, rest) -> is_plain rest
  | Nativeint (_, _, _, rest) -> is_plain rest
  | Int64 (_, _, _, rest) -> is_plain rest
  | Float (_, _, _, rest) -> is_plain rest
  | Bool (_, rest) -> is_plain rest
  | Char rest -> is_plain rest
  | Caml_char rest -> is_plain rest
  | Flush rest -> is_plain rest
  | Formatting_lit ((FFlush | Force_newline | Flush_newline | Escaped_at | Escaped_percent), rest) -> is_plain rest
  | _ -> false

type room = { mutable bytes : Bytes.t; mutable used : int }

(* Taken while a line is formatted, because another thread may log at the same time. *)
let spare : room option Atomic.t = Atomic.make None
let most_kept = 4096

let take_room () =
  match Atomic.exchange spare None with Some room -> room | None -> { bytes = Bytes.create 256; used = 0 }

let give_back room =
  if Bytes.length room.bytes <= most_kept then begin
    room.used <- 0;
    Atomic.set spare (Some room)
  end

let reserve room more =
  let wanted = room.used + more in
  if wanted > Bytes.length room.bytes then begin
    let larger = Bytes.create (2 * wanted) in
    Bytes.blit room.bytes 0 larger 0 room.used;
    room.bytes <- larger
  end

let add_string room text =
  let length = String.length text in
  reserve room length;
  Bytes.unsafe_blit_string text 0 room.bytes room.used length;
  room.used <- room.used + length

let add_char room char =
  reserve room 1;
  Bytes.unsafe_set room.bytes room.used char;
  room.used <- room.used + 1

let rec add : room -> (Format.formatter, unit) CamlinternalFormat.acc -> unit =
 fun room written ->
  match written with
  | End_of_acc -> ()
  | Acc_string_literal (before, text) | Acc_data_string (before, text) -> add room before; add_string room text
  | Acc_char_literal (before, char) | Acc_data_char (before, char) -> add room before; add_char room char
  | Acc_formatting_lit (before, literal) -> (
      add room before;
      match literal with
      | Force_newline | Flush_newline -> add_char room '\n'
      | Escaped_at -> add_char room '@'
      | Escaped_percent -> add_char room '%'
      | _ -> ())
  | Acc_flush before -> add room before
  | Acc_invalid_arg (before, why) -> add room before; invalid_arg why
  | Acc_delay (before, _) | Acc_formatting_gen (before, _) -> add room before

let write written =
  let room = take_room () in
  add room written;
  let length = if room.used > 0 && Bytes.get room.bytes (room.used - 1) = '\n' then room.used - 1 else room.used in
  log_bytes room.bytes length;
  give_back room

let log (Format (fmt, _) as format) =
  if is_plain fmt then begin
    Bactrian_observer.prepare_once ();
    CamlinternalFormat.make_printf write End_of_acc fmt
  end
  else begin
    let buffer = Buffer.create 80 in
    let formatter = Format.formatter_of_buffer buffer in
    let finish formatter = Format.pp_print_flush formatter (); line (Buffer.contents buffer) in
    Format.kfprintf finish formatter format
  end
