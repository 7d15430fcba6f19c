import type { Check } from './check.ts';
import type { CheckedAuthority, CheckedEdge, Facts } from './facts.ts';
import { type Finding, findingMaker } from './finding.ts';
import { remainingTime } from './remaining-time.ts';

const DAY_MS = 86_400_000;

const found = findingMaker('authorities');

/** Authorities for client certificates: an expired one locks everybody out. */
export const authorities = {
  name: 'authorities',
  nouns: ['edges', 'certificate_authorities'],
  *run({
    edges,
    certificate_authorities: all,
    nowMs,
  }: Pick<Facts, 'edges' | 'certificate_authorities' | 'nowMs'>): Generator<Finding | null> {
    const used = yield* idsInUse(edges);
    for (const authority of all) yield judge(authority, used.has(authority.id), nowMs);
    for (const authority of all) yield judgeList(authority, used.has(authority.id), nowMs);
  },
} satisfies Check;

function* idsInUse(edges: readonly CheckedEdge[]): Generator<null, ReadonlySet<string>> {
  const used = new Set<string>();
  for (const { clientAuthorities } of edges) {
    for (const id of clientAuthorities) used.add(id);
    yield null;
  }
  return used;
}

function judge({ id, subject_common_name: name, not_after: end }: CheckedAuthority, isUsed: boolean, nowMs: number) {
  const { state, words } = remainingTime(Date.parse(end), nowMs);
  const line = `${id} (${name}) ${words}`;
  const advice =
    'create its successor, add it to certificate_authority_ids of its edges beside the old one, then issue new certificates to clients';
  if (state === 'fine') return found.ok(line);
  if (state === 'soon') return found.warning(line, advice, { id });
  if (isUsed) return found.problem(`${line}: its clients are rejected`, advice, { id });
  const removal = `delete it: postern api certificate-authorities delete ${id}`;
  return found.warning(`${line}, and no edge uses it`, removal, { id });
}

/** A list that is missing or stale lets revoked clients in (soft) or locks everybody out (hard). */
function judgeList(authority: CheckedAuthority, isUsed: boolean, nowMs: number): Finding | null {
  const { id, crl_mode: mode, crl_status: status, crl_next_update: next, crl_error: error } = authority;
  if (status === 'off') return null;
  const advice =
    authority.crl_url === ''
      ? `upload its current list: postern api certificate-authorities update ${id} --crl-pem @FILE`
      : `check that ${authority.crl_url} serves the current list`;
  const why = error === null ? '' : ` (${error})`;
  if (status !== 'current') {
    const line = `the revocation list of ${id} is ${status.replaceAll('_', ' ')}${why}`;
    return mode === 'hard' && isUsed
      ? found.problem(`${line}: its clients are rejected`, advice, { id })
      : found.warning(`${line}: its clients are not checked for revocation`, advice, { id });
  }
  if (error !== null) return found.warning(`the revocation list of ${id} could not be renewed${why}`, advice, { id });
  if (authority.crl_url === '' && Date.parse(next ?? '') < nowMs + DAY_MS)
    return found.warning(`the revocation list of ${id} becomes stale at ${next}`, advice, { id });
  return found.ok(`the revocation list of ${id} is valid until ${next}`);
}
