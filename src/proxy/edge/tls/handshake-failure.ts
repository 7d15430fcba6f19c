import type { Socket } from 'node:net';
import { closing, listenOnce } from '../../../kit/guarded-listeners.ts';
import type { PeekFailure } from './client-hello.ts';

/** Stable values for metrics and log. */
export type HandshakeFailure =
  | Exclude<PeekFailure, 'timeout'>
  /** No ClientHello in time; handshake not completed in time. */
  | 'hello_timeout'
  | 'handshake_timeout'
  | 'no_name'
  | 'unknown_name'
  /** Too many connections or pending handshakes, of one address or in total. */
  | 'address_limit'
  | 'total_limit'
  | 'pending_address_limit'
  | 'pending_total_limit'
  | 'draining'
  /** The host has no usable certificate. */
  | 'server_certificate'
  | 'protocol_version'
  | 'no_shared_cipher'
  | 'no_shared_protocol'
  | 'client_certificate_missing'
  | 'client_certificate_expired'
  | 'client_certificate_not_yet_valid'
  | 'client_certificate_unknown_issuer'
  | 'client_certificate_wrong_usage'
  | 'client_certificate_invalid'
  /** By a revocation list; the list that would tell is missing, stale or unusable. */
  | 'client_certificate_revoked'
  | 'client_certificate_revocation_unknown'
  /** The client ended the handshake, mostly because it does not trust our certificate. */
  | 'refused_by_client'
  | 'tls_error';

/** By the runtime's code for problems with a client's certificate. */
const CERTIFICATE_FAILURES: Readonly<Record<string, HandshakeFailure>> = {
  CERT_HAS_EXPIRED: 'client_certificate_expired',
  CERT_NOT_YET_VALID: 'client_certificate_not_yet_valid',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'client_certificate_unknown_issuer',
  SELF_SIGNED_CERT_IN_CHAIN: 'client_certificate_unknown_issuer',
  UNABLE_TO_GET_ISSUER_CERT: 'client_certificate_unknown_issuer',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'client_certificate_unknown_issuer',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'client_certificate_unknown_issuer',
  INVALID_PURPOSE: 'client_certificate_wrong_usage',
};

const ERROR_FAILURES: Readonly<Record<string, HandshakeFailure>> = {
  ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE: 'client_certificate_missing',
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'protocol_version',
  ERR_SSL_NO_PROTOCOLS_AVAILABLE: 'protocol_version',
  ERR_SSL_WRONG_VERSION_NUMBER: 'protocol_version',
  ERR_SSL_NO_SHARED_CIPHER: 'no_shared_cipher',
  ERR_SSL_NO_SUITABLE_SIGNATURE_ALGORITHM: 'no_shared_cipher',
  ERR_SSL_NO_SUITABLE_GROUPS: 'no_shared_cipher',
  ERR_SSL_NO_APPLICATION_PROTOCOL: 'no_shared_protocol',
  ERR_TLS_HANDSHAKE_TIMEOUT: 'handshake_timeout',
  ECONNRESET: 'closed',
  EPIPE: 'closed',
};

/** `certificateProblem` is the runtime's finding about the client's certificate, if any. */
export function handshakeFailure(error: Error, certificateProblem: unknown): HandshakeFailure {
  // The runtime then reports only a reset, caused by its own closing.
  if (typeof certificateProblem === 'string') {
    return CERTIFICATE_FAILURES[certificateProblem] ?? 'client_certificate_invalid';
  }
  const code = 'code' in error ? String(error.code) : '';
  return ERROR_FAILURES[code] ?? (/_ALERT_/.test(code) ? 'refused_by_client' : 'tls_error');
}

/** RFC 8446 §6. */
const ALERTS = {
  decode_error: 50,
  protocol_version: 70,
  internal_error: 80,
  unrecognized_name: 112,
} as const;

type AlertName = keyof typeof ALERTS;

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

const METHOD = /^[A-Z]{3,10} /;
const TEXT = 'This port requires HTTPS: use https:// in the address.\n';

/** A client that sends plain HTTP to the TLS port has mistyped an address; other protocols get no response. */
export function plainHttpAnswer(firstBytes: Buffer): string {
  if (!METHOD.test(firstBytes.toString('latin1', 0, 11))) return '';
  return [
    'HTTP/1.0 400 Bad Request',
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${TEXT.length}`,
    'Connection: close',
    '',
    TEXT,
  ].join('\r\n');
}
