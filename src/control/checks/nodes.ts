import { formatListenAddress, isLoopbackHost, type ListenAddress } from '../../kit/net/listen-address.ts';
import { variableOf } from '../../kit/settings/setting.ts';
import { moduleRisks } from '../../modules/declared-settings.ts';
import { type Check, type Finding, findingMaker, findingsOf } from './check.ts';
import type { CheckedNode, Facts, PeerStatus } from './facts.ts';

/** By the start of a problem line; an unknown line of another version gets the general advice. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/^the clock of /, 'synchronize the clocks of all nodes and of the database with NTP'],
  [
    /^node .* cannot be reached /,
    'check peer_address of that node, and that firewalls let nodes connect to each other',
  ],
  [
    /^port \d+ /,
    'end the program that uses the port on that machine, or set tcp_ports to ports that are free on all nodes',
  ],
  [
    /^the mail server /,
    'check smtp_url (POSTERN_SMTP_URL) and mail_from: host, port, user and password, and that the server presents a valid certificate; links can also be handed over by hand: postern users invite PERSON --print',
  ],
  [
    /^the sites are not applied, because other nodes /,
    'remove the setting sites (--sites, POSTERN_SITES), and apply the file with "postern apply --prune" instead',
  ],
  [
    /^the sites wait for a confirmation: /,
    'correct the file, or if this is meant, run "postern apply -f FILE --prune --owner postern-server" with the same file, or start the server with --sites-may-shrink',
  ],
  [
    /^the sites are not applied: /,
    'correct the file ("postern validate -f FILE" lists its mistakes), then send SIGHUP to the server or run "systemctl reload postern"',
  ],
  [/^the database .* lost commits/, 'do what the message says, then restart the server: the problem ends with it'],
  [/^this server cannot join /, 'make the setting equal, and restart that node'],
];
const GENERAL_ADVICE = 'see the log of that node';

const found = findingMaker('nodes');

export const nodes = {
  name: 'nodes',
  nouns: ['nodes'],
  run: ({ nodes: all, peers }: Pick<Facts, 'nodes' | 'peers'>) => checkNodes(all, peers),
} satisfies Check;

/** What the nodes report about themselves, and how they differ. */
function* checkNodes(all: readonly CheckedNode[], peers: readonly PeerStatus[]): Generator<Finding> {
  const alive = all.filter(({ status }) => status !== 'lost');
  const aliveNames = new Set(alive.map(({ name }) => name));
  for (const { id, name, status, problems } of alive) {
    for (const line of problems) yield found.problem(`${name}: ${line}`, adviceOn(line), { id });
    if (status === 'draining') yield found.hint(`${name} is being stopped`, undefined, { id });
    else if (problems.length === 0) yield found.ok(`${name} is ready`);
  }
  for (const { id, name, status, last_seen_at: seen } of all) {
    // A node that was started again has the same name.
    if (status === 'lost' && !aliveNames.has(name))
      yield found.warning(
        `${name} was lost: it last renewed its lease at ${seen}`,
        'start it again, or ignore it if it was removed',
        { id },
      );
  }
  const reported = alive.flatMap(({ problems }) => problems);
  for (const { name, status } of peers) {
    const isReported = reported.some((line) => line.startsWith(`node ${name} cannot be reached `));
    if (status === 'unreachable' && !isReported)
      yield found.warning(`the server that answers is not linked to ${name}`, 'wait a moment and check again');
  }
  const versions = new Set(alive.map(({ version }) => version));
  if (versions.size > 1) {
    const list = alive.map(({ name, version }) => `${name} ${version}`).sort();
    yield found.warning(`the nodes run different versions: ${list.join(', ')}`, 'upgrade the remaining nodes');
  }
}

function adviceOn(line: string): string {
  return ADVICE.find(([start]) => start.test(line))?.[1] ?? GENERAL_ADVICE;
}

export const settings: Check = { name: 'settings', nouns: ['settings'], run: checkSettings };

/** Settings that work but allow more than may be intended. */
export function checkSettings({ config }: Pick<Facts, 'config'>): readonly Finding[] {
  const found = findingsOf('settings');
  const isPublic = !isLoopbackHost(config.api_listen.host);
  if (isPublic) {
    found.warning(
      `the API listens on ${formatListenAddress(config.api_listen)}, where other machines can reach it`,
      'restrict access with a firewall, or set api_listen to 127.0.0.1',
    );
  }
  if (isPublic && config.api_metrics_open) {
    found.warning('anyone who can reach the API can read its metrics without a key', 'set api_metrics_open to false');
  }
  if (config.trusted_proxies.some((range) => range.endsWith('/0'))) {
    found.warning(
      'trusted_proxies includes every address: any client can claim any address, also one that IP rules let in',
      'list only the ranges of your proxies',
    );
  }
  if (config.upstream_allow_cidrs.length > 0) {
    found.warning(
      `upstreams may be at ${config.upstream_allow_cidrs.join(', ')}, where cloud providers serve instance credentials`,
      `leave upstream_allow_cidrs (${variableOf('upstream_allow_cidrs')}) empty unless an upstream needs it`,
    );
  }
  for (const { message, advice } of moduleRisks(config.moduleSettings)) found.warning(message, advice);
  if (found.list.length === 0) found.ok('the settings are valid, and none is risky');
  return found.list;
}

const RECOVERS = 'Traffic continues meanwhile, and changes work again without a restart';
const STORE_ADVICE: Readonly<Record<string, string>> = {
  ERR_POSTERN_STORE_FULL: `free space on the disk of the database, or enlarge it. ${RECOVERS}`,
  ERR_POSTERN_STORE_READ_ONLY: `mount the disk read-write, and give the user of the server write access; on PostgreSQL, promote the standby, or start the primary. ${RECOVERS}`,
  ERR_POSTERN_STORE_UNAVAILABLE: `do what the message says, and check that the database runs and that this server reaches it. ${RECOVERS}`,
};
/** Undamaged pages still take changes. */
const STATES: Readonly<Record<string, string>> = {
  ERR_POSTERN_STORE_CORRUPT:
    'the server may not start again with its store, and changes that it stores now may be lost',
};
const OTHER_ADVICE = 'do what the message says; the log of the server has more';

const foundInStore = findingMaker('store');

/** Whether the server that answers can store changes, and can read what is stored. */
export const store = {
  name: 'store',
  nouns: ['nodes'],
  *run({ storeProblem, unreadable }: Pick<Facts, 'storeProblem' | 'unreadable'>): Generator<Finding> {
    for (const { kind, id } of unreadable) {
      yield foundInStore.problem(
        `${id} cannot be read: the stored record (${kind}) is not what the API writes, so it is treated as absent`,
        'delete it and create it again, or restore a backup from before',
      );
    }
    if (storeProblem === null) return;
    const { code, message } = storeProblem;
    yield foundInStore.problem(`${STATES[code] ?? 'the server stores no changes'}: ${message}`, storeAdvice(code));
  },
} satisfies Check;

/** What to do about a store with this error. */
export function storeAdvice(code: string): string {
  return STORE_ADVICE[code] ?? OTHER_ADVICE;
}

/** The ports that ACME servers connect to: RFC 8737 §3, RFC 8555 §8.3. */
const VALIDATION_PORTS = [
  { challenge: 'tls-alpn-01', setting: 'edge_listen', port: 443 },
  { challenge: 'http-01', setting: 'edge_http_listen', port: 80 },
] as const;

const foundPort = findingMaker('managed_certificates');

/** Listeners that ACME servers may not reach. */
export const validationPorts: Check = {
  name: 'managed_certificates',
  nouns: ['settings'],
  *run({ config }) {
    if (config.acme !== 'on') return;
    for (const { challenge, setting, port } of VALIDATION_PORTS) {
      const addresses: readonly ListenAddress[] = [config[setting]].flat();
      if (!config.acme_challenges.includes(challenge) || addresses.some((address) => address.port === port)) continue;
      yield foundPort.hint(
        `${setting} does not use port ${port}, to which ACME servers connect for ${challenge}`,
        `forward port ${port} of the public address to it, or change ${setting}`,
      );
    }
  },
};

const MAX_NAME = 60;
const AGENT_ADVICE = 'correct it on the machine of the agent: its log says when the problem is over';

const foundAgents = findingMaker('agents');

/** What agents report about their machines, such as containers whose labels they reject. */
export const agents: Check = {
  name: 'agents',
  nouns: ['tunnel_sessions'],
  *run({ tunnel_sessions: all }) {
    for (const { id, ip, metadata, problems } of all) {
      const name = metadata === '' ? ip : `${onOneLine(metadata).slice(0, MAX_NAME)} (${ip})`;
      for (const problem of problems)
        yield foundAgents.warning(`agent ${name}: ${onOneLine(problem)}`, AGENT_ADVICE, { id });
    }
  },
};

/** A stranger wrote the text. */
function onOneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim();
}
