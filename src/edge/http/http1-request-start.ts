import { FieldLines } from '../../lib/http1/header-block.ts';
import type { HeaderName } from '../../lib/http1/header-names.ts';

/** Any other byte is a space, a control character or DEL: two programs could read the line differently. */
const BAD_TARGET = /[^\x21-\x7e\x80-\xff]/;
const VERSION = ' HTTP/1.';
const ZERO = 48;
const SPACE = 32;

/** Proxy-Connection, which some clients send instead of Connection to what they take for a proxy. */
function isForProxies(name: string, kind: HeaderName['kind']): boolean {
  return kind === 'hop-by-hop' && name.endsWith('-connection');
}

/**
 * Request line and fields of an HTTP/1.1 request (RFC 9112 §3, §5). Only their form: `readHead` decides what they mean,
 * including the framing. One instance per connection, refilled for each request. Only `headers` is allocated each time.
 */
export class Http1RequestStart extends FieldLines {
  method = '';
  target = '';
  isHttp11 = false;
  /** Flat, as received and in order, names in lower case. */
  headers: string[] = [];
  /** The client may send another request on this connection. */
  isKeptAlive = false;
  /** It has Upgrade, and Connection announces that. */
  asksToSwitch = false;
  /** The protocols in Upgrade, in lower case. */
  upgrade = '';
  #hasTransferEncoding = false;
  #hasClose = false;
  #hasKeepAlive = false;
  #hasUpgradeOption = false;

  /** Parses a head with its empty line. Returns the problem, or null. */
  parse(text: string, maxHeaderCount: number): string | null {
    this.#reset();
    // RFC 9112 §2.2: an empty line before the request is ignored, here one that came in pieces.
    const linesAt = this.#parseLine(text, text.startsWith('\r\n') ? 2 : 0);
    if (linesAt === -1) return 'a malformed request line';
    const problem = this.parseLines(text, linesAt, text.length - 2, maxHeaderCount);
    if (problem !== null) return problem;
    // RFC 9112 §6.1: such a sender cannot be interpreted reliably.
    if (!this.isHttp11 && this.#hasTransferEncoding) return 'Transfer-Encoding in an HTTP/1.0 request';
    this.isKeptAlive = !this.#hasClose && (this.isHttp11 || this.#hasKeepAlive);
    this.asksToSwitch &&= this.#hasUpgradeOption;
    return null;
  }

  #reset(): void {
    this.headers = [];
    this.asksToSwitch = false;
    this.upgrade = '';
    this.#hasTransferEncoding = false;
    this.#hasClose = false;
    this.#hasKeepAlive = false;
    this.#hasUpgradeOption = false;
  }

  /** Returns where the fields begin, or -1. */
  #parseLine(text: string, start: number): number {
    const methodEnd = text.indexOf(' ', start);
    const lineEnd = text.indexOf('\r\n', start);
    const targetEnd = lineEnd - VERSION.length - 1;
    if (methodEnd === -1 || targetEnd <= methodEnd || !text.startsWith(VERSION, targetEnd)) return -1;
    const minor = text.charCodeAt(lineEnd - 1) - ZERO;
    // RFC 9112 §3 allows more white space here: an upstream never sees it.
    let targetAt = methodEnd + 1;
    while (text.charCodeAt(targetAt) === SPACE) targetAt += 1;
    const target = text.substring(targetAt, targetEnd);
    if ((minor !== 0 && minor !== 1) || targetAt >= targetEnd || BAD_TARGET.test(target)) return -1;
    this.method = text.substring(start, methodEnd);
    this.target = target;
    this.isHttp11 = minor === 1;
    return lineEnd + 2;
  }

  protected override field({ name, kind }: HeaderName, value: string): null {
    this.headers.push(name, value);
    if (kind === 'connection' || isForProxies(name, kind)) this.#noteConnection(value);
    else if (kind === 'upgrade') this.#noteUpgrade(value.toLowerCase());
    else if (kind === 'transfer-encoding') this.#hasTransferEncoding = true;
    return null;
  }

  #noteUpgrade(value: string): void {
    this.upgrade = this.asksToSwitch ? `${this.upgrade}, ${value}` : value;
    this.asksToSwitch = true;
  }

  #noteConnection(value: string): void {
    for (const token of value.toLowerCase().split(',')) {
      const option = token.trim();
      if (option === 'close') this.#hasClose = true;
      else if (option === 'keep-alive') this.#hasKeepAlive = true;
      else if (option === 'upgrade') this.#hasUpgradeOption = true;
    }
  }
}
