import type { X509Certificate } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { Resources } from '../../../../client/generated/resources.ts';
import type { TlsCertificate } from '../../../../client/generated/tls-certificates.ts';
import { hostsOf, remainingTime } from '../../../../control/checks/certificates.ts';
import { type Finding, type Findings, findingMaker, findingsOf } from '../../../../control/checks/check.ts';
import { dnsDiagnosis, resolveName } from '../../../../proxy/acme/orders/dns-diagnosis.ts';
import { dialled, mapConcurrently, performHandshake } from '../dial.ts';
import type { LiveInstallation } from '../installation.ts';

const MAX_HOSTS = 200;
const TIMEOUT_MS = 3000;

/** Hosts of edges that do not resolve from here. */
export async function checkHosts({ edges }: LiveInstallation): Promise<readonly Finding[]> {
  const found = findingsOf('hosts');
  // Clients resolve these themselves, and the hosts below a wildcard are unknown.
  const hosts = hostsOf(edges).filter((host) => !host.startsWith('*.') && !/(^|\.)localhost$/.test(host));
  await mapConcurrently(hosts.slice(0, MAX_HOSTS), async (host) => {
    if (await isKnown(host)) found.ok(`${host} resolves`);
    else {
      found.hint(
        `${host} does not resolve here`,
        'create a DNS record that points to the edge, if clients should reach it',
      );
    }
  });
  return found.list;
}

function isKnown(host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), TIMEOUT_MS);
    lookup(host)
      .then(
        () => resolve(true),
        () => resolve(false),
      )
      .finally(() => clearTimeout(timer));
  });
}

/** Enough to find general problems, and done in seconds. */
const MAX_HANDSHAKES = 500;

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
  await mapConcurrently(hosts.slice(0, MAX_HANDSHAKES), async (host) => {
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
  if (hosts.length > MAX_HANDSHAKES) found.hint(`${hosts.length - MAX_HANDSHAKES} more hosts were not checked`);
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

const found = findingMaker('managed_certificates');

/** Names that still wait for a certificate are looked up: the answer may tell why. */
export async function pendingNames({ transport, isLocal }: LiveInstallation): Promise<readonly Finding[]> {
  if (!isLocal) return [];
  const managed = await Array.fromAsync(new Resources(transport).managedCertificates.list());
  const findings = await mapConcurrently(managed, async ({ hostname, status, provisioning_job: job }) => {
    if (status === 'issued' || (job?.error_code ?? null) !== null) return [];
    const diagnosis = await dnsDiagnosis(hostname, resolveName);
    return diagnosis === null ? [] : [found.hint(`${hostname}: ${diagnosis}`)];
  });
  return findings.flat();
}
