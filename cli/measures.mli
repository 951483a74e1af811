(** The sums of a run: the verdict's rules know nothing else. *)

(** Seconds are of workers, not of the wall, if nothing else is said. *)
type t = {
  wall : float;  (** of the wall *)
  workers : int;  (** at work at the same time, for a seventh of the time or more *)
  working : float;  (** running the program's code, on a CPU *)
  minor : float;
  major : float;
  stop : float;  (** waiting within a collection for other domains *)
  held : float;  (** the same, for those that had no CPU *)
  looking : float;  (** for work, while others worked: it takes CPU time *)
  parked : float;  (** while others worked *)
  outside : float;  (** of the wall: nobody was at work in a pool *)
  unknown : float;  (** for which events were lost; with CPUs whose lack of use that hides *)
  missing : (string * float) list;
      (** CPUs times seconds that were not used: by the class of the waits that were under way, for
          lack of ["a worker"] where pools are smaller, of ["a CPU"] while one was left to other
          programs, of ["a share"] in a call of [Team], of ["parallelism"], because the first thread
          slept outside all tasks (["the end of a call"]), or, where tasks are
          sampled, of that or of ["larger tasks"] *)
  straggling : float;  (** of the wall: one task went on alone, beside which others had ended *)
  straggler : (string * float) option;  (** the longest piece of that: the task's place *)
  tasks : int;  (** run, by the workers' own counts *)
  forks : int;  (** handed out *)
  steals : int;
  shares : int;  (** of calls of [Team] *)
  sampled : bool;  (** not all tasks were traced *)
  work : float;  (** of all traced tasks and the code outside *)
  span : float;  (** of their longest chain *)
  chain : (string * float) list;  (** that chain, by place, the most seconds first *)
  waits : (string * int * float) list;  (** by the name: how many, seconds in all *)
  wait_places : ((string * string) * int) list;
      (** by name and place, of those that told it, the most first *)
  minors : int;  (** minor collections *)
  late : (string * float) list;
      (** for how long other domains waited for a task to stop, 1 ms and more each time, by its place,
          the most first *)
  promoted : int;  (** words *)
  allocated : int;  (** bytes, in minor heaps *)
  forced : (string * int) list;  (** what has asked for collections, by the runtime's names *)
  spun : float;  (** looking for locks that others held *)
  queue : float;  (** waiting for a CPU while they were at work, or in no pool *)
  blocked : float;  (** asleep in a system call in the midst of a task *)
  blocked_in : (string * float) list;  (** by the system call, the most first *)
  asleep_in : (string * float) list;
      (** of the wall: the first thread slept outside all tasks and nobody worked, by the call *)
  beside : float;  (** CPU time of threads that never worked in a pool *)
  quiet : float;  (** of the wall: nobody was at work, in a pool or outside *)
}
