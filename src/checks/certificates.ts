import type { Check } from './check.ts';
import type { CheckedCertificate, Facts } from './facts.ts';
import { type Finding, findingMaker } from './finding.ts';
import { hostsByName, namesOf, wildcardFor } from './hosts.ts';
import { remainingTime, SOON_MS } from './remaining-time.ts';

const found = findingMaker('certificates');

interface KnownNames {
  readonly hosts: ReadonlyMap<string, ReadonlySet<string>>;
  /** Names in certificates that are valid now. */
  readonly valid: ReadonlySet<string>;
  /** Names in certificates that do not expire soon. */
  readonly lasting: ReadonlySet<string>;
}

/** Uploaded certificates. The doctor's handshake check covers what hosts actually present. */
export const certificates = {
  name: 'certificates',
  nouns: ['edges', 'tls_certificates'],
  *run({
    edges,
    tls_certificates: all,
    nowMs,
  }: Pick<Facts, 'edges' | 'tls_certificates' | 'nowMs'>): Generator<Finding | null> {
    const known = {
      hosts: yield* hostsByName(edges),
      valid: yield* validNames(all, nowMs),
      lasting: yield* validNames(all, nowMs + SOON_MS),
    };
    for (const certificate of all) yield judge(certificate, known, nowMs);
  },
} satisfies Check;

function judge(certificate: CheckedCertificate, known: KnownNames, nowMs: number): Finding {
  const { id } = certificate;
  const { state, words } = remainingTime(Date.parse(certificate.not_after), nowMs);
  const names = namesOf(certificate);
  const shown = `${id} (${names.slice(0, 3).join(', ') || certificate.subject_common_name})`;
  const successor = 'upload its successor: postern api tls-certificates create';
  if (!names.some((name) => known.hosts.has(name)))
    return found.hint(`${shown} ${words}, and covers no host of any edge`, 'delete it if it is not needed', { id });
  if (state === 'fine') return found.ok(`${shown} ${words}`);
  const others = state === 'soon' ? known.lasting : known.valid;
  if (names.every((name) => isReplaced(name, known.hosts, others)))
    return found.hint(
      `${shown} ${words}, and other certificates have replaced it`,
      `delete it: postern api tls-certificates delete ${id}`,
      { id },
    );
  return found[state === 'soon' ? 'warning' : 'problem'](`${shown} ${words}`, successor, { id });
}

/** Whether other certificates cover every host that the name covers. */
function isReplaced(name: string, hosts: KnownNames['hosts'], others: ReadonlySet<string>): boolean {
  if (others.has(name)) return true;
  return (hosts.get(name) ?? new Set<string>())
    .values()
    .every((host) => others.has(host) || others.has(wildcardFor(host)));
}

/** Names in certificates that are valid at this time. */
export function* validNames(all: readonly CheckedCertificate[], atMs: number): Generator<null, ReadonlySet<string>> {
  const valid = new Set<string>();
  for (const certificate of all) {
    if (Date.parse(certificate.not_after) > atMs) for (const name of namesOf(certificate)) valid.add(name);
    yield null;
  }
  return valid;
}
