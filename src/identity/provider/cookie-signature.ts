import { timingSafeEqual } from 'node:crypto';

/** Signs the session's cookie: an invented one costs no read. In the form that the library's cookies expect of keys. */
export class CookieSignature {
  readonly #mac: (purpose: string, data: string) => string;

  constructor(mac: (purpose: string, data: string) => string) {
    this.#mac = mac;
  }

  sign(data: string): string {
    return Buffer.from(this.#mac('identity-cookie', data), 'hex').toString('base64url');
  }

  /** Position of the key that signed it; -1: none. */
  index(data: string, signature: string): number {
    const [expected, given] = [Buffer.from(this.sign(data)), Buffer.from(signature)];
    return expected.length === given.length && timingSafeEqual(expected, given) ? 0 : -1;
  }

  verify(data: string, signature: string): boolean {
    return this.index(data, signature) === 0;
  }
}
