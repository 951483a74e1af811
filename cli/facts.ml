type ocaml = {
  version : string;
  architecture : string;
  system : string;
  flambda : bool;
  thread_sanitizer : bool;
  backtraces : bool;
  parameters : string option;
}

type source = Runtime_default | Parameters
type pool = { workers : int; minor_heaps : int list }

type t = {
  muster : string;
  ocaml : ocaml;
  cpu : Muster_core.Cpu.report;
  minor_heap : int;
  minor_heap_source : source;
  pool : pool;
}

let muster_version = if Build.version = "" then "dev" else Build.version

let parameters () =
  match Sys.getenv_opt "OCAMLRUNPARAM" with
  | None -> Sys.getenv_opt "CAMLRUNPARAM"
  | given -> given

let sets_minor_heap parameters =
  List.exists (String.starts_with ~prefix:"s=") (String.split_on_char ',' parameters)

let ocaml () =
  {
    version = Sys.ocaml_version;
    architecture = Build.architecture;
    system = Build.system;
    flambda = Build.flambda;
    thread_sanitizer = Build.thread_sanitizer;
    backtraces = Printexc.backtrace_status ();
    parameters = parameters ();
  }

let minor_heap () = (Gc.get ()).minor_heap_size

let started_pool () =
  let pool = Muster.Pool.default () in
  let workers = Muster.Pool.size pool in
  let words = Array.make workers 0 in
  Muster.Team.broadcast pool (fun worker -> words.(worker) <- minor_heap ());
  { workers; minor_heaps = Array.to_list words }

let gather () =
  let minor_heap = minor_heap () in
  let given = Option.fold ~none:false ~some:sets_minor_heap (parameters ()) in
  {
    muster = muster_version;
    ocaml = ocaml ();
    cpu = Muster_core.Cpu.report ();
    minor_heap;
    minor_heap_source = (if given then Parameters else Runtime_default);
    pool = started_pool ();
  }
