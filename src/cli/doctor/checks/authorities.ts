import type { CertificateAuthority } from '../../../client/generated/certificate-authorities.ts';
import { type Finding, type Findings, findingsOf } from '../finding.ts';
import type { LiveInstallation } from '../installation.ts';
import { remainingTime } from '../remaining-time.ts';

/** Authorities for client certificates: an expired one locks everybody out. */
export function checkAuthorities(
  { edges, nowMs }: Pick<LiveInstallation, 'edges' | 'nowMs'>,
  authorities: readonly CertificateAuthority[],
): readonly Finding[] {
  const found = findingsOf('authorities');
  const used = new Set(
    edges
      .filter((edge) => edge.mutual_tls?.enabled === true)
      .flatMap((edge) => (edge.mutual_tls?.certificate_authorities ?? []).map(({ id }) => id)),
  );
  for (const { id, subject_common_name: name, not_after: notAfter } of authorities) {
    const { state, words } = remainingTime(Date.parse(notAfter), nowMs);
    const line = `${id} (${name}) ${words}`;
    const advice =
      'create its successor, add it to mutual_tls beside the old one, then issue new certificates to clients';
    if (state === 'fine') found.ok(line);
    else if (state === 'soon') found.warning(line, advice);
    else if (used.has(id)) found.problem(`${line}: its clients are rejected`, advice);
    else found.warning(`${line}, and no edge uses it`, `delete it: postern api certificate-authorities delete ${id}`);
  }
  for (const authority of authorities) checkList(authority, used.has(authority.id), nowMs, found);
  return found.list;
}

const DAY_MS = 86_400_000;

/** A list that is missing or stale lets revoked clients in (soft) or locks everybody out (hard). */
function checkList(authority: CertificateAuthority, isUsed: boolean, nowMs: number, found: Findings): void {
  const { id, crl_mode: mode, crl_status: status, crl_next_update: next, crl_error: error } = authority;
  if (status === 'off') return;
  const advice =
    authority.crl_url === ''
      ? `upload its current list: postern api certificate-authorities update ${id} --crl-pem @FILE`
      : `check that ${authority.crl_url} serves the current list`;
  const why = error === null ? '' : ` (${error})`;
  if (status !== 'current') {
    const line = `the revocation list of ${id} is ${status.replaceAll('_', ' ')}${why}`;
    if (mode === 'hard' && isUsed) found.problem(`${line}: its clients are rejected`, advice);
    else found.warning(`${line}: its clients are not checked for revocation`, advice);
  } else if (error !== null) found.warning(`the revocation list of ${id} could not be renewed${why}`, advice);
  else if (authority.crl_url === '' && Date.parse(next ?? '') < nowMs + DAY_MS) {
    found.warning(`the revocation list of ${id} becomes stale at ${next}`, advice);
  } else found.ok(`the revocation list of ${id} is valid until ${next}`);
}
