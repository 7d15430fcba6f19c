const id = (prefix: string, number: number): string => `${prefix}_2z${String(number).padStart(25, '0')}`;
const ref = (prefix: string, number: number, path: string) => ({
  id: id(prefix, number),
  uri: `https://api.ngrok.com/${path}/${id(prefix, number)}`,
});
const item = (prefix: string, number: number, description = '') => ({
  id: id(prefix, number),
  uri: `https://api.ngrok.com/x/${id(prefix, number)}`,
  created_at: '2025-09-04T09:16:14Z',
  description,
  metadata: '',
});
const NO_MODULES = {
  backend: null,
  ip_restriction: null,
  circuit_breaker: null,
  compression: null,
  request_headers: null,
  response_headers: null,
  webhook_verification: null,
  oauth: null,
  saml: null,
  oidc: null,
  websocket_tcp_converter: null,
  user_agent_filter: null,
  traffic_policy: null,
  policy: null,
};
const route = (number: number, match: string, modules: object) => ({
  ...item('edghtsrt', number),
  edge_id: id('edghts', 1),
  match_type: 'path_prefix',
  match,
  ...NO_MODULES,
  ...modules,
});
const backend = { enabled: true, backend: ref('bkdtg', 1, 'backends/tunnel_group') };

/** A CA in the form that the retired API returned it. */
export const CA_PEM = `-----BEGIN CERTIFICATE-----
MIIBdzCCAR2gAwIBAgIUXpIuBUXLSKAeKtYXjHjIFMTtdZUwCgYIKoZIzj0EAwIw
ETEPMA0GA1UEAwwGaW1wb3J0MB4XDTI2MDEwMTAwMDAwMFoXDTM2MDEwMTAwMDAw
MFowETEPMA0GA1UEAwwGaW1wb3J0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
-----END CERTIFICATE-----
`;

/** Answers of the retired API, by path: every edge, module and backend, as recorded and documented in 2025. */
export const RETIRED_ANSWERS: Readonly<Record<string, { readonly key: string; readonly items: readonly object[] }>> = {
  '/edges/https': {
    key: 'https_edges',
    items: [
      {
        ...item('edghts', 1, 'the shop'),
        hostports: ['shop.example.com:443', 'shop.ngrok.app:443'],
        mutual_tls: { enabled: true, certificate_authorities: [ref('ca', 1, 'certificate_authorities')] },
        tls_termination: { enabled: true, terminate_at: 'edge', min_version: '1.3' },
        routes: [
          route(1, '/', {
            backend,
            compression: { enabled: true },
            ip_restriction: { enabled: true, ip_policies: [ref('ipp', 1, 'ip_policies')] },
            circuit_breaker: {
              enabled: true,
              tripped_duration: 120,
              rolling_window: 300,
              num_buckets: 5,
              volume_threshold: 20,
              error_threshold_percentage: 0.2,
            },
            request_headers: { enabled: true, add: { 'x-from': 'edge' }, remove: ['x-secret'] },
            response_headers: { enabled: true, add: { 'x-frame-options': 'DENY' }, remove: [] },
            websocket_tcp_converter: { enabled: true },
            oidc: {
              enabled: true,
              options_passthrough: true,
              cookie_prefix: 'ngrok.',
              inactivity_timeout: 3600,
              maximum_duration: 86400,
              issuer: 'https://accounts.example.com',
              client_id: 'shop',
              client_secret: 'planted-oidc-secret',
              scopes: ['openid', 'email'],
            },
          }),
          route(2, '/team', {
            backend,
            oauth: {
              enabled: true,
              provider: {
                amazon: null,
                facebook: null,
                github: {
                  client_id: 'gh',
                  client_secret: 'planted-oauth-secret',
                  scopes: [],
                  email_addresses: [],
                  email_domains: ['example.com'],
                  teams: ['acme/ops'],
                  organizations: [],
                },
                gitlab: null,
                google: null,
                linkedin: null,
                microsoft: null,
                twitch: null,
              },
              options_passthrough: false,
              cookie_prefix: 'ngrok.',
              inactivity_timeout: 0,
              maximum_duration: 0,
              auth_check_interval: 0,
            },
          }),
          route(3, '/saml', {
            backend,
            saml: {
              enabled: true,
              options_passthrough: false,
              cookie_prefix: '',
              inactivity_timeout: 0,
              maximum_duration: 0,
              idp_metadata: '<EntityDescriptor/>',
              force_authn: true,
              allow_idp_initiated: true,
              authorized_groups: ['ops'],
              entity_id: 'https://idp/saml/edghtsrt',
              assertion_consumer_service_url: 'https://idp/acs',
              single_logout_url: 'https://idp/slo',
              request_signing_certificate_pem: 'PEM',
              metadata_url: 'https://idp/saml',
              nameid_format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
            },
          }),
          route(4, '/hook', {
            backend,
            webhook_verification: { enabled: true, provider: 'GITHUB', secret: 'planted-hook' },
          }),
          route(5, '/agents', { backend, user_agent_filter: { enabled: true, allow: ['(?i)^curl'], deny: ['.*'] } }),
          route(6, '/policy', { backend, traffic_policy: { enabled: true, value: '{"on_http_request":[]}' } }),
          route(7, '/rules', {
            backend,
            policy: { enabled: true, inbound: [{ name: 'deny', actions: [] }], outbound: [] },
          }),
          route(8, '/off', { backend, saml: { enabled: false, idp_metadata: '<x/>' } }),
        ],
      },
      { ...item('edghts', 2), hostports: null, mutual_tls: null, tls_termination: null, routes: [] },
    ],
  },
  '/edges/tcp': {
    key: 'tcp_edges',
    items: [
      {
        ...item('edgtcp', 1),
        hostports: ['1.tcp.ngrok.io:20301'],
        backend,
        ip_restriction: null,
        traffic_policy: null,
      },
    ],
  },
  '/edges/tls': {
    key: 'tls_edges',
    items: [
      {
        ...item('edgtls', 1),
        hostports: ['mail.example.com:443'],
        backend,
        tls_termination: { enabled: true, terminate_at: 'upstream' },
      },
    ],
  },
  '/backends/tunnel_group': {
    key: 'backends',
    items: [{ ...item('bkdtg', 1, 'agents'), labels: { app: 'shop' }, tunnels: [ref('tn', 1, 'tunnels')] }],
  },
  '/backends/failover': {
    key: 'backends',
    items: [{ ...item('bkdfo', 1, 'fallback'), backends: [id('bkdtg', 1), id('bkdhr', 1)] }],
  },
  '/backends/weighted': {
    key: 'backends',
    items: [{ ...item('bkdwd', 1, 'canary'), backends: { [id('bkdtg', 1)]: 90, [id('bkdsc', 1)]: 10 } }],
  },
  '/backends/http_response': {
    key: 'backends',
    items: [
      { ...item('bkdhr', 1, 'sorry'), body: 'sorry', headers: { 'content-type': 'text/plain' }, status_code: 503 },
    ],
  },
  '/backends/static': {
    key: 'backends',
    items: [{ ...item('bkdsc', 1, 'static'), address: '10.0.0.5:80', tls: { enabled: false } }],
  },
  '/certificate_authorities': {
    key: 'certificate_authorities',
    items: [
      {
        ...item('ca', 1, 'clients'),
        ca_pem: CA_PEM,
        subject_common_name: 'import',
        not_before: '',
        not_after: '',
        key_usages: [],
        extended_key_usages: [],
      },
    ],
  },
  '/tls_certificates': { key: 'tls_certificates', items: [] },
  '/reserved_domains': {
    key: 'reserved_domains',
    items: [
      {
        ...item('rd', 1),
        domain: 'shop.example.com',
        region: 'us',
        cname_target: '2abc.cname.ngrok.io',
        certificate: null,
        certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'ecdsa' },
        certificate_management_status: { renews_at: '2026-01-01T00:00:00Z', provisioning_job: null },
        acme_challenge_cname_target: null,
        http_endpoint_configuration: ref('ec', 1, 'endpoint_configurations'),
      },
    ],
  },
  '/reserved_addrs': {
    key: 'reserved_addrs',
    items: [{ ...item('ra', 1), addr: '1.tcp.ngrok.io:20301', region: 'us' }],
  },
  '/ip_policies': { key: 'ip_policies', items: [item('ipp', 1, 'office')] },
  '/ip_policy_rules': {
    key: 'ip_policy_rules',
    items: [
      { ...item('ipr', 1), cidr: '192.0.2.0/24', ip_policy: ref('ipp', 1, 'ip_policies'), action: 'allow' },
      { ...item('ipr', 2), cidr: '192.0.2.66/32', ip_policy: ref('ipp', 1, 'ip_policies'), action: 'deny' },
    ],
  },
  '/ip_restrictions': {
    key: 'ip_restrictions',
    items: [{ ...item('ipx', 1), enforced: true, type: 'api', ip_policies: [] }],
  },
};
