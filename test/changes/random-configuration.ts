import fc from 'fast-check';
import type { Issued } from '../edge/tls/test-authority.ts';

export const CLIENT_SECRET = 'client secret';
export const HEADER_VALUE = 'header value';
export const WEBHOOK_SECRET = `whsec_${btoa('s'.repeat(32))}`;

export interface Write {
  readonly method: 'POST';
  readonly path: string;
  readonly body: object;
}

/** Names that are hard to write, to number or to tell apart. */
const descriptions = fc.constantFrom(
  ...[
    '',
    '',
    'web',
    'web',
    'web 2',
    'static',
    'static 2',
    '127.0.0.1:1',
    '127.0.0.1:2 2',
    'app=x',
    '__proto__',
    'constructor',
    'a: b # c',
    '- x',
    'it\'s\n"two"\n',
    'ünï ✓',
  ],
  ...['$'.concat('{env:X}'), '5', 'true', ' padded ', '*', 'ip_policy', 'event_destination', '{}', '\u2028', '~'],
);
const described = fc.record({ description: descriptions, metadata: fc.constantFrom('', '{"a": 1}', 'x\ny\n', '\t') });

interface Parts {
  readonly authority: Issued;
  readonly certificate: Issued;
}

/** The writes of a random configuration with every kind of object and module. References go to earlier objects. */
export function randomConfiguration({ authority, certificate }: Parts): fc.Arbitrary<readonly Write[]> {
  const choice = fc.nat({ max: 1_000_000 });
  const item = fc.record({ fields: described, a: choice, b: choice, flag: fc.boolean(), other: fc.boolean() });
  const some = (maxLength: number) => fc.array(item, { maxLength });
  return fc
    .record({
      backends: some(8),
      authorities: some(2),
      certificates: some(2),
      domains: some(3),
      policies: some(3),
      rules: some(4),
      accounts: some(3),
      destinations: some(3),
      subscriptions: some(2),
      edges: some(3),
      routes: some(6),
    })
    .map((parts) => {
      const writes: Write[] = [];
      const ids = new Map<string, number[]>();
      const add = (kind: string, path: string, body: object): void => {
        ids.set(kind, [...(ids.get(kind) ?? []), writes.length]);
        writes.push({ method: 'POST', path, body });
      };
      const ref = (kind: string, number: number): object | undefined => {
        const known = ids.get(kind) ?? [];
        const operation = known[number % Math.max(known.length, 1)];
        return operation === undefined ? undefined : { $ref: operation, field: 'id' };
      };
      const key = (kind: string, number: number): string | undefined => {
        const found = ref(kind, number) as { $ref: number } | undefined;
        return found === undefined ? undefined : `$\{${found.$ref}.id}`;
      };
      for (const { fields, a, b, flag } of parts.backends) {
        const member = key('backend', b);
        const kinds: (() => void)[] = [
          () =>
            add('backend', '/backends/static', {
              ...fields,
              address: `127.0.0.1:${(a % 5) + 1}`,
              tls: { enabled: flag },
            }),
          () =>
            add('backend', '/backends/http_response', {
              ...fields,
              body: fields.metadata,
              status_code: flag ? 200 : 503,
              headers: { 'x-a': 'b' },
            }),
          () => add('backend', '/backends/tunnel_group', { ...fields, labels: { app: flag ? 'true' : 'x' } }),
          () => member && add('backend', '/backends/weighted', { ...fields, backends: { [member]: (a % 9) + 1 } }),
          () => member && add('backend', '/backends/failover', { ...fields, backends: [ref('backend', b)] }),
        ];
        kinds[a % kinds.length]?.();
      }
      for (const { fields, flag } of parts.authorities) {
        add('authority', '/certificate_authorities', {
          ...fields,
          ca_pem: authority.certificatePem,
          crl_mode: flag ? 'off' : 'soft',
        });
      }
      for (const { fields } of parts.certificates) {
        add('certificate', '/tls_certificates', {
          ...fields,
          certificate_pem: certificate.certificatePem,
          private_key_pem: certificate.keyPem,
        });
      }
      for (const [at, { fields, a, flag }] of parts.domains.entries()) {
        const uploaded = flag ? ref('certificate', a) : undefined;
        const policy = a % 2 === 0 ? { certificate_management_policy: { authority: 'internal' } } : {};
        add('domain', '/reserved_domains', {
          ...fields,
          domain: `d${at}.example.com`,
          region: a % 3 === 0 ? 'eu' : '',
          ...(uploaded === undefined ? policy : { certificate_id: uploaded }),
        });
      }
      for (const { fields } of parts.policies) add('policy', '/ip_policies', fields);
      for (const { fields, a, b, flag } of parts.rules) {
        const policy = ref('policy', a);
        if (policy !== undefined)
          add('rule', '/ip_policy_rules', {
            ...fields,
            cidr: `10.${b % 3}.0.0/16`,
            action: flag ? 'allow' : 'deny',
            ip_policy_id: policy,
          });
      }
      for (const { fields, flag } of parts.accounts) {
        add('account', '/service_accounts', { ...fields, name: fields.description.trim() || 'program', active: flag });
      }
      for (const [at, { fields, flag, other }] of parts.destinations.entries()) {
        const webhook = {
          url: 'https://hooks.example.com/a',
          secret: WEBHOOK_SECRET,
          headers: other ? { 'x-key': HEADER_VALUE } : {},
        };
        add('destination', '/event_destinations', {
          ...fields,
          target: flag ? { webhook } : { file: { name: `f${at}` } },
        });
      }
      for (const { fields, a, flag } of parts.subscriptions) {
        const destination = ref('destination', a);
        const sources = flag ? [{ type: 'ip_policy_created.v0' }, { type: 'ip_policy_deleted.v0' }] : [];
        add('subscription', '/event_subscriptions', {
          ...fields,
          sources,
          destination_ids: destination === undefined ? [] : [destination],
        });
      }
      for (const [at, { fields, a, flag, other }] of parts.edges.entries()) {
        const hosts = [`e${at}.example.com:443`, `*.w${at}.example.com:443`, `x${at}.example.com:443`];
        const caller = ref('authority', a);
        add('edge', '/edges/https', {
          ...fields,
          hostports: hosts.slice(0, a % 4),
          ...(flag && { tls_termination: { min_version: other ? '1.2' : '1.3' } }),
          ...(other && caller !== undefined && { mutual_tls: { certificate_authority_ids: [caller] } }),
        });
      }
      const taken = new Set<string>();
      for (const { fields, a, b, flag, other } of parts.routes) {
        const edge = key('edge', a);
        const match = ['/', '/a', '/b/c', '/a%20b'][b % 4] as string;
        const matchType = flag ? 'path_prefix' : 'exact_path';
        if (edge === undefined || taken.has(`${edge} ${match} ${matchType}`)) continue;
        taken.add(`${edge} ${match} ${matchType}`);
        add('route', `/edges/https/${edge}/routes`, {
          ...fields,
          match,
          match_type: matchType,
          ...modulesOf(a, b, other, ref),
        });
      }
      return writes;
    });
}

function modulesOf(
  a: number,
  b: number,
  flag: boolean,
  ref: (kind: string, number: number) => object | undefined,
): object {
  const [backend, policy, account] = [ref('backend', b), ref('policy', b), ref('account', b)];
  const oidc = {
    issuer: 'https://id.example.com',
    client_id: 'c',
    client_secret: a % 2 === 0 ? CLIENT_SECRET : '',
    scopes: ['email'],
  };
  const oauth = { provider: { github: { client_id: 'g', client_secret: CLIENT_SECRET, organizations: ['postern'] } } };
  const rules = [
    ...(account === undefined ? [] : [{ service_accounts: [account] }]),
    { emails: ['a@example.com'], claims: { n: [1, true, 'x'] } },
  ];
  return {
    ...(backend !== undefined && { backend: { backend_id: backend, enabled: flag } }),
    ...(policy !== undefined && flag && { ip_restriction: { ip_policy_ids: [policy] } }),
    ...(a % 3 === 0 && { compression: { enabled: flag } }),
    ...(a % 5 === 0 && { oidc: { ...oidc, ...(flag && { login_parameters: { prompt: 'login' } }) } }),
    ...(a % 5 === 1 && { oauth }),
    ...(a % 5 < 2 && flag && { access: { allow: rules, deny: flag ? [{ email_domains: ['evil.example'] }] : [] } }),
  };
}
