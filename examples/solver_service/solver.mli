(** The 0install solver over a repository. *)

type t
(** What one worker keeps from solve to solve: the repository in the form that the solver reads. It
    has one user at a time. *)

val make : Repository.t -> t
val repository : t -> Repository.t

type request = { package : string; ocaml : string option  (** the version to take of it *) }
type answer = Packages of Package.t list | No_solution | No_such_package

val solve : t -> request -> answer
(** The packages to install. A task that solves may be cancelled, and what [t] keeps stays good.

    {b Raises} {!Repository.Unreadable}, [Muster.Task.Cancelled]. *)
