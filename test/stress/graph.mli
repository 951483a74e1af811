(** Random task graphs, and what they are worth. *)

type team = For_n | For_n_dynamic | For_slices | Broadcast
type meeting = Mutex | Semaphore | Rwlock | Barrier | Latch | Condition | Lazy
type collection = Map | Sort | Filter | Fold | Parts | With_state | On_list | On_seq | On_bytes

(** What goes wrong, within a task; it is caught there. *)
type fault =
  | Overflow
  | Overflow_in_forks
  | Memory  (** an absurd allocation *)
  | Combine  (** the function that combines raises *)
  | Hook  (** a cancel hook raises, and so does the handler of what nobody awaits *)
  | Compact
  | Full_major
  | Finaliser  (** one that calls the library *)

(** Every way to use the library, with what hangs below it. [fails_at] is the index whose
    body raises, if it is within the range. *)
type t =
  | Leaf of int
  | Fail of int
  | Both of t * t
  | Async of t list  (** begun in order, awaited in order *)
  | Shared of int * t  (** one task, awaited by that many others *)
  | All of t list
  | First of t list  (** at most one of them can succeed *)
  | Any of t list  (** the same *)
  | Promised of t  (** awaited through a promise that its task resolves *)
  | Named of int * t  (** with that value to inherit, which it must find *)
  | Scope of t list  (** begun in order in a scope, awaited in order *)
  | Deadline of t  (** one that is never reached *)
  | Cancel of { early : bool; victim : t; rest : t }
      (** worth [rest]; the victim is cancelled before it or after it, whatever it does *)
  | For of { count : int; grain : int option; fails_at : int; body : t }
  | Reduce of { count : int; grain : int option; fails_at : int; body : t }
  | Find of { count : int; found_at : int; fails_at : int }
  | Scan of int
  | Team of { team : team; count : int; fails_at : int; body : t }
  | Run of t  (** the same pool again *)
  | Elsewhere of t  (** another pool *)
  | In_domain of t
  | In_thread of t
  | Below_c of t
  | Fresh of t  (** a pool of its own, closed afterwards *)
  | Ported of t list  (** begun in order, awaited in order, by Domainslib's names *)
  | Pipeline of { stages : int; bound : int option; items : t list }
      (** through channels, one more than stages *)
  | Bounded of { max : int; items : t list }  (** so many at once *)
  | Windowed of { window : int; items : t list }  (** an ordered pipeline *)
  | Selected of t list  (** each sends its result; received as they come *)
  | Meeting of meeting * t list  (** parties that meet, or keep each other out *)
  | Blocking of int
  | Kernel of { dynamic : bool; count : int }  (** a loop of C *)
  | Collection of collection * int  (** of so many elements *)
  | Hurried of t  (** a deadline that may be reached anywhere: worth the same in any case *)
  | Dropped of t list  (** a scope that is cancelled while they run *)
  | Fault of fault

type rules = {
  joins : bool;  (** of threads and domains; else broadcasts *)
  compacts : bool;  (** else C code, signals and finalisers call OCaml *)
}

val rules_of_seed : int -> rules
val random : Random.State.t -> rules -> t
val to_string : t -> string

val name : t -> string
(** Of its kind. *)
