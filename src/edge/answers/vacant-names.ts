/**
 * Names directly below the server's own domain that nothing serves: mistyped, or of a tunnel that has ended. One
 * wildcard certificate covers them all, so that a scanner's names cost no certificate.
 */
export class VacantNames {
  readonly #suffix: string;
  /** Null for a domain of one label, such as localhost: clients reject a wildcard directly below it. */
  readonly #wildcard: string | null;

  constructor(domain: string) {
    this.#suffix = `.${domain}`;
    this.#wildcard = domain.includes('.') ? `*.${domain}` : null;
  }

  has(host: string): boolean {
    const labelLength = host.length - this.#suffix.length;
    return labelLength > 0 && host.endsWith(this.#suffix) && host.indexOf('.') === labelLength;
  }

  /** The name of the certificate for this host; null: it gets an alert, like any other unknown name. */
  certificateNameOf(host: string): string | null {
    return this.has(host) ? this.#wildcard : null;
  }
}
