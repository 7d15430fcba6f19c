import { hostNameProblem } from '../../lib/net/host-name.ts';
import { ByteCursor } from './byte-cursor.ts';

/** What a client sends about itself before anything is encrypted. */
export interface ClientHello {
  /** Lower case, without a trailing dot; null when the client sent none. */
  readonly serverName: string | null;
  /** Offered protocols, in the client's order. */
  readonly alpnProtocols: readonly string[];
}

/** `not_tls`: another protocol. `malformed`: violates the format. `bad_name`: not a valid host name. */
export type HelloProblem = 'not_tls' | 'malformed' | 'bad_name';

export type HelloReading =
  | { readonly ok: true; readonly hello: ClientHello }
  | { readonly ok: false; readonly problem: HelloProblem; readonly message: string };

/** Type of the message. */
export const CLIENT_HELLO = 1;
const MESSAGE_HEADER_BYTES = 4;
const RANDOM_BYTES = 32;
const MAX_SESSION_ID_BYTES = 32;
const SERVER_NAME = 0;
const ALPN = 16;
const HOST_NAME = 0;

/** The length of the handshake message that starts here, including its header, once known. */
export function messageLength(message: Buffer): number | null {
  return message.length < MESSAGE_HEADER_BYTES ? null : MESSAGE_HEADER_BYTES + message.readUIntBE(1, 3);
}

/** Parses one complete ClientHello: RFC 8446 §4.1.2, and RFC 5246 §7.4.1.2, which may have no extensions at all. */
export function readClientHello(message: Buffer): HelloReading {
  const body = new ByteCursor(message, MESSAGE_HEADER_BYTES);
  body.skip(2 + RANDOM_BYTES);
  if (body.vector(1).remaining > MAX_SESSION_ID_BYTES) return malformed('its session id is too long');
  const suites = body.vector(2).remaining;
  const compressions = body.vector(1).remaining;
  if (body.isPastEnd) return malformed('it ends too early');
  if (suites === 0 || suites % 2 !== 0) return malformed('its list of cipher suites has an odd length or is empty');
  if (compressions === 0) return malformed('its list of compression methods is empty');
  if (body.isAtEnd) return { ok: true, hello: { serverName: null, alpnProtocols: [] } };
  const extensions = body.vector(2);
  if (!body.isAtEnd) return malformed('its extensions do not end where it ends');
  return readExtensions(extensions);
}

function readExtensions(extensions: ByteCursor): HelloReading {
  const seen = new Set<number>();
  let serverName: string | null = null;
  let alpnProtocols: readonly string[] = [];
  while (extensions.remaining > 0) {
    const type = extensions.number(2);
    const content = extensions.vector(2);
    if (extensions.isPastEnd) return malformed('an extension ends too early');
    // RFC 8446 §4.2. Two names must not get through: another parser might choose the other one.
    if (seen.has(type)) return malformed('it has an extension twice');
    seen.add(type);
    if (type === SERVER_NAME) {
      const name = readServerName(content);
      if (name === null) return malformed('its server name is malformed');
      const host = name.toLowerCase().replace(/\.$/, '');
      // Addresses are not allowed here (RFC 6066 §3), and "*" must not be looked up as a pattern.
      const problem = hostNameProblem(host, 'refused');
      if (problem !== null) return { ok: false, problem: 'bad_name', message: 'its server name is not a host name' };
      serverName = host;
    } else if (type === ALPN) {
      const protocols = readProtocols(content);
      if (protocols === null) return malformed('its list of protocols is malformed');
      alpnProtocols = protocols;
    }
  }
  return { ok: true, hello: { serverName, alpnProtocols } };
}

/** Exactly one name: RFC 6066 §3 allows one of each type, and host names are the only type. */
function readServerName(content: ByteCursor): string | null {
  const names = content.vector(2);
  const type = names.number(1);
  const name = names.vector(2);
  const isWhole = content.isAtEnd && names.isAtEnd && type === HOST_NAME && name.remaining > 0;
  return isWhole ? name.text() : null;
}

/** RFC 7301 §3.1: at least one, none empty. */
function readProtocols(content: ByteCursor): readonly string[] | null {
  const list = content.vector(2);
  const protocols: string[] = [];
  while (list.remaining > 0 && !list.isPastEnd) protocols.push(list.vector(1).text());
  const isWhole = content.isAtEnd && list.isAtEnd && protocols.length > 0 && !protocols.includes('');
  return isWhole ? protocols : null;
}

function malformed(message: string): HelloReading {
  return { ok: false, problem: 'malformed', message };
}
