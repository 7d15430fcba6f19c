module postern.test/outside-application

go 1.26.0

require (
	github.com/coreos/go-oidc/v3 v3.21.0
	github.com/descope/virtualwebauthn v1.0.3
	golang.org/x/oauth2 v0.37.0
)

require (
	github.com/fxamacker/cbor/v2 v2.7.0 // indirect
	github.com/go-jose/go-jose/v4 v4.1.4 // indirect
	github.com/x448/float16 v0.8.4 // indirect
)
