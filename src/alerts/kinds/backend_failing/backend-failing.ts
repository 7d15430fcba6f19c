import type { AlertFacts, AlertKind, BackendTraffic, Finding } from '../../alert-kind.ts';

/** A backend that most requests cannot be forwarded to. Without requests, nothing is known about it. */
export const backendFailing: AlertKind = {
  name: 'backend_failing',
  description: 'At least half of the requests to a backend have failed for alert_backend_failing.',
  sight: 'node',
  raiseAfterMs: ({ backendFailingMs }) => backendFailingMs,
  resolveAfterMs: 30_000,
  isOn: ({ backendFailingMs }) => backendFailingMs > 0,
  createLook: () => {
    // A backend that nobody asked for since it failed may still fail.
    const watched = new Set<string>();
    return (facts) => {
      const traffic = new Map(facts.backendTraffic().map((each) => [each.backendId, each]));
      for (const [id, { failed }] of traffic) if (failed > 0) watched.add(id);
      for (const id of facts.raised) watched.add(id);
      return [...watched].flatMap((id): readonly Finding[] => {
        const finding = findingOf(id, traffic.get(id), facts);
        if (finding === null || (finding.state === 'well' && !facts.raised.has(id))) watched.delete(id);
        return finding === null ? [] : [finding];
      });
    };
  },
};

function findingOf(id: string, traffic: BackendTraffic | undefined, facts: AlertFacts): Finding | null {
  const backend = facts.resource(id);
  if (backend === undefined) return null;
  const title = `the backend ${nameOf(id, backend.doc['description'])} fails`;
  if (traffic === undefined) return { subject: id, state: 'unknown', title };
  return { subject: id, state: traffic.failed >= traffic.succeeded ? 'bad' : 'well', title };
}

function nameOf(id: string, description: unknown): string {
  return typeof description === 'string' && description !== '' ? `"${description}" (${id})` : id;
}
