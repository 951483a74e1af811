type who = { name : string; domains : int }

let sequential = { name = "sequential"; domains = 1 }
let muster domains = { name = "muster"; domains }
let domainslib domains = { name = "domainslib"; domains }

type contender = { who : who; run : unit -> float }
type limit = At_most of float | At_least of float
type bar = { claim : string; subject : who; against : who option; limit : limit }
type quantity = Time | Words

type t = {
  name : string;
  title : string;
  quantity : quantity;
  contenders : contender list;
  bars : bar list;
}

type options = { domains : int; quick : bool; rivals : Rivals.t }

let of_rivals options ~t_name ~domains ~size =
  let contender peer =
    {
      who = { name = Rivals.name peer; domains };
      run = (fun () -> Rivals.run peer ~threads:domains ~size);
    }
  in
  List.map contender (Rivals.of_experiment options.rivals t_name)

let sized options ~quick ~full = if options.quick then quick else full
let budget options = sized options ~quick:1e6 ~full:5e7
