import { connect, type Socket } from 'node:net';
import { type ListenerOwner, listen } from '../../kit/guarded-listeners.ts';
import { loadPart } from '../../kit/load-part.ts';
import { isLoopbackHost } from '../../kit/net/listen-address.ts';
import type { SendMail, SendResult } from './mail.ts';

export interface SmtpOptions {
  /** smtp:// or smtps://. */
  readonly url: string;
  readonly from: string;
  /** For one attempt as a whole. */
  readonly timeoutMs?: number;
  /** For tests: where the host is. */
  readonly dialedHost?: string;
}

const TIMEOUT_MS = 30_000;
/** The greeting and the answers of a real server are far shorter. */
const MAX_ANSWER_BYTES = 262_144;
const LOOK_EVERY_MS = 250;

/** Sends mails with one connection each. Whatever the server does, an attempt ends in time and with an outcome. */
export function smtpSender({ url, from, timeoutMs = TIMEOUT_MS, dialedHost }: SmtpOptions): SendMail {
  const { protocol, hostname, port, username, password } = new URL(url);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const isSecure = protocol === 'smtps:';
  const address = { host, port: port === '' ? (isSecure ? 465 : 587) : Number(port) };
  const auth =
    username === '' ? {} : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } };
  // Codes and links let somebody in: they cross no network unencrypted.
  const tls = { secure: isSecure, requireTLS: !isSecure && !isLoopbackHost(host) };
  return async ({ to, subject, text }) => {
    const { createTransport } = await loadPart(() => import('nodemailer'));
    const socket = connect({ ...address, host: dialedHost ?? host });
    const watch = watched(socket, timeoutMs);
    try {
      await Promise.race([watch.connected, watch.over]);
      const transport = createTransport({
        ...{ ...address, ...auth, ...tls, connection: socket },
        ...{ connectionTimeout: timeoutMs, disableFileAccess: true, disableUrlAccess: true },
      });
      const sent = transport.sendMail({
        from,
        to: { name: '', address: to },
        subject,
        text,
        headers: { 'Auto-Submitted': 'auto-generated' },
      });
      await Promise.race([sent, watch.over]);
      return { outcome: 'sent' };
    } catch (error) {
      return failure(error);
    } finally {
      watch.end();
      socket.destroy();
    }
  };
}

/** Rejects when the server takes too long or talks too much: the socket's own timeouts end with every byte. */
function watched(
  socket: Socket,
  timeoutMs: number,
): { readonly connected: Promise<void>; readonly over: Promise<never>; end(): void } {
  const { promise, reject } = Promise.withResolvers<never>();
  const { promise: connected, resolve } = Promise.withResolvers<void>();
  promise.catch(() => {});
  const startedMs = performance.now();
  const timer = setInterval(() => {
    if (performance.now() - startedMs > timeoutMs) reject(new SmtpProblem('timeout'));
    if (socket.bytesRead > MAX_ANSWER_BYTES) reject(new SmtpProblem('too_long'));
  }, LOOK_EVERY_MS);
  const owner: ListenerOwner = { contain: reject };
  listen(socket, 'connect', owner, () => resolve());
  listen(socket, 'error', owner, (error: Error) => reject(error));
  listen(socket, 'close', owner, () => reject(new SmtpProblem('closed')));
  return { connected, over: promise, end: () => clearInterval(timer) };
}

/** As nodemailer throws it. */
interface SmtpError {
  readonly code?: string;
  readonly responseCode?: number;
  readonly command?: string;
}

class SmtpProblem extends Error {
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** Only codes: the server's text may repeat the address or the password. */
function failure(error: unknown): SendResult {
  const { code = 'unknown', responseCode, command } = error as SmtpError;
  const reason = responseCode === undefined ? String(code) : `${code} ${responseCode}`;
  // A wrong password is answered with 535, a wrong sender to MAIL FROM: somebody fixes the settings, and the mails
  // wait.
  const isFinal = code === 'EMESSAGE' || (code === 'EENVELOPE' && command === 'RCPT TO');
  const isRejected = isFinal && responseCode !== undefined && responseCode >= 500;
  return { outcome: isRejected ? 'rejected' : 'failed', reason };
}
