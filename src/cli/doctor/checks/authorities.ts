import type { CertificateAuthority } from '../../../client/generated/certificate-authorities.ts';
import { type Finding, findingsOf } from '../finding.ts';
import type { LiveInstallation } from '../installation.ts';
import { remainingTime } from '../remaining-time.ts';

/** Authorities for client certificates: an expired one locks everybody out. */
export function checkAuthorities(
  { edges, nowMs }: LiveInstallation,
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
  return found.list;
}
