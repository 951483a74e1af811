#!/bin/sh
# apart.sh PROGRAM ARGUMENT...: four ranks on two hosts, which are network namespaces with a cable in
# between. Exits with 77 where the machine lets nobody make them, and where MPI is not Open MPI.
mpirun --version | grep -q "Open MPI" || exit 77
a=muster$$a
b=muster$$b
trap 'ip netns del $a; ip netns del $b' EXIT
{
  ip netns add $a && ip netns add $b &&
    ip link add m$$a netns $a type veth peer name m$$b netns $b &&
    ip -n $a addr add 10.97.0.1/24 dev m$$a && ip -n $b addr add 10.97.0.2/24 dev m$$b &&
    ip -n $a link set lo up && ip -n $b link set lo up &&
    ip -n $a link set m$$a up && ip -n $b link set m$$b up &&
    ip netns exec $b unshare -u hostname $b
} >&2 || exit 77

# mpirun starts what is on the other host by this in the place of ssh.
agent=$(mktemp)
trap 'rm -f $agent; ip netns del $a; ip netns del $b' EXIT
printf '#!/bin/sh\nshift\nexec ip netns exec %s unshare -u sh -c "hostname %s; $*"\n' $b $b >"$agent"
chmod +x "$agent"
cable=10.97.0.0/24
ip netns exec $a unshare -u sh -c "hostname $a; "'exec "$@"' sh \
  mpirun --mca plm_rsh_agent "$agent" --mca btl tcp,self --mca btl_tcp_if_include $cable \
  --mca oob_tcp_if_include $cable --bind-to none --map-by node \
  -n 4 -H 10.97.0.1:2,10.97.0.2:2 "$@"
