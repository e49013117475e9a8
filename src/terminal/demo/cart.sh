# The sum to pay in cents, after the discount: total PERCENT PRICE...
total() {
    percent=$1
    shift
    sum=0
    for price in "$@"; do sum=$((sum + price)); done
    echo $((sum - sum * percent / 10))
}
