import { hash } from 'node:crypto';
import { firstValue, type HeaderList, valuesOf } from './header-list.ts';

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
  const key = firstValue(request, 'sec-websocket-key');
  const values = valuesOf(response, 'sec-websocket-accept');
  return key !== undefined && values.length === 1 && values[0]?.trim() === webSocketAccept(key);
}
