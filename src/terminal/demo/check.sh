. ./cart.sh
got=$(total 20 400 600)
if [ "$got" = 800 ]; then
    echo "check: 20 % off 10.00 is 8.00: ok"
else
    echo "check: 20 % off 10.00 gives $got cents, not 800"
    exit 1
fi
