import { dnsDiagnosis, resolveName } from '../../acme/orders/dns-diagnosis.ts';
import type { CheckedAccount, CheckedManagedCertificate, Facts, Noun, PeerStatus } from '../../checks/facts.ts';
import { Resources } from '../../client/generated/resources.ts';
import type { Transport } from '../../client/transport.ts';
import { checkedAsShown } from './checked-as-shown.ts';
import type { LiveInstallation } from './installation.ts';
import { mapConcurrently } from './map-concurrently.ts';
import { readUnprepared } from './read-unprepared.ts';

type Part = Partial<Facts>;

/** Reads what checks look at from the API, each list once. A list that the key may not read rejects. */
export class FactsReader {
  readonly #live: LiveInstallation;
  readonly #read = new Map<Noun, Promise<Part>>();

  constructor(live: LiveInstallation) {
    this.#live = live;
  }

  async for(nouns: readonly Noun[]): Promise<Facts> {
    const parts = await Promise.all(nouns.map((noun) => this.#part(noun)));
    const { config, nowMs } = this.#live;
    return Object.assign({ ...NOTHING, config, nowMs }, ...parts) as Facts;
  }

  #part(noun: Noun): Promise<Part> {
    const known = this.#read.get(noun);
    if (known !== undefined) return known;
    const reading = this.#load(noun);
    this.#read.set(noun, reading);
    return reading;
  }

  async #load(noun: Noun): Promise<Part> {
    const { transport, edges, isLocal } = this.#live;
    const resources = new Resources(transport);
    switch (noun) {
      case 'settings':
        return {};
      case 'nodes':
        return { nodes: await Array.fromAsync(resources.nodes.list()), peers: await readPeers(transport) };
      case 'edges':
        return { edges: edges.map(checkedAsShown), unprepared: await readUnprepared(edges, transport) };
      case 'tls_certificates':
        return { tls_certificates: await Array.fromAsync(resources.tlsCertificates.list()) };
      case 'managed_certificates':
        return { managed_certificates: await readManaged(resources, isLocal) };
      case 'certificate_authorities':
        return { certificate_authorities: await Array.fromAsync(resources.certificateAuthorities.list()) };
      case 'event_destinations':
        return { event_destinations: await Array.fromAsync(resources.eventDestinations.list()) };
      case 'user_accounts':
        return { user_accounts: await readPeople(resources) };
    }
  }
}

const NOTHING = {
  ...{ nodes: [], peers: [], edges: [], unprepared: () => [], tls_certificates: [], managed_certificates: [] },
  ...{ certificate_authorities: [], event_destinations: [], user_accounts: [] },
} satisfies Omit<Facts, 'config' | 'nowMs'>;

/** The peers of the server that answers. A server that is not ready has a finding of the check `api`. */
export async function readPeers(transport: Transport): Promise<readonly PeerStatus[]> {
  const answer = await transport.send({ method: 'GET', path: '/healthz?verbose' }, { maxRetries: 0 }).catch(() => null);
  if (answer === null) return [];
  // Only a key that may read nodes gets the field.
  return (JSON.parse(answer.text) as { readonly peers?: readonly PeerStatus[] }).peers ?? [];
}

/** With one question for each person who has passkeys. */
async function readPeople(resources: Resources): Promise<readonly CheckedAccount[]> {
  const people = await Array.fromAsync(resources.userAccounts.list());
  return mapConcurrently(people, async ({ id, email, passkey_count: count }) => {
    const passkeys = count === 0 ? [] : await Array.fromAsync(resources.passkeys.list(id));
    return { id, email, passkeyHosts: passkeys.map(({ host }) => host) };
  });
}

/** Names that still wait are looked up: the answer may tell why. */
async function readManaged(resources: Resources, isLocal: boolean): Promise<readonly CheckedManagedCertificate[]> {
  const managed = await Array.fromAsync(resources.managedCertificates.list());
  if (!isLocal) return managed;
  return mapConcurrently(managed, async (certificate) => {
    const failure = certificate.provisioning_job?.error_code ?? null;
    if (certificate.status === 'issued' || failure !== null) return certificate;
    const diagnosis = await dnsDiagnosis(certificate.hostname, resolveName);
    return diagnosis === null ? certificate : { ...certificate, diagnosis };
  });
}
