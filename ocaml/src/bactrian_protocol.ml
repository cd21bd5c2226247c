(** The types of Ocamlviz's module [Protocol], for programs written for it: [module Protocol = Bactrian.Protocol]. *)

type kind =
  | Point
  | Time
  | Value_int
  | Value_float
  | Value_bool
  | Value_string
  | Tag_count
  | Tag_size
  | Ktree
  | Hash
  | Special
  | Klog

(** A tree. Nodes that are the same value in memory are shown as one node. *)
type variant = Node of string * variant list

type value =
  | Int of int
  | Float of float
  | String of string
  | Bool of bool
  | Int64 of Int64.t
  | Tree of variant
  | No_value
  | Collected
  | Killed
  | Hashtable of value * value * value * value
  | Log of (float * string) list

type tag = int
type msg = Declare of tag * kind * string | Send of tag * value | Bind of tag list
