(* Pools that are used from several domains, threads and other pools' tasks at once.

   A task that has something run in another pool keeps its worker meanwhile. So where sides wait for each
   other there, they must not be tasks of one worker. *)

let cases ~domains ~closes =
  let module Model = Check.Make (Pool_model.Make (struct
    let domains = domains
    let closes = closes
  end))
  in
  let name = Printf.sprintf "size %d%s" domains (if closes then ", closed" else "") in
  let one_worker = if closes then [ Check.tasks 1 ] else [] in
  let ways = Check.[ domains; threads; tasks 3; mixed ] @ one_worker in
  (name, Model.cases ~programs:15 ~runs:20 name ways)

let () =
  Alcotest.run "pools, against a model"
    [
      cases ~domains:1 ~closes:false;
      cases ~domains:1 ~closes:true;
      cases ~domains:2 ~closes:false;
      cases ~domains:3 ~closes:true;
    ]
