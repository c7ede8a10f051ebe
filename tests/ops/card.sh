#!/bin/bash
# Small cases of the operations on a card that executes PTX (tests/fake_cuda). usage: card.sh INGOT
set -u
ingot=$1
failed=0

health() { # health CASE OPERATION...
    local text=$1
    shift
    "$ingot" health "$@" --case "$text" --device cuda --repeat 1 || failed=1
}

health 33 '*norm*' '*softmax*' '*silu*' '*gelu*' cache_write cache_copy cholesky convert cross_entropy eigh \
    lstsq lu solve matmul qr quantise dequantise quantised_matmul quantised_matvec '*rope*' svd
health 1023 axpy
health 127 fill
health '=odd sizes' adamw
health '=sum, odd columns' embedding_bag
health '=100, d64 block 16' attention_paged
health '=40x40, d64 causal' attention
health '=1x333, d128 8/2 heads' attention
health '=9x6, d8 causal' attention_backward
# by four SIMD-groups at once, which small products are not by themselves
policy=$(mktemp) || exit 1
trap 'rm -f "$policy"' EXIT
printf 'cuda matmul tile=5 fill=2\ncuda attention blocks=64 fill=2\n' >"$policy"
INGOT_POLICY=$policy health '=136x264x328 tn' matmul --type bf16
INGOT_POLICY=$policy health '=200x333, d128 4/2 heads causal' attention --type bf16
INGOT_POLICY=$policy health '=140x270, d128 causal, rows apart' attention --type bf16
INGOT_POLICY=$policy health '=150x420, d128 window 150' attention --type bf16
health '=33x65, d64 words of q' attention --type bf16
exit "$failed"
