import { hash } from 'node:crypto';
import type { HeaderList } from './header-list.ts';

/** RFC 6455 §1.3. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** The value of `Sec-WebSocket-Accept` that answers a key. */
export function webSocketAccept(key: string): string {
  return hash('sha1', `${key}${GUID}`, 'base64');
}

/**
 * Whether the headers of a 101 response answer the key of the request (RFC 6455 §4.1). One that does not comes from a
 * program that does not know WebSockets, or from a cache.
 */
export function isAccepted(request: HeaderList, response: HeaderList): boolean {
  const at = request.findIndex((name, place) => place % 2 === 0 && name === 'sec-websocket-key');
  const values = response.filter((_, place) => place % 2 === 1 && response[place - 1] === 'sec-websocket-accept');
  return at !== -1 && values.length === 1 && values[0]?.trim() === webSocketAccept(request[at + 1] ?? '');
}
