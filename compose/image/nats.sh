#!/bin/sh
# nats.sh DIR: runs nats-server with DIR/nats.conf, and its watcher.
nats_watch.sh watch "$$" "$(cat "$1/port")" "$1/tls/current" &
exec nats-server --config "$1/nats.conf"
