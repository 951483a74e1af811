(* The words of Trace. *)

type event =
  | Fork of { task : int; parent : int; site : int }
      (** A task was handed out by the task [parent] (0: code that is no traced task), at the place
          [site]. *)
  | Begin of { task : int }  (** Its first step is due in this domain. *)
  | End of { task : int; back : int }
      (** It has ended, and the task [back] (or 0) goes on in its domain: one that took it back. *)
  | Steal of { victim : int }  (** A task was taken from the deque of that worker. *)
  | Busy of { pool : int; worker : int; thread : int }
      (** This domain's thread works as that worker of that pool, from now on. [thread] is the
          system's number for it. It may be told again while the worker is busy. *)
  | Idle  (** It has no work, and looks for some. *)
  | Park  (** It sleeps. [Busy] or [Idle] ends that: the wake. *)
  | Leave  (** It works in no pool any more. *)
  | Wait of { task : int; reason : int; name : int }
      (** The task (or 0) waits, in a call of the name [reason] (["Mutex.lock"]), at the place
          [name] (0: told for one wait of 16 only). Its worker does something else meanwhile. *)
  | Resume of { task : int; reason : int; ns : int }
      (** It goes on, in this domain, after that time (0: it did not have to wait). [reason] tells
          waits of task 0 apart. *)
  | Region of { workers : int }  (** A call of [Team] begins here, for so many workers. *)
  | Region_end
  | Job of { task : int; queued : int }
      (** The task begins a job of a service ([Workers]), which was so many ns in its queue. *)
  | Counts of { tasks : int; forks : int; steals : int }
      (** The counts of this worker so far, of tasks that are not traced, too. *)
  | Sampling of { every : int }
      (** From now on this domain traces one of so many of the tasks that it hands out, and of the
          waits: there are too many to trace all. *)
  | Budget of { size : int; lent : int }
      (** The pool of this worker has [size] workers at most, and leaves so many CPUs of these to
          other programs. *)
  | Spin of { ns : int }
      (** So long it looked whether a lock was free that another task held, before it had it or
          waited. *)
  | Alone of { ns : int; site : int }
      (** A loop at that place has worked for so long on its first iterations, and hands out the
          others now. Told of 1 ms and more. *)
  | Name of { id : int; text : string }
