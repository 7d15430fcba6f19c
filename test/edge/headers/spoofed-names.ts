/** Names that upstreams commonly trust because a proxy is expected to set them: identity, and the original request. */
export const IDENTITY_NAMES: readonly string[] =
  `X-Forwarded-Prefix X-Forwarded-Ssl X-Forwarded-Scheme X-Forwarded-By X-Forwarded-User
X-Forwarded-Email X-Forwarded-Groups X-Forwarded-Preferred-Username X-Forwarded-Access-Token X-Forwarded-Client-Cert
X-Forwarded-Tls-Client-Cert X-Forwarded-Uri X-Forwarded-Path X-Forwarded-Method X-Forwarded-Port X-Forwarded-Server X-Forwarded-Anything
X-Real-IP Forwarded Remote-User Remote-Groups X-Remote-User X-Remote-Group X-Remote-Extra-Scopes X-SSL-Client-Cert X-SSL-Client-Verify
SSL-Client-Cert Ssl-Client-Subject-Dn X-Client-Cert X-Client-Verify X-ARR-ClientCert X-Original-URL X-Original-URI X-Original-Host X-Rewrite-URL
X-Auth-Request-User X-Auth-Request-Email X-WEBAUTH-USER X-Authenticated-User X-Authenticated-Userid X-Token-Subject
X-Pomerium-Jwt-Assertion X-Pomerium-Claim-Email Cf-Access-Jwt-Assertion Cf-Access-Authenticated-User-Email
X-Goog-Authenticated-User-Email X-Goog-Iap-Jwt-Assertion X-MS-CLIENT-PRINCIPAL X-MS-CLIENT-PRINCIPAL-NAME X-Ms-Token-Aad-Id-Token
X-Amzn-Oidc-Data X-Amzn-Mtls-Clientcert X-Authentik-Username X-Vouch-User Tailscale-User-Login X-Consumer-Username
X-Credential-Identifier X-Envoy-Original-Path Proxy Front-End-Https X-Middleware-Subrequest X-Sendfile-Type X-Accel-Mapping
Postern-Auth-User-Email Client-Cert Ngrok-Auth-User-Id`.split(/\s+/);

/** Client addresses: accepted from trusted proxies. */
export const ADDRESS_NAMES: readonly string[] =
  `True-Client-IP CF-Connecting-IP CF-Connecting-IPv6 X-Client-IP Client-IP X-Cluster-Client-IP Fastly-Client-IP Fly-Client-IP
X-Azure-ClientIP X-Appengine-User-IP X-Envoy-External-Address`.split(/\s+/);

/** Names that clients send to applications and that must arrive. */
export const HONEST_NAMES: readonly string[] =
  `Accept User-Agent Authorization X-Requested-With X-CSRF-Token X-Api-Key X-Auth-Token
X-User-Id X-Access-Token X-HTTP-Method-Override X-Request-Id Traceparent X-Token Origin Cf-Ray X-Client-Version Sslmode`.split(
    /\s+/,
  );
