import type { Check } from './check.ts';
import type { CheckedNode, Facts, PeerStatus } from './facts.ts';
import { type Finding, findingMaker } from './finding.ts';

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
