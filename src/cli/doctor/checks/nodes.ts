import type { Node } from '../../../client/generated/nodes.ts';
import type { Transport } from '../../../client/transport.ts';
import { type Finding, findingsOf } from '../finding.ts';

export interface PeerStatus {
  readonly name: string;
  readonly status: string;
}

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
  [/^this server cannot join /, 'make the setting equal, and restart that node'],
];
const GENERAL_ADVICE = 'see the log of that node';

/** The peers of the server that answers. A server that is not ready has a finding of the check `api`. */
export async function readPeers(transport: Transport): Promise<readonly PeerStatus[]> {
  const answer = await transport.send({ method: 'GET', path: '/healthz?verbose' }, { maxRetries: 0 }).catch(() => null);
  if (answer === null) return [];
  // A server of an earlier version has no such field.
  return (JSON.parse(answer.text) as { readonly peers?: readonly PeerStatus[] }).peers ?? [];
}

/** What the nodes report about themselves, and how they differ. */
export function checkNodes(nodes: readonly Node[], peers: readonly PeerStatus[]): readonly Finding[] {
  const found = findingsOf('nodes');
  const alive = nodes.filter(({ status }) => status !== 'lost');
  const aliveNames = new Set(alive.map(({ name }) => name));
  for (const { name, status, problems } of alive) {
    for (const line of problems) found.problem(`${name}: ${line}`, adviceOn(line));
    if (status === 'draining') found.hint(`${name} is being stopped`);
    else if (problems.length === 0) found.ok(`${name} is ready`);
  }
  for (const { name, status, last_seen_at: seen } of nodes) {
    // A node that was started again has the same name.
    if (status === 'lost' && !aliveNames.has(name))
      found.warning(
        `${name} was lost: it last renewed its lease at ${seen}`,
        'start it again, or ignore it if it was removed',
      );
  }
  const reported = alive.flatMap(({ problems }) => problems);
  for (const { name, status } of peers) {
    const isReported = reported.some((line) => line.startsWith(`node ${name} cannot be reached `));
    if (status === 'unreachable' && !isReported)
      found.warning(`the server that answers is not linked to ${name}`, 'wait a moment and rerun this command');
  }
  const versions = new Set(alive.map(({ version }) => version));
  if (versions.size > 1) {
    const list = alive.map(({ name, version }) => `${name} ${version}`).sort();
    found.warning(`the nodes run different versions: ${list.join(', ')}`, 'upgrade the remaining nodes');
  }
  return found.list;
}

function adviceOn(line: string): string {
  return ADVICE.find(([start]) => start.test(line))?.[1] ?? GENERAL_ADVICE;
}
