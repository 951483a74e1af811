module Task = Domainslib.Task

type pool = Task.pool
type runner = { run : 'a. domains:int -> (pool -> 'a) -> 'a }

let run ~domains f =
  let pool = Task.setup_pool ~num_domains:(domains - 1) () in
  Fun.protect
    ~finally:(fun () -> Task.teardown_pool pool)
    (fun () -> Task.run pool (fun () -> f pool))

let runner = Some { run }

type 'a promise = 'a Task.promise

let async = Task.async
let await = Task.await
let parallel_for pool ~start ~finish body = Task.parallel_for pool ~start ~finish ~body
