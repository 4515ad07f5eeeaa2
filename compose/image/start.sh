#!/bin/sh
# start.sh PROCESS PORT [FLAG...]: runs a process with the flags that all processes of the stack share; runs any other
# command unchanged. NODE_NAME and RUNTIME_ENDPOINT come from the compose file. KUBECONFIG_FILE or
# BOOTSTRAP_KUBECONFIG_FILE, and NODE_IP, come from the caller.
case ${2-} in
  [0-9]*) ;;
  *) exec "$@" ;;
esac
process=$1
port=$2
shift 2
kubeconfig=
if [ -n "${KUBECONFIG_FILE:-}" ]; then
  kubeconfig=/etc/splitlet/cluster/kubeconfig
elif [ -n "${BOOTSTRAP_KUBECONFIG_FILE:-}" ]; then
  kubeconfig=/etc/splitlet/pki/kubeconfig # status writes it when the server has let the node in
  set -- --bootstrap-kubeconfig /etc/splitlet/bootstrap/bootstrap-kubeconfig "$@"
fi
if [ -n "$kubeconfig" ]; then
  set -- --kubeconfig "$kubeconfig" --cert-dir /etc/splitlet/pki ${NODE_IP:+--node-ip "$NODE_IP"} "$@"
elif [ "$process" = node-api ]; then
  echo 'neither KUBECONFIG_FILE nor BOOTSTRAP_KUBECONFIG_FILE is set: node-api is for a node of an API server' >&2
  exit 1
fi
exec "splitlet-$process" --network-interface eth0 --config /etc/splitlet/kubelet.yaml --node-name "$NODE_NAME" \
  --run-dir /run/splitlet --state-dir /var/lib/splitlet --root-dir "${ROOT_DIR:-/var/lib/kubelet}" --log-dir "${LOGS_DIR:-/var/log/splitlet}/pods" \
  --manifests /etc/splitlet/manifests --runtime-endpoint "$RUNTIME_ENDPOINT" \
  --nats-url nats://127.0.0.1:10270 --nats-creds "/etc/splitlet/bus/$process.creds" --nats-ca /etc/splitlet/bus-tls/current/ca.pem \
  --http-address "127.0.0.1:$port" --log-format "${LOG_FORMAT:-text}" "$@"
