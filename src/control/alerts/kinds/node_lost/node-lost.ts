import type { AlertKind } from '../../alert-kind.ts';

/** A node that ended without a farewell. After ten minutes it is no longer listed, and the alert ends. */
export const nodeLost: AlertKind = {
  name: 'node_lost',
  description: 'A node has not renewed its lease for alert_node_lost. Nodes that are stopped are not lost.',
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
