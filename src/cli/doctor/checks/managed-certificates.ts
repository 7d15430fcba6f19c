import { isPublicName } from '../../../acme/names/public-name.ts';
import { dnsDiagnosis, resolveName } from '../../../acme/orders/dns-diagnosis.ts';
import type { ManagedCertificate } from '../../../client/generated/managed-certificates.ts';
import type { TlsCertificate } from '../../../client/generated/tls-certificates.ts';
import type { ListenAddress } from '../../../lib/listen-address.ts';
import { type Finding, type Findings, findingsOf } from '../finding.ts';
import type { LiveInstallation } from '../installation.ts';
import { mapConcurrently } from '../map-concurrently.ts';
import { remainingTime } from '../remaining-time.ts';
import { covers } from './certificates.ts';
import { hostsOf } from './hosts.ts';

const LATE_MS = 24 * 60 * 60 * 1000;
const MAX_SHOWN = 5;
/** The ports that ACME servers connect to: RFC 8737 §3, RFC 8555 §8.3. */
const VALIDATION_PORTS = [
  { challenge: 'tls-alpn-01', setting: 'edge_listen', port: 443 },
  { challenge: 'http-01', setting: 'edge_http_listen', port: 80 },
] as const;

/** Certificates from ACME servers, and public names that have none. */
export async function checkManagedCertificates(
  live: LiveInstallation,
  managed: readonly ManagedCertificate[],
  uploaded: readonly TlsCertificate[],
): Promise<readonly Finding[]> {
  const found = findingsOf('managed_certificates');
  await mapConcurrently(managed, (certificate) => checkOne(certificate, live, found));
  checkUntrusted(live, managed, uploaded, found);
  if (live.isLocal && live.config.acme === 'on') checkValidationPorts(live, found);
  return found.list;
}

async function checkOne(certificate: ManagedCertificate, live: LiveInstallation, found: Findings): Promise<void> {
  const { hostname, status, not_after: end, renews_at: renewsAt, provisioning_job: job } = certificate;
  const failure = job === null || job.error_code === null ? null : `${job.msg} (${job.error_code})`;
  const next = (job?.retries_at ?? null) === null ? '' : `; the next attempt is at ${job?.retries_at}`;
  const advice = `remove the cause${next}`;
  if (status === 'issued' && end !== null) {
    const { words } = remainingTime(Date.parse(end), live.nowMs);
    const isLate = renewsAt !== null && Date.parse(renewsAt) + LATE_MS < live.nowMs;
    if (failure !== null) found.warning(`${hostname} ${words}, and its renewal failed: ${failure}`, advice);
    else if (isLate)
      found.warning(
        `${hostname} ${words}, and was to be renewed at ${renewsAt}`,
        'check that a process with the edge role and acme on is running',
      );
    else found.ok(`${hostname} ${words}`);
    return;
  }
  if (failure !== null) {
    found.problem(`${hostname} has no certificate that clients trust: ${failure}`, advice);
    return;
  }
  const diagnosis = live.isLocal ? await dnsDiagnosis(hostname, resolveName) : null;
  found.hint(
    `${hostname} waits for its first certificate${diagnosis === null ? '' : `; ${diagnosis}`}`,
    'rerun this command in a minute',
  );
}

/** Public names of edges that only the internal CA serves. */
function checkUntrusted(
  { edges, config, nowMs }: LiveInstallation,
  managed: readonly ManagedCertificate[],
  uploaded: readonly TlsCertificate[],
  found: Findings,
): void {
  if (config.acme === 'on') return;
  const valid = uploaded.filter(({ not_after: end }) => Date.parse(end) > nowMs);
  const names = new Set(managed.map(({ hostname }) => hostname));
  const hosts = hostsOf(edges).filter(
    (host) => isPublicName(host) && !names.has(host) && !valid.some((certificate) => covers(certificate, host)),
  );
  if (hosts.length === 0) return;
  const more = hosts.length > MAX_SHOWN ? ` and ${hosts.length - MAX_SHOWN} more` : '';
  found.warning(
    `browsers do not trust the certificates of ${hosts.slice(0, MAX_SHOWN).join(', ')}${more}: the internal CA issues them`,
    'set acme (POSTERN_ACME) to "on" to order public ones, or upload one: postern api tls-certificates create',
  );
}

function checkValidationPorts({ config }: LiveInstallation, found: Findings): void {
  for (const { challenge, setting, port } of VALIDATION_PORTS) {
    const addresses: readonly ListenAddress[] = [config[setting]].flat();
    if (!config.acme_challenges.includes(challenge) || addresses.some((address) => address.port === port)) continue;
    found.hint(
      `${setting} does not use port ${port}, to which ACME servers connect for ${challenge}`,
      `forward port ${port} of the public address to it, or change ${setting}`,
    );
  }
}
