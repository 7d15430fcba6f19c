import type { StoredRecord } from '../../store/store.ts';

interface Uploaded {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** Which names have an uploaded certificate. The edge prefers those, so that nothing needs to be ordered. */
export class CertificateNames {
  readonly #byId = new Map<string, Uploaded>();
  readonly #byName = new Map<string, Uploaded[]>();

  add({ id, doc }: StoredRecord): void {
    const { subject_alternative_names: alternatives, extended_key_usages: usages } = doc;
    const { dns_names: names = [] } = (alternatives ?? {}) as { readonly dns_names?: readonly string[] };
    const uploaded = {
      notBeforeMs: Date.parse(doc['not_before'] as string),
      notAfterMs: Date.parse(doc['not_after'] as string),
    };
    this.#byId.set(id, uploaded);
    const kinds = (usages ?? []) as readonly string[];
    if (kinds.length > 0 && !kinds.includes('server_auth') && !kinds.includes('any')) return;
    for (const name of new Set(names.map((given) => given.toLowerCase()))) {
      const others = this.#byName.get(name);
      if (others === undefined) this.#byName.set(name, [uploaded]);
      else others.push(uploaded);
    }
  }

  /** When the certificate that serves the name now expires; null if there is none. */
  servesUntilMs(host: string, certificateId: string, nowMs: number): number | null {
    const chosen = this.#byId.get(certificateId);
    const wildcard = host.startsWith('*.') ? [] : (this.#byName.get(`*${host.slice(host.indexOf('.'))}`) ?? []);
    const fitting = [...(chosen === undefined ? [] : [chosen]), ...(this.#byName.get(host) ?? []), ...wildcard];
    const ends = fitting
      .filter(({ notBeforeMs, notAfterMs }) => notBeforeMs <= nowMs && nowMs < notAfterMs)
      .map(({ notAfterMs }) => notAfterMs);
    return ends.length === 0 ? null : Math.max(...ends);
  }
}
