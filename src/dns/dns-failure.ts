/** Why a DNS record was not published or removed. The message is for people, says what to do, and contains no secret. */
export class DnsFailure extends Error {
  /** The record may appear later without another change. */
  readonly isPending: boolean;

  constructor(message: string, { isPending = false }: { readonly isPending?: boolean } = {}) {
    super(message);
    this.name = 'DnsFailure';
    this.isPending = isPending;
  }
}
