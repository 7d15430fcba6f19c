import type { TlsCertificate } from '../../../client/generated/tls-certificates.ts';
import { type Finding, findingsOf } from '../finding.ts';
import type { LiveInstallation } from '../installation.ts';
import { remainingTime } from '../remaining-time.ts';
import { hostsOf } from './hosts.ts';

/** Uploaded certificates. The handshake check covers what hosts actually present. */
export function checkCertificates(
  { edges, nowMs }: Pick<LiveInstallation, 'edges' | 'nowMs'>,
  certificates: readonly TlsCertificate[],
): readonly Finding[] {
  const found = findingsOf('certificates');
  const hosts = hostsOf(edges);
  for (const certificate of certificates) {
    const { state, words } = remainingTime(Date.parse(certificate.not_after), nowMs);
    const covered = hosts.filter((host) => covers(certificate, host));
    const name = `${certificate.id} (${namesOf(certificate).slice(0, 3).join(', ') || certificate.subject_common_name})`;
    const successor = 'upload its successor: postern api tls-certificates create';
    if (covered.length === 0)
      found.hint(`${name} ${words}, and covers no host of any edge`, 'delete it if it is not needed');
    else if (state === 'fine') found.ok(`${name} ${words}`);
    else if (state === 'soon') found.warning(`${name} ${words}`, successor);
    else if (covered.every((host) => isCoveredByAnother(host, certificate, certificates, nowMs)))
      found.hint(
        `${name} ${words}, and other certificates have replaced it`,
        `delete it: postern api tls-certificates delete ${certificate.id}`,
      );
    else found.problem(`${name} ${words}`, successor);
  }
  return found.list;
}

function isCoveredByAnother(
  host: string,
  ended: TlsCertificate,
  all: readonly TlsCertificate[],
  nowMs: number,
): boolean {
  return all.some((other) => other.id !== ended.id && Date.parse(other.not_after) > nowMs && covers(other, host));
}

/** A wildcard covers one label, on either side. */
export function covers(certificate: TlsCertificate, host: string): boolean {
  const wildcard = host.replace(/^[^.]+/, '*');
  return namesOf(certificate).some((name) => name === host || name === wildcard);
}

function namesOf({ subject_alternative_names: names }: TlsCertificate): readonly string[] {
  return names.dns_names.map((name) => name.toLowerCase());
}
