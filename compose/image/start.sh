#!/bin/sh
# start.sh PROCESS PORT [FLAG...]: a process with the flags that all of the stack share; any other command as it is.
# NODE_NAME and RUNTIME_ENDPOINT come from the compose file.
case ${2-} in
  [0-9]*) ;;
  *) exec "$@" ;;
esac
process=$1
port=$2
shift 2
exec "splitlet-$process" --config /etc/splitlet/kubelet.yaml --node-name "$NODE_NAME" \
  --run-dir /run/splitlet --state-dir /var/lib/splitlet --root-dir "${ROOT_DIR:-/var/lib/kubelet}" --log-dir "${LOGS_DIR:-/var/log/splitlet}/pods" \
  --manifests /etc/splitlet/manifests --runtime-endpoint "$RUNTIME_ENDPOINT" \
  --nats-url nats://127.0.0.1:10270 --nats-creds "/etc/splitlet/bus/$process.creds" --nats-ca /etc/splitlet/bus-tls/current/ca.pem \
  --http-address "127.0.0.1:$port" --log-format "${LOG_FORMAT:-text}" "$@"
