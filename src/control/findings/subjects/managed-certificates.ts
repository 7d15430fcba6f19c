import { type Finding, findingTable } from '../../../kit/findings.ts';
import type { ListenAddress } from '../../../kit/net/listen-address.ts';
import { isPublicName } from '../../../proxy/acme/names.ts';
import type { AlertKind } from '../alert-kind.ts';
import type { CheckedManagedCertificate } from '../facts.ts';
import type { Check, Subject } from '../subject.ts';
import { hostsOfEdge, remainingTime, validNames, wildcardFor } from './certificates.ts';

const LATE_MS = 24 * 60 * 60 * 1000;
const NAME = 'managed_certificates';

/** A failed attempt. */
interface Failed {
  readonly hostname: string;
  readonly failure: string;
  /** `; the next attempt is at …`, or nothing. */
  readonly next: string;
}

interface Dated {
  readonly hostname: string;
  /** When its certificate expires. */
  readonly words: string;
}

const ofCertificates = findingTable(NAME, {
  renewal_failing: {
    level: 'warning',
    text: ({ hostname, words, failure }: Failed & Dated) => `${hostname} ${words}, and its renewal failed: ${failure}`,
    advice: ({ next }: Failed) => `remove the cause${next}`,
  },
  renewal_late: {
    level: 'warning',
    text: ({ hostname, words, renewsAt }: Dated & { readonly renewsAt: string }) =>
      `${hostname} ${words}, and was to be renewed at ${renewsAt}`,
    advice: 'check that a process with the edge role and acme on is running',
  },
  certificate_failing: {
    level: 'problem',
    text: ({ hostname, failure }: Failed) => `${hostname} has no certificate that clients trust: ${failure}`,
    advice: ({ next }: Failed) => `remove the cause${next}`,
  },
  renewal_unanswered: {
    level: 'problem',
    text: ({ hostname, words }: Dated) =>
      `${hostname} has no certificate that clients trust: the last one ${words}, and its renewal has not ended yet`,
    advice: 'check that the ACME server can be reached and answers; the log of the server has more',
  },
  certificate_awaited: {
    level: 'hint',
    text: ({ hostname }: CheckedManagedCertificate) => `${hostname} waits for its first certificate`,
    advice: 'check again in a minute',
  },
});

/** Certificates from ACME servers. */
export const managedCertificatesCheck: Check = {
  name: NAME,
  nouns: ['managed_certificates'],
  kinds: ofCertificates.kinds,
  *run({ managed_certificates: managed, nowMs }) {
    for (const certificate of managed) yield judge(certificate, nowMs);
  },
};

function judge(certificate: CheckedManagedCertificate, nowMs: number): Finding {
  const { found, ok } = ofCertificates;
  const { id, hostname, status, not_after: end, renews_at: renewsAt, provisioning_job: job } = certificate;
  const failure = job === null || job.error_code === null ? null : `${job.msg} (${job.error_code})`;
  const next = (job?.retries_at ?? null) === null ? '' : `; the next attempt is at ${job?.retries_at}`;
  const words = end === null ? null : remainingTime(Date.parse(end), nowMs).words;
  if (status === 'issued' && words !== null) {
    if (failure !== null) return found('renewal_failing', { hostname, words, failure, next }, { id });
    if (renewsAt === null || Date.parse(renewsAt) + LATE_MS >= nowMs) return ok(`${hostname} ${words}`);
    return found('renewal_late', { hostname, words, renewsAt }, { id });
  }
  if (failure !== null) return found('certificate_failing', { hostname, failure, next }, { id });
  if (words !== null) return found('renewal_unanswered', { hostname, words }, { id });
  return found('certificate_awaited', certificate, { id });
}

const MAX_SHOWN = 5;

const ofHosts = findingTable(NAME, {
  hosts_untrusted: {
    level: 'warning',
    text: ({ hosts }: { readonly hosts: readonly string[] }) => {
      const more = hosts.length > MAX_SHOWN ? ` and ${hosts.length - MAX_SHOWN} more` : '';
      return `browsers do not trust the certificates of ${hosts.slice(0, MAX_SHOWN).join(', ')}${more}: the internal CA issues them`;
    },
    advice: 'set acme (POSTERN_ACME) to "on" to order public ones, or upload one: postern api tls-certificates create',
  },
});

/** Public names of edges that only the internal CA serves. */
const untrustedHostsCheck: Check = {
  name: NAME,
  nouns: ['edges', 'tls_certificates', 'managed_certificates'],
  kinds: ofHosts.kinds,
  *run({ config, edges, tls_certificates: uploaded, managed_certificates: managed, nowMs }) {
    if (config.acme === 'on') return;
    const valid = yield* validNames(uploaded, nowMs);
    const names = new Set(managed.map(({ hostname }) => hostname));
    const hosts = new Set<string>();
    for (const edge of edges) {
      for (const host of hostsOfEdge(edge)) {
        const isServed = names.has(host) || valid.has(host) || valid.has(wildcardFor(host));
        if (!isServed && isPublicName(host)) hosts.add(host);
      }
      yield null;
    }
    if (hosts.size > 0) yield ofHosts.found('hosts_untrusted', { hosts: [...hosts] });
  },
};

/** The ports that ACME servers connect to: RFC 8737 §3, RFC 8555 §8.3. */
const VALIDATION_PORTS = [
  { challenge: 'tls-alpn-01', setting: 'edge_listen', port: 443 },
  { challenge: 'http-01', setting: 'edge_http_listen', port: 80 },
] as const;

type ValidationPort = (typeof VALIDATION_PORTS)[number];

const ofPorts = findingTable(NAME, {
  validation_port_unused: {
    level: 'hint',
    text: ({ setting, port, challenge }: ValidationPort) =>
      `${setting} does not use port ${port}, to which ACME servers connect for ${challenge}`,
    advice: ({ setting, port }: ValidationPort) =>
      `forward port ${port} of the public address to it, or change ${setting}`,
  },
});

/** Listeners that ACME servers may not reach. */
const validationPortsCheck: Check = {
  name: NAME,
  nouns: ['settings'],
  kinds: ofPorts.kinds,
  *run({ config }) {
    if (config.acme !== 'on') return;
    for (const needed of VALIDATION_PORTS) {
      const addresses: readonly ListenAddress[] = [config[needed.setting]].flat();
      const isUsed = addresses.some(({ port }) => port === needed.port);
      if (config.acme_challenges.includes(needed.challenge) && !isUsed)
        yield ofPorts.found('validation_port_unused', needed);
    }
  },
};

/** One failed round is common: a name that does not point here yet. */
const MIN_ATTEMPTS = 2;

/** A certificate that an ACME server does not issue. */
const certificateFailing: AlertKind = {
  code: 'certificate_failing',
  advice: 'check that the name points to this server and that the ACME server can reach it: postern doctor',
  sight: 'installation',
  raiseAfterMs: () => 0,
  resolveAfterMs: 60_000,
  isOn: ({ certificateDays }) => certificateDays > 0,
  createLook: () => (facts) =>
    [...facts.records('managed_certificate')].flatMap(({ id, doc }) => {
      const { job, hostname, unwanted_since: unwanted } = doc as unknown as ManagedCertificate;
      if (job === null || job.error_code === null || job.attempts < MIN_ATTEMPTS || unwanted !== null) return [];
      return [{ subject: id, state: 'bad' as const, title: `no certificate for ${hostname}: ${job.error_code}` }];
    }),
};

interface ManagedCertificate {
  readonly hostname: string;
  readonly unwanted_since: string | null;
  readonly job: { readonly error_code: string | null; readonly attempts: number } | null;
}

export const managedCertificates: Subject = {
  checks: [managedCertificatesCheck, untrustedHostsCheck, validationPortsCheck],
  alerts: [certificateFailing],
};
