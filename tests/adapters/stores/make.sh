#!/usr/bin/env bash
# Makes the stores of this folder again: a CA, a broker's key for 127.0.0.1, and a client's key, as keytool writes them.
# key.pem is the client's key once more. Passwords: "store-password" of every store, "key-password" of the client's key in client.jks.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
rm -f ./*.jks ./*.p12 ./*.pem
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
password=store-password
tool() { keytool -noprompt -storepass "$password" "$@" 2>/dev/null; }
key() { # ALIAS NAME MORE...
  local alias=$1 name=$2
  shift 2
  tool -genkeypair -alias "$alias" -keyalg EC -groupname secp256r1 -validity 36500 -dname "$name" -storetype PKCS12 \
    -keystore "$work/$alias.p12" "$@"
}
key ca "CN=kafka-s3 tests CA" -ext bc:c
tool -exportcert -rfc -alias ca -keystore "$work/ca.p12" > ca.pem
for alias in server client second; do
  key "$alias" "CN=$alias"
  tool -certreq -alias "$alias" -keystore "$work/$alias.p12" |
    tool -gencert -rfc -alias ca -keystore "$work/ca.p12" -validity 36500 -ext "san=ip:127.0.0.1,dns:localhost" \
      > "$work/$alias.pem"
  cat "$work/$alias.pem" ca.pem > "$work/chain.pem"
  tool -importcert -alias ca -file ca.pem -keystore "$work/$alias.p12"
  tool -importcert -alias "$alias" -file "$work/chain.pem" -keystore "$work/$alias.p12"
  tool -delete -alias ca -keystore "$work/$alias.p12"
done
cp "$work/server.p12" "$work/client.p12" .
copy() { # FROM TO MORE...
  keytool -noprompt -importkeystore -srckeystore "$1" -srcstorepass "$password" -destkeystore "$2" \
    -deststorepass "$password" "${@:3}" 2>/dev/null
}
copy client.p12 client.jks -deststoretype JKS -srcalias client -destkeypass key-password
copy client.p12 two.jks -deststoretype JKS
copy "$work/second.p12" two.jks -deststoretype JKS
copy client.p12 two.p12 -deststoretype PKCS12
copy "$work/second.p12" two.p12 -deststoretype PKCS12
copy client.p12 client.jceks -deststoretype JCEKS
tool -importcert -alias ca -file ca.pem -keystore trust.jks -storetype JKS
tool -importcert -alias ca -file ca.pem -keystore trust.p12 -storetype PKCS12
openssl pkcs12 -in client.p12 -passin "pass:$password" -nocerts -noenc 2>/dev/null | openssl pkey > key.pem
