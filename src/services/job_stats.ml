(* The counts and times of Muster.Workers, which describes them. *)

type times = { counts : int array; count : int; seconds : float }

type stats = {
  workers : int;
  busy : int;
  queued : int;
  returned : int;
  failed : int;
  cancelled : int;
  expired : int;
  full : int;
  draining : int;
  queue_time : times;
  work_time : times;
}
