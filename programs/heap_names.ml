(* Functions of all kinds, for tests of names: in modules within modules, without a name, with several arguments,
   partly applied, of C. Lines matter: tests count them. Prints `ready` and waits. *)

let plain x = "" ^ string_of_int x

module Inner = struct
  let deep x =
    print_string (plain x)

  module More = struct
    let ( +++ ) a b =
      a @ List.rev b
  end
end

let two a b = List.map plain (a :: b)
let tail f = f ()
let anonymous = List.map (fun x y -> plain x ^ tail (fun () -> plain y)) [ 1; 2 ]
let partial = two (Sys.opaque_identity 3)

external c_function : int -> int = "caml_int_of_string"

let indirect = Sys.opaque_identity c_function

let () =
  print_endline "ready";
  ignore (input_char stdin);
  ignore (Sys.opaque_identity (Inner.More.( +++ ), anonymous, partial, indirect))
