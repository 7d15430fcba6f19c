import type { IpRestrictionConfig, OidcConfig, TunnelConfig, UpstreamTlsConfig } from './agent-config.ts';
import { metadataProblem, nameProblem } from './text-problems.ts';
import {
  cidrProblem,
  domainProblem,
  hostHeaderProblem,
  labelProblem,
  splitLabel,
  type TunnelKey,
  tunnelProblems,
} from './tunnel-rules.ts';
import type { YamlFields } from './yaml-fields.ts';

const MAX_UINT32 = 4_294_967_295;
const KEYS: readonly (TunnelKey | 'hostname' | 'metadata' | 'inspect')[] = [
  'addr',
  'proto',
  'schemes',
  'labels',
  'domain',
  'hostname',
  'remote_port',
  'metadata',
  'host_header',
  'inspect',
  'oidc',
  'ip_restriction',
  'mutual_tls_cas',
  'compression',
  'upstream_tls',
];
const OIDC_KEYS: readonly (keyof OidcConfig)[] = [
  'issuer',
  'client_id',
  'client_secret',
  'scopes',
  'options_passthrough',
  'cookie_prefix',
  'inactivity_timeout',
  'maximum_duration',
];

/** Null when it is not a tunnel. Every problem has been recorded by then. */
export function readTunnel(tunnels: YamlFields, name: string): TunnelConfig | null {
  const named = nameProblem(name);
  if (named !== null) tunnels.problem(name, `the name of a tunnel ${named}`);
  const fields = tunnels.map(name, KEYS);
  if (fields === null) return null;
  if (!fields.has('addr'))
    fields.problem(null, `tunnels.${name}.addr is missing: write addr: 8080, host:port or a URL`);
  const tunnel: TunnelConfig = {
    name,
    addr: fields.address('addr') ?? '',
    proto: readProto(fields),
    labels: readLabels(fields),
    schemes: readSchemes(fields),
    domain: readDomain(fields),
    remotePort: fields.integer('remote_port', 1, 65_535),
    metadata: fields.text('metadata', metadataProblem),
    hostHeader: fields.text('host_header', hostHeaderProblem),
    inspect: fields.boolean('inspect') ?? true,
    oidc: readOidc(fields.map('oidc', OIDC_KEYS)),
    ipRestriction: readIpRestriction(fields.map('ip_restriction', ['allow_cidrs', 'deny_cidrs'])),
    mutualTlsCas: fields.textList('mutual_tls_cas', 'clients-ca.pem') ?? [],
    compression: fields.boolean('compression') ?? false,
    upstreamTls: readUpstreamTls(fields.map('upstream_tls', ['root_cas', 'server_name', 'insecure_skip_verify'])),
  };
  for (const { key, message } of tunnelProblems(tunnel)) {
    // Unreadable values have already been recorded.
    const isUnread = (key === 'addr' && tunnel.addr === '') || (key === 'proto' && hasAny(fields, ['proto', 'labels']));
    if (!isUnread) fields.problem(key, `tunnels.${name}: ${message}`);
  }
  return tunnel;
}

function readProto(fields: YamlFields): TunnelConfig['proto'] {
  if (fields.is('proto', 'https')) {
    return fields.problem('proto', 'use "proto: http": its public address is https unless schemes says otherwise');
  }
  return fields.oneOf('proto', ['http', 'tcp', 'tls']);
}

function readLabels(fields: YamlFields): TunnelConfig['labels'] {
  const texts = fields.textList('labels', 'app=web', labelProblem);
  if (texts === null) return null;
  const pairs = texts.map(splitLabel);
  if (pairs.length === 0 && fields.isEmptyList('labels')) {
    fields.problem('labels', 'labels is empty: write labels: [app=web]');
  }
  if (new Set(pairs.map(([label]) => label)).size < pairs.length) {
    fields.problem('labels', 'labels has two values for one name: remove one');
  }
  return Object.fromEntries(pairs);
}

function readSchemes(fields: YamlFields): TunnelConfig['schemes'] {
  const isScheme = (text: string): text is 'http' | 'https' => text === 'http' || text === 'https';
  const texts = fields.textList('schemes', 'https', (text) => (isScheme(text) ? null : 'must be http or https'));
  if (texts !== null && fields.isEmptyList('schemes')) {
    fields.problem('schemes', 'schemes is empty: write schemes: [https]');
  }
  return texts?.filter(isScheme) ?? null;
}

function readDomain(fields: YamlFields): string | null {
  if (fields.has('domain') && fields.has('hostname')) {
    return fields.problem('hostname', 'hostname is an alias of domain: remove one of them');
  }
  return fields.text('domain', domainProblem) ?? fields.text('hostname', domainProblem);
}

function readOidc(fields: YamlFields | null): OidcConfig | null {
  if (fields === null) return null;
  const given = {
    issuer: required(fields, 'issuer', 'https://accounts.example.com'),
    client_id: required(fields, 'client_id', 'my-app'),
    client_secret: fields.text('client_secret'),
    scopes: fields.textList('scopes', 'openid, email'),
    options_passthrough: fields.boolean('options_passthrough'),
    cookie_prefix: fields.text('cookie_prefix'),
    inactivity_timeout: fields.integer('inactivity_timeout', 0, MAX_UINT32),
    maximum_duration: fields.integer('maximum_duration', 0, MAX_UINT32),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)) as unknown as OidcConfig;
}

function required(fields: YamlFields, key: string, example: string): string {
  if (!fields.has(key)) fields.problem(null, `oidc.${key} is missing: write ${key}: ${example}`);
  return fields.text(key) ?? '';
}

function readIpRestriction(fields: YamlFields | null): IpRestrictionConfig | null {
  if (fields === null) return null;
  const allowCidrs = fields.textList('allow_cidrs', '10.0.0.0/8', cidrProblem);
  const denyCidrs = fields.textList('deny_cidrs', '192.0.2.0/24', cidrProblem);
  const isNone = (key: string): boolean => !fields.has(key) || fields.isEmptyList(key);
  // It would look like a protection and be none.
  if (isNone('allow_cidrs') && isNone('deny_cidrs')) {
    return fields.problem(null, 'ip_restriction has no ranges: write allow_cidrs or deny_cidrs, or remove it');
  }
  return { allowCidrs: allowCidrs ?? [], denyCidrs: denyCidrs ?? [] };
}

function readUpstreamTls(fields: YamlFields | null): UpstreamTlsConfig | null {
  return (
    fields && {
      rootCas: fields.textList('root_cas', 'service-ca.pem') ?? [],
      serverName: fields.text('server_name', domainProblem),
      insecureSkipVerify: fields.boolean('insecure_skip_verify') ?? false,
    }
  );
}

function hasAny(fields: YamlFields, keys: readonly string[]): boolean {
  return keys.some((key) => fields.has(key));
}
