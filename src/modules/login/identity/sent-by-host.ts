import type { SentIdentity } from './upstream-identity.ts';

/** A wildcard host has any number of names: beyond this many everything is signed again. */
const MAX_HOSTS = 100;

/** Identity headers of one program, which differ by host: they are signed for it. */
export class SentByHost {
  readonly #byHost = new Map<string, SentIdentity>();
  #version = 0;

  get(authority: string, version: number, make: (known: SentIdentity | null) => SentIdentity): SentIdentity {
    if (version !== this.#version || this.#byHost.size > MAX_HOSTS) this.#byHost.clear();
    this.#version = version;
    const known = this.#byHost.get(authority) ?? null;
    const sent = make(known);
    if (sent !== known) this.#byHost.set(authority, sent);
    return sent;
  }
}
