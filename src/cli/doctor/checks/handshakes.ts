import type { X509Certificate } from 'node:crypto';
import { hostsOf, remainingTime } from '../../../checks/certificates.ts';
import { type Finding, type Findings, findingsOf } from '../../../checks/check.ts';
import type { TlsCertificate } from '../../../client/generated/tls-certificates.ts';
import { dialled, performHandshake } from '../dial.ts';
import type { LiveInstallation } from '../installation.ts';
import { mapConcurrently } from '../map-concurrently.ts';

/** Enough to find general problems, and done in seconds. */
const MAX_HOSTS = 500;

/** The certificate that each host presents to clients. */
export async function checkHandshakes(
  { edges, config, isLocal, nowMs }: LiveInstallation,
  uploaded: readonly TlsCertificate[],
): Promise<readonly Finding[]> {
  const found = findingsOf('handshakes');
  const address = config.edge_listen.find(({ port }) => port !== 0);
  if (!isLocal || !config.roles.includes('edge') || address === undefined) return found.list;
  const hosts = hostsOf(edges);
  const own = uploaded.map(({ certificate_pem: pem }) => pem.replaceAll(/\s/g, ''));
  await mapConcurrently(hosts.slice(0, MAX_HOSTS), async (host) => {
    // Any name below a wildcard works.
    const name = host.replace(/^\*\./, 'postern-doctor.');
    const { certificate, problem } = await performHandshake(dialled(address), name, config.proxy_protocol_from);
    if (certificate === null)
      found.problem(`${host}: the handshake failed: ${problem}`, "see the server's log, with log_level debug");
    else {
      const isUploaded = own.some((pem) => pem.includes(certificate.toString().replaceAll(/\s/g, '')));
      judge({ host, name, certificate, isUploaded, domain: config.domain, nowMs }, found);
    }
  });
  if (hosts.length > MAX_HOSTS) found.hint(`${hosts.length - MAX_HOSTS} more hosts were not checked`);
  return found.list;
}

interface Shown {
  readonly host: string;
  readonly name: string;
  readonly certificate: X509Certificate;
  readonly isUploaded: boolean;
  readonly domain: string;
  readonly nowMs: number;
}

function judge({ host, name, certificate, isUploaded, domain, nowMs }: Shown, found: Findings): void {
  const { state, words } = remainingTime(certificate.validToDate.getTime(), nowMs);
  const issuer = /CN=([^\n]*)/.exec(certificate.issuer)?.[1] ?? 'an unnamed issuer';
  const line = `${host} has a certificate from ${issuer} that ${words}`;
  const successor = 'upload its successor: postern api tls-certificates create';
  if (certificate.checkHost(name) === undefined)
    found.problem(`${host} gets a certificate for other hosts, from ${issuer}`, 'upload one that covers it');
  else if (state === 'ended') found.problem(line, successor);
  // The server renews its own certificates.
  else if (state === 'soon' && isUploaded) found.warning(line, successor);
  else if (issuer.startsWith('Postern internal CA') && !isBelow(host, domain) && !isBelow(host, 'localhost')) {
    found.hint(
      `${host} has a certificate from the server's internal CA, which browsers do not trust`,
      'upload one: postern api tls-certificates create',
    );
  } else found.ok(line);
}

function isBelow(host: string, domain: string): boolean {
  return host === domain || host.endsWith(`.${domain}`);
}
