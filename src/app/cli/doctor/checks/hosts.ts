import type { X509Certificate } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { Resources } from '../../../../client/generated/resources.ts';
import type { TlsCertificate } from '../../../../client/generated/tls-certificates.ts';
import { hostsOf, remainingTime } from '../../../../control/findings/subjects/certificates.ts';
import { type Finding, findingTable } from '../../../../kit/findings.ts';
import { dnsDiagnosis, resolveName } from '../../../../proxy/acme/orders/dns-diagnosis.ts';
import { dialled, mapConcurrently, performHandshake } from '../dial.ts';
import type { LiveInstallation } from '../installation.ts';

const MAX_HOSTS = 200;
const TIMEOUT_MS = 3000;

const ofNames = findingTable('hosts', {
  host_unresolved: {
    level: 'hint',
    text: ({ host }: { readonly host: string }) => `${host} does not resolve here`,
    advice: 'create a DNS record that points to the edge, if clients should reach it',
  },
});

/** Hosts of edges that do not resolve from here. */
export async function checkHosts({ edges }: LiveInstallation): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  // Clients resolve these themselves, and the hosts below a wildcard are unknown.
  const hosts = hostsOf(edges).filter((host) => !host.startsWith('*.') && !/(^|\.)localhost$/.test(host));
  await mapConcurrently(hosts.slice(0, MAX_HOSTS), async (host) => {
    const isFine = await isKnown(host);
    findings.push(isFine ? ofNames.ok(`${host} resolves`) : ofNames.found('host_unresolved', { host }));
  });
  return findings;
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

const UPLOAD_SUCCESSOR = 'upload its successor: postern api tls-certificates create';

/** A host with its certificate as one text. */
interface Presented {
  readonly line: string;
}

const ofHandshakes = findingTable('handshakes', {
  handshake_failed: {
    level: 'problem',
    text: ({ host, problem }: { readonly host: string; readonly problem: string }) =>
      `${host}: the handshake failed: ${problem}`,
    advice: "see the server's log, with log_level debug",
  },
  certificate_of_other_hosts: {
    level: 'problem',
    text: ({ host, issuer }: { readonly host: string; readonly issuer: string }) =>
      `${host} gets a certificate for other hosts, from ${issuer}`,
    advice: 'upload one that covers it',
  },
  presented_certificate_expired: {
    level: 'problem',
    text: ({ line }: Presented) => line,
    advice: UPLOAD_SUCCESSOR,
  },
  presented_certificate_expiring: {
    level: 'warning',
    text: ({ line }: Presented) => line,
    advice: UPLOAD_SUCCESSOR,
  },
  presented_certificate_internal: {
    level: 'hint',
    text: ({ host }: { readonly host: string }) =>
      `${host} has a certificate from the server's internal CA, which browsers do not trust`,
    advice: 'upload one: postern api tls-certificates create',
  },
  hosts_unchecked: {
    level: 'hint',
    text: ({ count }: { readonly count: number }) => `${count} more hosts were not checked`,
  },
});

/** The certificate that each host presents to clients. */
export async function checkHandshakes(
  { edges, config, isLocal, nowMs }: LiveInstallation,
  uploaded: readonly TlsCertificate[],
): Promise<readonly Finding[]> {
  const address = config.edge_listen.find(({ port }) => port !== 0);
  if (!isLocal || !config.roles.includes('edge') || address === undefined) return [];
  const hosts = hostsOf(edges);
  const own = uploaded.map(({ certificate_pem: pem }) => pem.replaceAll(/\s/g, ''));
  const findings: Finding[] = [];
  await mapConcurrently(hosts.slice(0, MAX_HANDSHAKES), async (host) => {
    // Any name below a wildcard works.
    const name = host.replace(/^\*\./, 'postern-doctor.');
    const { certificate, problem } = await performHandshake(dialled(address), name, config.proxy_protocol_from);
    if (certificate === null) findings.push(ofHandshakes.found('handshake_failed', { host, problem: String(problem) }));
    else {
      const isUploaded = own.some((pem) => pem.includes(certificate.toString().replaceAll(/\s/g, '')));
      findings.push(judge({ host, name, certificate, isUploaded, domain: config.domain, nowMs }));
    }
  });
  const unchecked = hosts.length - MAX_HANDSHAKES;
  return unchecked > 0 ? [...findings, ofHandshakes.found('hosts_unchecked', { count: unchecked })] : findings;
}

interface Shown {
  readonly host: string;
  readonly name: string;
  readonly certificate: X509Certificate;
  readonly isUploaded: boolean;
  readonly domain: string;
  readonly nowMs: number;
}

function judge({ host, name, certificate, isUploaded, domain, nowMs }: Shown): Finding {
  const { found, ok } = ofHandshakes;
  const { state, words } = remainingTime(certificate.validToDate.getTime(), nowMs);
  const issuer = /CN=([^\n]*)/.exec(certificate.issuer)?.[1] ?? 'an unnamed issuer';
  const line = `${host} has a certificate from ${issuer} that ${words}`;
  if (certificate.checkHost(name) === undefined) return found('certificate_of_other_hosts', { host, issuer });
  if (state === 'ended') return found('presented_certificate_expired', { line });
  // The server renews its own certificates.
  if (state === 'soon' && isUploaded) return found('presented_certificate_expiring', { line });
  if (issuer.startsWith('Postern internal CA') && !isBelow(host, domain) && !isBelow(host, 'localhost'))
    return found('presented_certificate_internal', { host });
  return ok(line);
}

function isBelow(host: string, domain: string): boolean {
  return host === domain || host.endsWith(`.${domain}`);
}

const ofPendingNames = findingTable('managed_certificates', {
  pending_name_diagnosed: {
    level: 'hint',
    text: ({ hostname, diagnosis }: { readonly hostname: string; readonly diagnosis: string }) =>
      `${hostname}: ${diagnosis}`,
  },
});

/** Names that still wait for a certificate are looked up: the answer may tell why. */
export async function pendingNames({ transport, isLocal }: LiveInstallation): Promise<readonly Finding[]> {
  if (!isLocal) return [];
  const managed = await Array.fromAsync(new Resources(transport).managedCertificates.list());
  const findings = await mapConcurrently(managed, async ({ hostname, status, provisioning_job: job }) => {
    if (status === 'issued' || (job?.error_code ?? null) !== null) return [];
    const diagnosis = await dnsDiagnosis(hostname, resolveName);
    return diagnosis === null ? [] : [ofPendingNames.found('pending_name_diagnosed', { hostname, diagnosis })];
  });
  return findings.flat();
}
