import type { ChangeRow, Row } from './database-checks.ts';

/** The noun of a kind in event types. */
const NOUNS: Readonly<Record<string, string>> = {
  https_edge: 'https_edge',
  https_edge_route: 'https_edge_route',
  static_backend: 'backend',
  weighted_backend: 'backend',
  failover_backend: 'backend',
  http_response_backend: 'backend',
  tunnel_group_backend: 'backend',
  ip_policy: 'ip_policy',
  ip_policy_rule: 'ip_policy_rule',
  event_subscription: 'event_subscription',
  event_destination: 'event_destination',
  certificate_authority: 'certificate_authority',
  api_key: 'api_key',
  credential: 'tunnel_credential',
};

/** Every event type caused by a configuration change, once each. */
export const CHANGE_EVENTS: readonly string[] = [...new Set(Object.values(NOUNS))].flatMap((noun) =>
  ['created', 'updated', 'deleted'].map((verb) => `${noun}_${verb}.v0`),
);

/** Compares the outbox rows after `from` with the change rows of the same revisions: neither may lack the other. */
export function eventProblems(changes: readonly ChangeRow[], events: readonly Row[], from: number): string[] {
  const firstSeen = new Map<string, number>();
  for (const { kind, id, revision } of changes) {
    const key = `${kind} ${id}`;
    if (!firstSeen.has(key)) firstSeen.set(key, revision);
  }
  const byRevision = Map.groupBy(
    changes.filter(({ revision }) => revision > from),
    ({ revision }) => revision,
  );
  const told = Map.groupBy(events, (event) => Number(event['revision']));
  const problems: string[] = [];
  for (const [revision, rows] of byRevision) {
    const found = (told.get(revision) ?? []).map(nameOf).sort();
    const isTold = expectedEvents(rows, firstSeen).some((expected) => expected.sort().join() === found.join());
    if (!isTold) {
      const what = rows.map(({ op, kind, id }) => `${op} ${kind} ${id}`).join(', ');
      problems.push(`revision ${revision} (${what}) has the events [${found.join(', ')}]`);
    }
    told.delete(revision);
  }
  for (const revision of told.keys()) problems.push(`there are events of revision ${revision}, which does not exist`);
  return problems;
}

/** Alternatives: for an update alone, the rows do not show which of the touched resources was meant. */
function expectedEvents(rows: readonly ChangeRow[], firstSeen: ReadonlyMap<string, number>): string[][] {
  const resources = rows.filter(({ kind }) => !kind.includes('.'));
  const deleted = resources
    .filter(({ op }) => op === 'delete')
    .map(({ kind, id }) => `${NOUNS[kind]}_deleted.v0 ${id}`);
  const created = resources
    .filter(({ op, kind, id, revision }) => op === 'put' && firstSeen.get(`${kind} ${id}`) === revision)
    .map(({ kind, id }) => `${NOUNS[kind]}_created.v0 ${id}`);
  if (deleted.length + created.length > 0) return [[...deleted, ...created]];
  return rows.map(({ kind, owner }) => [`${NOUNS[kind.split('.')[0] ?? '']}_updated.v0 ${owner}`]);
}

function nameOf(event: Row): string {
  const payload = JSON.parse(String(event['payload'])) as { readonly object: { readonly id: string } };
  return `${String(event['type'])} ${payload.object.id}`;
}
