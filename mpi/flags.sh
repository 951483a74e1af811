# What a C compiler and the linker need for MPI, as mpicc tells: Open MPI's and MPICH's way to ask.
compile=$(mpicc --showme:compile 2>/dev/null) && link=$(mpicc --showme:link 2>/dev/null) || {
  compile=$(mpicc -compile_info | cut -d' ' -f2-)
  link=$(mpicc -link_info | cut -d' ' -f2-)
}
list() { for it; do case $it in -c) ;; *) printf ' %s' "$it" ;; esac; done; }
echo "($(list $compile))" >c_flags.sexp
echo "($(list $link))" >link_flags.sexp
