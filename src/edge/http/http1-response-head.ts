import type { HeaderList } from '../../lib/http/header-values.ts';
import { STATUS_CODES } from '../../lib/http/node-http.ts';
import { headerName } from '../../lib/http1/header-names.ts';

/** A control character, or one that a byte cannot hold. */
const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/;

/** The code is the runtime's: code that handles its errors handles this one too. */
class UnsendableFieldError extends Error {
  readonly code = 'ERR_INVALID_CHAR';

  /** Without the value, which may be a secret. */
  constructor(name: string) {
    super(`the response header ${JSON.stringify(name)} cannot be sent`);
  }
}

/** Status line and fields, without the empty line. Throws when a field could end its line early or change the framing. */
export function responseLines(status: number, headers: HeaderList): string {
  let text = statusLine(status);
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string;
    const value = headers[at + 1] as string;
    const found = headerName(name);
    if (found === null || FRAMING.has(found.kind) || UNSENDABLE.test(value)) throw new UnsendableFieldError(name);
    text += `${name}: ${value}\r\n`;
  }
  return text;
}

const FRAMING: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding', 'connection']);
const OK = 'HTTP/1.1 200 OK\r\n';

function statusLine(status: number): string {
  return status === 200 ? OK : `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`;
}

let dateSecond = 0;
let dateText = '';

/** RFC 9110 §6.6.1. Formatted once per second. */
export function dateLine(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateText = `Date: ${new Date(second * 1000).toUTCString()}\r\n`;
  }
  return dateText;
}
