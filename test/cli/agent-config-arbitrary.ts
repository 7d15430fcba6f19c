import fc from 'fast-check';
import type { AgentConfig, DockerConfig, TunnelConfig } from '../../src/app/cli/agent/config/agent-config.ts';

const word = fc.stringMatching(/^[a-z][a-z0-9]{0,10}$/);
const host = fc.tuple(word, word).map((labels) => labels.join('.'));
const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });
const file = fc.string({ minLength: 1, maxLength: 20 });
const token = fc.stringMatching(/^[\x21-\x7e]{1,40}$/);
const port = fc.integer({ min: 1, max: 65_535 });
const hostPort = fc.tuple(host, port).map(([name, number]) => `${name}:${number}`);
const cidr = fc.constantFrom('10.0.0.0/8', '192.0.2.7/32', 'fd00::/8', '0.0.0.0/0', '::1/128');
const maybe = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(of, { nil: null });
const files = fc.uniqueArray(file, { maxLength: 3 });

const labels = fc
  .uniqueArray(
    fc.tuple(
      word,
      text.filter((value) => !/\p{Cc}/u.test(value)),
    ),
    {
      minLength: 1,
      maxLength: 3,
      selector: ([name]) => name,
    },
  )
  .map((pairs) => Object.fromEntries(pairs));
const oidc = fc.record(
  {
    issuer: text,
    client_id: text,
    client_secret: text,
    scopes: fc.uniqueArray(text, { minLength: 1, maxLength: 3 }),
    options_passthrough: fc.boolean(),
    cookie_prefix: text,
    inactivity_timeout: fc.nat(),
    maximum_duration: fc.nat(),
  },
  { requiredKeys: ['issuer', 'client_id'] },
);
const ipRestriction = fc
  .record({ allow: fc.uniqueArray(cidr), deny: fc.uniqueArray(cidr) })
  .filter(({ allow, deny }) => allow.length + deny.length > 0);
const someFiles = fc.uniqueArray(file, { minLength: 1, maxLength: 3 });
const allModules = fc.record(
  {
    oidc,
    ip_restriction: ipRestriction,
    mutual_tls: fc.record({ ca_pems: someFiles }),
    compression: fc.constant({}),
  },
  { requiredKeys: [] },
);
const onlyAddresses = fc.record({ ip_restriction: ipRestriction }, { requiredKeys: [] });
const upstreamTls = fc.record({ rootCas: files, serverName: maybe(host), insecureSkipVerify: fc.boolean() });
const hostHeader = fc.oneof(fc.constantFrom('preserve', 'rewrite'), host, hostPort);
const schemes = fc.uniqueArray(fc.constantFrom('http' as const, 'https' as const), { minLength: 1 });

const plain: Omit<TunnelConfig, 'name' | 'addr' | 'metadata'> = {
  files: null,
  proto: null,
  labels: null,
  schemes: null,
  domain: null,
  remotePort: null,
  hostHeader: null,
  inspect: true,
  modules: {},
  upstreamTls: null,
};
const named = {
  name: fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9 ._-]{0,20}$/),
  metadata: maybe(text),
  inspect: fc.boolean(),
};
const rawAddr = fc.oneof(port.map(String), hostPort);
const httpAddr = fc.oneof(
  rawAddr,
  hostPort.map((address) => `https://${address}`),
);

const tunnel: fc.Arbitrary<TunnelConfig> = fc
  .oneof(
    fc
      .record({
        ...named,
        addr: httpAddr,
        schemes: maybe(schemes),
        domain: maybe(host),
        hostHeader: maybe(hostHeader),
        modules: allModules,
        upstreamTls: maybe(upstreamTls),
      })
      .map((own) => ({
        ...own,
        proto: 'http' as const,
        ...(own.schemes?.includes('http') && { modules: withoutTls(own.modules) }),
      })),
    fc
      .record({ ...named, addr: rawAddr, remotePort: maybe(port), modules: onlyAddresses })
      .map((own) => ({ ...own, proto: 'tcp' as const })),
    fc.record({ ...named, addr: rawAddr, domain: maybe(host) }).map((own) => ({ ...own, proto: 'tls' as const })),
    fc.record({ ...named, addr: httpAddr, labels, hostHeader: maybe(hostHeader), upstreamTls: maybe(upstreamTls) }),
  )
  .map((own) => ({ ...plain, ...own }));

const docker: fc.Arbitrary<DockerConfig> = fc.record({
  socket: maybe(fc.constantFrom('/run/podman/podman.sock', 'unix:///var/run/docker.sock', 'tcp://socket-proxy:2375')),
  defaults: fc.record({
    modules: allModules,
    allowGroups: fc.uniqueArray(fc.constantFrom('ops', 'support', 'two words'), { maxLength: 2 }),
    allowEmails: fc.uniqueArray(fc.constantFrom('ana@example.com', 'ben@example.com'), { maxLength: 2 }),
    allowPublic: fc.boolean(),
    upstreamTls: maybe(upstreamTls),
  }),
  sharedLabels: fc.uniqueArray(fc.constantFrom('env=prod', 'zone=a'), { maxLength: 2 }),
});

/** Valid configurations. */
export function anyAgentConfig(): fc.Arbitrary<AgentConfig> {
  return fc.record({
    authtoken: maybe(token),
    serverAddr: maybe(hostPort),
    rootCas: files,
    metadata: maybe(text),
    remoteManagement: maybe(fc.boolean()),
    inspectAddr: maybe(fc.oneof(hostPort, fc.constant(false as const))),
    tunnels: fc.uniqueArray(tunnel, { maxLength: 4, selector: ({ name }) => name }),
    docker: maybe(docker),
  });
}

/** As a user would write it. */
export function asWritten(config: AgentConfig): Record<string, unknown> {
  return withoutUnset({
    version: 2,
    authtoken: config.authtoken,
    server_addr: config.serverAddr,
    root_cas: config.rootCas,
    metadata: config.metadata,
    remote_management: config.remoteManagement,
    inspect_addr: config.inspectAddr,
    tunnels: Object.fromEntries(config.tunnels.map((each) => [each.name, tunnelAsWritten(each)])),
    docker: config.docker && dockerAsWritten(config.docker),
  });
}

function dockerAsWritten({ socket, defaults, sharedLabels }: DockerConfig): Record<string, unknown> {
  const { allowGroups, allowEmails, allowPublic, modules, upstreamTls } = defaults;
  // The keys of modules are those of a tunnel.
  const {
    addr: _addr,
    inspect: _inspect,
    ...keys
  } = tunnelAsWritten({
    ...plain,
    name: '',
    addr: '1',
    inspect: true,
    metadata: null,
    modules,
    upstreamTls,
  });
  return withoutUnset({
    socket,
    shared_labels: sharedLabels,
    defaults: withoutUnset({
      ...keys,
      allow_groups: allowGroups,
      allow_emails: allowEmails,
      allow_public: allowPublic,
    }),
  });
}

function tunnelAsWritten(own: TunnelConfig): Record<string, unknown> {
  const addresses = own.modules['ip_restriction'];
  return withoutUnset({
    addr: /^\d+$/.test(own.addr) ? Number(own.addr) : own.addr,
    proto: own.proto,
    schemes: own.schemes,
    labels: own.labels && Object.entries(own.labels).map(([name, value]) => `${name}=${value}`),
    domain: own.domain,
    remote_port: own.remotePort,
    metadata: own.metadata,
    host_header: own.hostHeader,
    inspect: own.inspect,
    oidc: own.modules['oidc'] === undefined ? null : withoutUnset(own.modules['oidc']),
    ip_restriction:
      addresses === undefined ? null : withoutUnset({ allow_cidrs: addresses['allow'], deny_cidrs: addresses['deny'] }),
    mutual_tls_cas: own.modules['mutual_tls']?.['ca_pems'] ?? [],
    compression: 'compression' in own.modules,
    upstream_tls:
      own.upstreamTls &&
      withoutUnset({
        root_cas: own.upstreamTls.rootCas,
        server_name: own.upstreamTls.serverName,
        insecure_skip_verify: own.upstreamTls.insecureSkipVerify,
      }),
  });
}

/** Without the modules that need TLS. */
function withoutTls({
  oidc: _login,
  mutual_tls: _certificates,
  ...others
}: TunnelConfig['modules']): TunnelConfig['modules'] {
  return others;
}

/** An empty list is rejected. */
function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function withoutUnset(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && !isEmpty(value)));
}
