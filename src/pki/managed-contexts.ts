import { createSecureContext, type SecureContext } from 'node:tls';
import type { Clock } from '../lib/clock.ts';
import { ManagedCertificates, type ManagedRecords } from './managed-certificates.ts';

export interface ManagedContextsOptions {
  readonly records: ManagedRecords;
  readonly clock: Clock;
  /** A listener's own names: it presents no other certificate, even if a client asks for one. */
  readonly names: readonly string[];
  readonly onProblem: (error: unknown) => void;
}

/** Selects certificates from ACME servers for a listener of our own. */
export class ManagedContexts {
  readonly #clock: Clock;
  readonly #onProblem: (error: unknown) => void;
  readonly #names: ReadonlySet<string>;
  readonly #managed: ManagedCertificates;
  /** By name: at most one per own name. */
  readonly #contexts = new Map<string, { readonly identity: string; readonly context: SecureContext }>();

  constructor({ records, clock, names, onProblem }: ManagedContextsOptions) {
    this.#clock = clock;
    this.#onProblem = onProblem;
    this.#names = new Set(names.map((name) => name.toLowerCase()));
    this.#managed = new ManagedCertificates({ records, onProblem: (_host, error) => onProblem(error) });
  }

  contextFor(serverName: string): SecureContext | undefined {
    const name = serverName.toLowerCase();
    if (!this.#names.has(name)) return undefined;
    const pair = this.#managed.find(name, this.#clock.nowMs());
    if (pair === null) return undefined;
    const known = this.#contexts.get(name);
    if (known?.identity === pair.identity) return known.context;
    try {
      const context = createSecureContext({
        cert: pair.certificatePem,
        key: pair.privateKeyPem,
        minVersion: 'TLSv1.2',
      });
      this.#contexts.set(name, { identity: pair.identity, context });
      return context;
    } catch (error) {
      // The runtime calls this inside a handshake: an exception would end the process.
      this.#onProblem(error);
      return undefined;
    }
  }

  close(): void {
    this.#managed.close();
  }
}
