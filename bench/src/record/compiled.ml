(* What the compiler compiles in `cargo xtask bench record`, many times over: a little of everything that
   keeps it busy. Expressions are simplified, compiled for a stack machine and run. *)

type operator = Plus | Minus | Times | Over | Less | Equal

type expression =
  | Number of int
  | Text of string
  | Variable of string
  | Apply of operator * expression * expression
  | If of { condition : expression; yes : expression; no : expression }
  | Let of string * expression * expression
  | Tuple of expression list
  | Field of expression * int

type value = Int of int | String of string | Bool of bool | Values of value array

type instruction =
  | Push of value
  | Load of int
  | Store of int
  | Operate of operator
  | Jump of int
  | Jump_unless of int
  | Build of int
  | Get of int

exception Wrong of string

module type ORDERED = sig
  type t

  val compare : t -> t -> int
  val show : t -> string
end

module Table (Key : ORDERED) = struct
  type 'a t = Empty | Node of { left : 'a t; key : Key.t; data : 'a; right : 'a t; height : int }

  let height = function Empty -> 0 | Node { height; _ } -> height

  let node left key data right =
    Node { left; key; data; right; height = 1 + max (height left) (height right) }

  let balance left key data right =
    match (left, right) with
    | Node l, _ when l.height > height right + 2 ->
        if height l.left >= height l.right then node l.left l.key l.data (node l.right key data right)
        else begin
          match l.right with
          | Empty -> invalid_arg "balance"
          | Node m -> node (node l.left l.key l.data m.left) m.key m.data (node m.right key data right)
        end
    | _, Node r when r.height > height left + 2 ->
        if height r.right >= height r.left then node (node left key data r.left) r.key r.data r.right
        else begin
          match r.left with
          | Empty -> invalid_arg "balance"
          | Node m -> node (node left key data m.left) m.key m.data (node m.right r.key r.data r.right)
        end
    | _ -> node left key data right

  let rec add key data = function
    | Empty -> node Empty key data Empty
    | Node n -> (
        match Key.compare key n.key with
        | 0 -> Node { n with data }
        | order when order < 0 -> balance (add key data n.left) n.key n.data n.right
        | _ -> balance n.left n.key n.data (add key data n.right))

  let rec find key = function
    | Empty -> raise (Wrong ("nothing is known of " ^ Key.show key))
    | Node n -> (
        match Key.compare key n.key with
        | 0 -> n.data
        | order -> find key (if order < 0 then n.left else n.right))

  let rec fold f table start =
    match table with
    | Empty -> start
    | Node { left; key; data; right; _ } -> fold f right (f key data (fold f left start))
end

module Names = Table (struct
  type t = string

  let compare = String.compare
  let show name = Printf.sprintf "%S" name
end)

let rec show = function
  | Number n -> string_of_int n
  | Text text -> Printf.sprintf "%S" text
  | Variable name -> name
  | Apply (operator, a, b) ->
      let sign =
        match operator with
        | Plus -> "+"
        | Minus -> "-"
        | Times -> "*"
        | Over -> "/"
        | Less -> "<"
        | Equal -> "="
      in
      "(" ^ show a ^ " " ^ sign ^ " " ^ show b ^ ")"
  | If { condition; yes; no } ->
      Printf.sprintf "if %s then %s else %s" (show condition) (show yes) (show no)
  | Let (name, bound, body) -> Printf.sprintf "let %s = %s in %s" name (show bound) (show body)
  | Tuple parts -> "(" ^ String.concat ", " (List.map show parts) ^ ")"
  | Field (whole, at) -> Printf.sprintf "%s.%d" (show whole) at

let rec simplify expression =
  match expression with
  | Number _ | Text _ | Variable _ -> expression
  | Apply (operator, a, b) -> (
      match (operator, simplify a, simplify b) with
      | Plus, Number 0, other | Plus, other, Number 0 -> other
      | Times, Number 1, other | Times, other, Number 1 -> other
      | Times, Number 0, _ | Times, _, Number 0 -> Number 0
      | Plus, Number a, Number b -> Number (a + b)
      | Minus, Number a, Number b -> Number (a - b)
      | Times, Number a, Number b -> Number (a * b)
      | Plus, Text a, Text b -> Text (a ^ b)
      | Plus, Apply (Plus, a, Number b), Number c -> Apply (Plus, a, Number (b + c))
      | operator, a, b -> Apply (operator, a, b))
  | If { condition; yes; no } -> (
      let yes = simplify yes and no = simplify no in
      match simplify condition with
      | Apply (Equal, a, b) when a = b -> yes
      | Apply (Less, Number a, Number b) -> if a < b then yes else no
      | condition -> If { condition; yes; no })
  | Let (name, bound, body) -> (
      match (simplify bound, simplify body) with
      | _, (Number _ as constant) -> constant
      | bound, Variable other when other = name -> bound
      | bound, body -> Let (name, bound, body))
  | Tuple parts -> Tuple (List.map simplify parts)
  | Field (whole, at) -> (
      match simplify whole with
      | Tuple parts as whole -> ( try List.nth parts at with Failure _ -> Field (whole, at))
      | whole -> Field (whole, at))

type code = { mutable instructions : instruction array; mutable length : int; mutable slots : int }

let emit code instruction =
  if code.length = Array.length code.instructions then begin
    let longer = Array.make ((2 * code.length) + 8) (Push (Int 0)) in
    Array.blit code.instructions 0 longer 0 code.length;
    code.instructions <- longer
  end;
  code.instructions.(code.length) <- instruction;
  code.length <- code.length + 1

let compile expression =
  let code = { instructions = [||]; length = 0; slots = 0 } in
  let later make =
    let at = code.length in
    emit code (make 0);
    fun () -> code.instructions.(at) <- make code.length
  in
  let rec go names = function
    | Number n -> emit code (Push (Int n))
    | Text text -> emit code (Push (String text))
    | Variable name -> emit code (Load (Names.find name names))
    | Apply (operator, a, b) ->
        go names a;
        go names b;
        emit code (Operate operator)
    | If { condition; yes; no } ->
        go names condition;
        let to_no = later (fun target -> Jump_unless target) in
        go names yes;
        let to_end = later (fun target -> Jump target) in
        to_no ();
        go names no;
        to_end ()
    | Let (name, bound, body) ->
        go names bound;
        let slot = code.slots in
        code.slots <- slot + 1;
        emit code (Store slot);
        go (Names.add name slot names) body
    | Tuple parts ->
        List.iter (go names) parts;
        emit code (Build (List.length parts))
    | Field (whole, at) ->
        go names whole;
        emit code (Get at)
  in
  go Names.Empty expression;
  code

let operate operator a b =
  match (operator, a, b) with
  | Plus, Int a, Int b -> Int (a + b)
  | Minus, Int a, Int b -> Int (a - b)
  | Times, Int a, Int b -> Int (a * b)
  | Over, Int _, Int 0 -> raise (Wrong "division by zero")
  | Over, Int a, Int b -> Int (a / b)
  | Plus, String a, String b -> String (a ^ b)
  | Less, Int a, Int b -> Bool (a < b)
  | Less, String a, String b -> Bool (String.compare a b < 0)
  | Equal, a, b -> Bool (compare a b = 0)
  | (Plus | Minus | Times | Over | Less), _, _ -> raise (Wrong "these do not go together")

let run code =
  let slots = Array.make code.slots (Int 0) in
  let rec step at stack =
    if at >= code.length then stack
    else
      match (code.instructions.(at), stack) with
      | Push value, rest -> step (at + 1) (value :: rest)
      | Load slot, rest -> step (at + 1) (slots.(slot) :: rest)
      | Store slot, value :: rest ->
          slots.(slot) <- value;
          step (at + 1) rest
      | Operate operator, b :: a :: rest -> step (at + 1) (operate operator a b :: rest)
      | Jump target, rest -> step target rest
      | Jump_unless target, Bool yes :: rest -> step (if yes then at + 1 else target) rest
      | Build count, rest ->
          let rec take count taken rest =
            match (count, rest) with
            | 0, rest -> (taken, rest)
            | _, value :: rest -> take (count - 1) (value :: taken) rest
            | _, [] -> raise (Wrong "too few values")
          in
          let taken, rest = take count [] rest in
          step (at + 1) (Values (Array.of_list taken) :: rest)
      | Get at_field, Values values :: rest when at_field < Array.length values ->
          step (at + 1) (values.(at_field) :: rest)
      | (Store _ | Operate _ | Jump_unless _ | Get _), _ -> raise (Wrong "no such value")
  in
  match step 0 [] with [ value ] -> Ok value | stack -> Error (List.length stack)

class counter (start : int) =
  object (self)
    val mutable count = start
    method count = count
    method add n = count <- count + n
    method twice n = self#add n; self#add n
  end

let evaluate ?(simplified = true) ~(counter : counter) expression =
  counter#add 1;
  let expression = if simplified then simplify expression else expression in
  match run (compile expression) with
  | Ok value -> Some (value, show expression)
  | Error _ | (exception Wrong _) -> None
