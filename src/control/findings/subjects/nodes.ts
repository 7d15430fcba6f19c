import { type Finding, findingTable } from '../../../kit/findings.ts';
import type { AlertKind } from '../alert-kind.ts';
import type { CheckedNode, Facts, PeerStatus } from '../facts.ts';
import type { Check, Subject } from '../subject.ts';

const { kinds, found, ok } = findingTable('nodes', {
  node_draining: { level: 'hint', text: ({ name }: CheckedNode) => `${name} is being stopped` },
  node_lost: {
    level: 'warning',
    text: ({ name, last_seen_at: seen }: CheckedNode) => `${name} was lost: it last renewed its lease at ${seen}`,
    advice: 'start it again, or ignore it if it was removed',
  },
  node_not_linked: {
    level: 'warning',
    text: ({ name }: PeerStatus) => `the server that answers is not linked to ${name}`,
    advice: 'wait a moment and check again',
  },
  versions_differ: {
    level: 'warning',
    text: ({ versions }: { readonly versions: readonly string[] }) =>
      `the nodes run different versions: ${versions.join(', ')}`,
    advice: 'upgrade the remaining nodes',
  },
});

/** What the nodes report about themselves, and how they differ. */
export const nodesCheck = {
  name: 'nodes',
  nouns: ['nodes'],
  kinds,
  *run({ nodes: all, peers }: Pick<Facts, 'nodes' | 'peers'>): Generator<Finding> {
    const alive = all.filter(({ status }) => status !== 'lost');
    for (const node of alive) yield* ownFindings(node);
    const aliveNames = new Set(alive.map(({ name }) => name));
    for (const node of all) {
      // A node that was started again has the same name.
      if (node.status === 'lost' && !aliveNames.has(node.name)) yield found('node_lost', node, { id: node.id });
    }
    const unreachable = reportedUnreachable(all);
    for (const peer of peers)
      if (peer.status === 'unreachable' && !unreachable.has(peer.name)) yield found('node_not_linked', peer);
    if (new Set(alive.map(({ version }) => version)).size > 1)
      yield found('versions_differ', { versions: alive.map(({ name, version }) => `${name} ${version}`).sort() });
  },
} satisfies Check;

function* ownFindings(node: CheckedNode): Generator<Finding> {
  const { id, name, status, problems } = node;
  for (const problem of problems)
    yield { ...problem, level: 'problem', check: 'nodes', message: `${name}: ${problem.message}`, about: { id } };
  if (status === 'draining') yield found('node_draining', node, { id });
  else if (problems.length === 0) yield ok(`${name} is ready`);
}

/** Names of the nodes that another one has reported. */
function reportedUnreachable(all: readonly CheckedNode[]): ReadonlySet<string> {
  const reported = all.filter(({ status }) => status !== 'lost').flatMap(({ problems }) => problems);
  const ids = new Set(reported.flatMap(({ code, about }) => (code === 'node_unreachable' ? [about?.id] : [])));
  return new Set(all.flatMap(({ id, name }) => (ids.has(id) ? [name] : [])));
}

/** A node that ended without a farewell. After ten minutes it is no longer listed, and the alert ends. */
const nodeLost: AlertKind = {
  code: 'node_lost',
  advice: 'start the node again; if it was removed, the alert ends by itself',
  sight: 'installation',
  raiseAfterMs: () => 0,
  resolveAfterMs: 10_000,
  isOn: ({ nodeLostMs }) => nodeLostMs > 0,
  createLook: () => (facts) => {
    const nodes = facts.nodes();
    // A node that was started again has another id and the same name.
    const present = new Set(nodes.filter(({ status }) => status !== 'lost').map(({ name }) => name));
    const lost = nodes.filter(
      ({ name, status, lastSeenAtMs }) =>
        status === 'lost' && !present.has(name) && facts.nowMs - lastSeenAtMs >= facts.limits.nodeLostMs,
    );
    const names = new Set(lost.map(({ name }) => name));
    return [...names].map((subject) => ({ subject, state: 'bad' as const, title: `the node ${subject} is lost` }));
  },
};

export const nodes: Subject = { checks: [nodesCheck], alerts: [nodeLost] };
