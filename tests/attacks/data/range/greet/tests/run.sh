#!/bin/sh
# Exits 0 when every greeting is right.
cd "$(dirname "$0")/.." || exit 1
said=$(bin/greet Ada) || exit 1
[ "$said" = "Hello, Ada!" ] || { echo "said: $said"; exit 1; }
