import type { Socket } from 'node:net';
import { closing, listenOnce } from '../../lib/guarded-listeners.ts';

/** RFC 8446 §6. */
export const ALERTS = {
  decode_error: 50,
  protocol_version: 70,
  internal_error: 80,
  unrecognized_name: 112,
} as const;

export type AlertName = keyof typeof ALERTS;

const ALERT_RECORD = 21;
const FATAL = 2;
/** For the client to read the alert and close; whoever does not is cut off. */
const LINGER_MS = 1000;

/**
 * Ends a connection whose handshake has not begun with an alert, in the clear as every alert before the first ServerHello.
 * Without it browsers say "connection reset" and their users search the network for the fault.
 */
export function endWithAlert(socket: Socket, alert: AlertName): void {
  endWith(socket, Buffer.from([ALERT_RECORD, 3, 3, 0, 2, FATAL, ALERTS[alert]]));
}

/** What the client still sends is read and thrown away: closing with unread bytes resets the connection, and the answer is lost. */
export function endWith(socket: Socket, bytes: Buffer | string): void {
  if (socket.destroyed) return;
  socket.end(bytes);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  listenOnce(socket, 'close', closing(socket, 'TLS alert'), () => clearTimeout(timer));
}
