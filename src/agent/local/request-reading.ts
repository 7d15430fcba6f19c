import { HOP_BY_HOP } from '../../lib/http/hop-by-hop.ts';
import { CLIENT_ADDRESS_HEADER, TUNNEL_HEADER } from '../../tunnel/protocol.ts';

/** The request that a gateway stream carries. */
export interface RequestReading {
  readonly method: string;
  readonly path: string;
  readonly authority: string;
  /** `:protocol` of an extended CONNECT (RFC 8441). */
  readonly protocol: string | null;
  readonly tunnelId: string | null;
  readonly clientAddress: string;
  /** Headers forwarded to the local service: without framing, and without those between gateway and agent. */
  readonly headers: readonly string[];
  /** Null when no length was announced. */
  readonly contentLength: number | null;
  readonly expectsContinue: boolean;
}

/** Specific to this connection, or computed again. The gateway sends TE only as "trailers", which gRPC services need. */
const NOT_FORWARDED: ReadonlySet<string> = new Set(['host', ...HOP_BY_HOP.filter((name) => name !== 'te')]);
const CONTENT_LENGTH = /^(?:0|[1-9][0-9]{0,14})$/;

/** Null when the request contradicts itself. */
export function readRequest(raw: readonly string[]): RequestReading | null {
  const headers: string[] = [];
  let [method, path, authority, clientAddress] = ['', '', '', ''];
  let protocol: string | null = null;
  let tunnelId: string | null = null;
  let length: string | null = null;
  let expectsContinue = false;
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] as string;
    const value = raw[at + 1] as string;
    if (name === ':method') method = value;
    else if (name === ':path') path = value;
    else if (name === ':authority') authority = value;
    else if (name === ':protocol') protocol = value;
    else if (name === TUNNEL_HEADER) tunnelId = value;
    else if (name === CLIENT_ADDRESS_HEADER) clientAddress = value;
    else if (name === 'expect') expectsContinue = value.toLowerCase() === '100-continue';
    else if (name === 'content-length') {
      if (length !== null || !CONTENT_LENGTH.test(value)) return null;
      length = value;
    } else if (!name.startsWith(':') && !NOT_FORWARDED.has(name)) headers.push(name, value);
  }
  const contentLength = length === null ? null : Number(length);
  return { method, path, authority, protocol, tunnelId, clientAddress, headers, contentLength, expectsContinue };
}

/** Only the agent itself may send these headers to the gateway. */
export function withoutTunnelHeaders(headers: readonly string[]): readonly string[] {
  let kept: string[] | null = null;
  for (let at = 0; at < headers.length; at += 2) {
    const isOurs = (headers[at] as string).startsWith('postern-');
    if (isOurs && kept === null) kept = headers.slice(0, at);
    else if (!isOurs) kept?.push(headers[at] as string, headers[at + 1] as string);
  }
  return kept ?? headers;
}
