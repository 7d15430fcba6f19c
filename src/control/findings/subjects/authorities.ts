import { type Finding, findingTable } from '../../../kit/findings.ts';
import type { CheckedAuthority, CheckedEdge, Facts } from '../facts.ts';
import type { Check, Subject } from '../subject.ts';
import { remainingTime } from './certificates.ts';

const DAY_MS = 86_400_000;
const SUCCESSOR =
  'create its successor, add it to certificate_authority_ids of its edges beside the old one, then issue new certificates to clients';

/** An authority as one text: `ca_1 (staff) expired on 2026-01-31`. */
interface Dated {
  readonly id: string;
  readonly line: string;
}

const { kinds, found, ok } = findingTable('authorities', {
  authority_expiring: { level: 'warning', text: ({ line }: Dated) => line, advice: SUCCESSOR },
  authority_expired: {
    level: 'problem',
    text: ({ line }: Dated) => `${line}: its clients are rejected`,
    advice: SUCCESSOR,
  },
  unused_authority_expired: {
    level: 'warning',
    text: ({ line }: Dated) => `${line}, and no edge uses it`,
    advice: ({ id }: Dated) => `delete it: postern api certificate-authorities delete ${id}`,
  },
  revocation_list_missing: {
    level: 'warning',
    text: (authority: CheckedAuthority) => `${listState(authority)}: its clients are not checked for revocation`,
    advice: listAdvice,
  },
  required_revocation_list_missing: {
    level: 'problem',
    text: (authority: CheckedAuthority) => `${listState(authority)}: its clients are rejected`,
    advice: listAdvice,
  },
  revocation_list_not_renewed: {
    level: 'warning',
    text: ({ id, crl_error: error }: CheckedAuthority) =>
      `the revocation list of ${id} could not be renewed (${error})`,
    advice: listAdvice,
  },
  revocation_list_ending: {
    level: 'warning',
    text: ({ id, crl_next_update: next }: CheckedAuthority) => `the revocation list of ${id} becomes stale at ${next}`,
    advice: listAdvice,
  },
});

function listState({ id, crl_status: status, crl_error: error }: CheckedAuthority): string {
  return `the revocation list of ${id} is ${status.replaceAll('_', ' ')}${error === null ? '' : ` (${error})`}`;
}

function listAdvice({ id, crl_url: url }: CheckedAuthority): string {
  return url === ''
    ? `upload its current list: postern api certificate-authorities update ${id} --crl-pem @FILE`
    : `check that ${url} serves the current list`;
}

/** Authorities for client certificates: an expired one locks everybody out. */
const authoritiesCheck: Check = {
  name: 'authorities',
  nouns: ['edges', 'certificate_authorities'],
  kinds,
  *run({
    edges,
    certificate_authorities: all,
    nowMs,
  }: Pick<Facts, 'edges' | 'certificate_authorities' | 'nowMs'>): Generator<Finding | null> {
    const used = yield* idsInUse(edges);
    for (const authority of all) yield judgeAuthority(authority, used.has(authority.id), nowMs);
    for (const authority of all) yield judgeList(authority, used.has(authority.id), nowMs);
  },
};

function* idsInUse(edges: readonly CheckedEdge[]): Generator<null, ReadonlySet<string>> {
  const used = new Set<string>();
  for (const { clientAuthorities } of edges) {
    for (const id of clientAuthorities) used.add(id);
    yield null;
  }
  return used;
}

function judgeAuthority(
  { id, subject_common_name: name, not_after: end }: CheckedAuthority,
  isUsed: boolean,
  nowMs: number,
): Finding {
  const { state, words } = remainingTime(Date.parse(end), nowMs);
  const line = `${id} (${name}) ${words}`;
  if (state === 'fine') return ok(line);
  if (state === 'soon') return found('authority_expiring', { id, line }, { id });
  return found(isUsed ? 'authority_expired' : 'unused_authority_expired', { id, line }, { id });
}

/** A list that is missing or stale lets revoked clients in (soft) or locks everybody out (hard). */
function judgeList(authority: CheckedAuthority, isUsed: boolean, nowMs: number): Finding | null {
  const { id, crl_mode: mode, crl_status: status, crl_next_update: next, crl_error: error } = authority;
  if (status === 'off') return null;
  if (status !== 'current') {
    const isRequired = mode === 'hard' && isUsed;
    return found(isRequired ? 'required_revocation_list_missing' : 'revocation_list_missing', authority, { id });
  }
  if (error !== null) return found('revocation_list_not_renewed', authority, { id });
  if (authority.crl_url === '' && Date.parse(next ?? '') < nowMs + DAY_MS)
    return found('revocation_list_ending', authority, { id });
  return ok(`the revocation list of ${id} is valid until ${next}`);
}

export const authorities: Subject = { checks: [authoritiesCheck] };
