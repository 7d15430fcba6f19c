import type { Socket } from 'node:net';
import { closing, listenOnce } from '../../lib/guarded-listeners.ts';

/** RFC 8446 §6. */
const ALERTS = {
  decode_error: 50,
  protocol_version: 70,
  internal_error: 80,
  unrecognized_name: 112,
} as const;

export type AlertName = keyof typeof ALERTS;

const ALERT_RECORD = 21;
const FATAL = 2;
/** Time for the client to read the alert and close; after that it is disconnected. */
const LINGER_MS = 1000;

/**
 * Ends a connection before its handshake with an alert, unencrypted like every alert before the first ServerHello.
 * Without it browsers report "connection reset" and their users look for the fault in the network.
 */
export function endWithAlert(socket: Socket, alert: AlertName): void {
  endWith(socket, Buffer.from([ALERT_RECORD, 3, 3, 0, 2, FATAL, ALERTS[alert]]));
}

/** Further input is read and discarded: closing with unread bytes resets the connection, and the response is lost. */
export function endWith(socket: Socket, bytes: Buffer | string): void {
  if (socket.destroyed) return;
  socket.end(bytes);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  listenOnce(socket, 'close', closing(socket, 'TLS alert'), () => clearTimeout(timer));
}
