#!/bin/sh
# nats.sh DIR: the server of the bus as DIR/nats.conf says, with its watch.
nats_watch.sh watch "$$" "$(cat "$1/port")" "$1/tls/current" &
exec nats-server --config "$1/nats.conf"
