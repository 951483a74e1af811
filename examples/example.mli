(** What every example shares, so that its file shows one idea: the command line, the
    two timed runs, the check of the answer and the line that is printed. *)

type t = string * string * int Cmdliner.Cmd.t
(** An example: its name, one line of documentation, its command. *)

type row
(** One parallel program beside its sequential twin. *)

val row :
  ?agree:('a -> 'a -> bool) ->
  shows:string ->
  show:('a -> string) ->
  sequential:(unit -> 'a) ->
  parallel:(Muster.Pool.t -> 'a) ->
  string ->
  row
(** [row ~shows ~show ~sequential ~parallel label] is the row named [label]. [shows] says in a
    sentence what its line is to show, and whether the parallel program is expected to be slower.
    [agree expected got] says whether the parallel answer will do; by default it must equal the
    sequential one ([compare] is 0, so that [nan] agrees with itself). [show] prints an answer
    briefly. *)

val command :
  name:string -> doc:string -> size:int Cmdliner.Term.t -> (int -> row list) Cmdliner.Term.t -> t
(** [command ~name ~doc ~size rows] is the example, its command taking the options
    [--size], [--domains] and [--oversubscribe]. For each row of [rows size] it runs the
    sequential twin, then the parallel program on a new pool, and prints both times, the
    speed-up, and what the line shows. When the answers disagree it says so on stderr, and the exit code
    is 1. *)

val size : ?max:int -> default:int -> string -> int Cmdliner.Term.t
(** [size ~default doc] is the option [--size], from 1 to [max] (by default
    1,000,000,000). *)

val option : ?min:int -> default:int -> string -> string -> int Cmdliner.Term.t
(** [option ~default name doc] is a further whole number, from [min] (by default 1). *)

val checksum : float array -> string
(** The sum of the elements with all its digits: two arrays that differ rarely share it.
    *)
