import type { JsonObject } from '../../../kit/json.ts';
import type { AlertFacts, AlertKind, BackendTraffic, Sighting } from '../alert-kind.ts';
import type { Subject } from '../subject.ts';

/** Without a failed request for this long, nobody misses the backend, or it works again. */
const QUIET_MS = 600_000;

interface Failure {
  atMs: number;
  /** The backend's revision then: a changed backend may work. */
  readonly revision: number;
}

/** A backend that most requests cannot be forwarded to. Without requests, nothing is known about it for a while. */
const backendFailing: AlertKind = {
  code: 'backend_failing',
  advice:
    'check that the service runs at the address of the backend: postern doctor dials it, postern requests shows what fails',
  sight: 'node',
  raiseAfterMs: ({ backendFailingMs }) => backendFailingMs,
  resolveAfterMs: 30_000,
  isOn: ({ backendFailingMs }) => backendFailingMs > 0,
  createLook: () => {
    // A backend that nobody asked for since it failed may still fail.
    const failures = new Map<string, Failure>();
    return (facts) => {
      const traffic = new Map(facts.backendTraffic().map((each) => [each.backendId, each]));
      for (const [id, { failed }] of traffic) if (failed > 0) noteFailure(failures, id, facts);
      for (const id of facts.raised) if (!failures.has(id)) noteFailure(failures, id, facts);
      return [...failures].flatMap(([id, failure]): readonly Sighting[] => {
        const sighting = sightingOf(id, failure, traffic.get(id), facts);
        if (sighting === null || (sighting.state === 'well' && !facts.raised.has(id))) failures.delete(id);
        return sighting === null ? [] : [sighting];
      });
    };
  },
};

function noteFailure(failures: Map<string, Failure>, id: string, facts: AlertFacts): void {
  failures.set(id, { atMs: facts.nowMs, revision: facts.resource(id)?.revision ?? 0 });
}

function sightingOf(
  id: string,
  { atMs, revision }: Failure,
  traffic: BackendTraffic | undefined,
  facts: AlertFacts,
): Sighting | null {
  const backend = facts.resource(id);
  if (backend === undefined) return null;
  const title = `the backend ${nameOf(id, backend.doc)} fails`;
  if (traffic !== undefined) return { subject: id, state: traffic.failed >= traffic.succeeded ? 'bad' : 'well', title };
  const isOver = backend.revision !== revision || facts.nowMs - atMs >= QUIET_MS;
  return { subject: id, state: isOver ? 'well' : 'unknown', title };
}

/** By its description, otherwise by its address. */
function nameOf(id: string, { description, address }: JsonObject): string {
  const name = [description, address].find((text) => typeof text === 'string' && text !== '');
  return name === undefined ? id : `"${name as string}" (${id})`;
}

export const backends: Subject = { alerts: [backendFailing] };
