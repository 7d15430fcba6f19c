import type { ServerHttp2Stream } from 'node:http2';
import { ignoreErrors } from '../../../kit/guarded-listeners.ts';
import { sendResponse } from '../../../kit/http2/heads.ts';
import { failStream } from '../../../kit/http2/stream-end.ts';
import { TOO_MANY_FILES } from '../../../proxy/upstream/upstream-failure.ts';
import { TUNNEL_ADDRESS_HEADER, TUNNEL_ERROR_HEADER } from '../../protocol/protocol.ts';
import { discardRest } from './served-request.ts';

export interface LocalFailure {
  readonly reason: string;
  /** Whether the service may have received the request. If not, the server may send it to another target. */
  readonly mayHaveBeenSent: boolean;
  /** The service ended the connection before it had read the body of the request. */
  readonly isUnread?: boolean;
}

const UNSENT_WORDS: Readonly<Record<string, string>> = {
  refused: 'refused',
  unreachable: 'refused',
  timeout: 'timeout',
  dns: 'dns',
  tls: 'tls',
  no_folder: 'no_folder',
  upstream_full: 'agent_out_of_files',
  [TOO_MANY_FILES]: 'agent_out_of_files',
};
const SENT_WORDS: Readonly<Record<string, string>> = {
  timeout: 'unanswered',
  malformed: 'protocol',
  protocol: 'protocol',
  headers_too_large: 'headers_too_large',
};

const NO_CONNECTION: Readonly<Record<string, string>> = {
  refused: 'refuses connections: start the service, or correct its address',
  timeout: 'did not accept a connection in time: check the address and firewalls',
  dns: 'has a name that cannot be resolved: check the address',
  [TOO_MANY_FILES]:
    'was not connected: this agent has no file descriptors left. Raise its limit (ulimit -n, or LimitNOFILE in systemd), and restart it',
};

/** Message for the agent's user. */
export function problemText({ reason, mayHaveBeenSent }: LocalFailure, message: string, hostport: string): string {
  const words = mayHaveBeenSent ? undefined : NO_CONNECTION[reason];
  return words === undefined ? message : `${hostport} ${words}`;
}

/** Reports that the local service did not respond. The edge turns it into an error page that names the address. */
export function answerFailure(stream: ServerHttp2Stream, failure: LocalFailure, hostport: string): void {
  if (stream.destroyed || stream.closed) return;
  if (stream.headersSent) {
    failStream(stream);
    return;
  }
  const words = failure.mayHaveBeenSent ? SENT_WORDS : UNSENT_WORDS;
  const word = words[failure.reason] ?? (failure.isUnread === true ? 'unread' : 'closed');
  const headers = [':status', '502', TUNNEL_ERROR_HEADER, word, TUNNEL_ADDRESS_HEADER, hostport];
  sendResponse(stream, headers, { endStream: true });
  // The gateway discards the rest of the request. Until then nothing may block on back-pressure.
  discardRest(stream);
}

/** Rejects a stream for a tunnel that this agent does not have. */
export function refuseStream(stream: ServerHttp2Stream, status: 400 | 404): void {
  if (stream.destroyed || stream.closed) return;
  ignoreErrors(stream);
  // A reset would overtake the response.
  stream.respond([':status', String(status)], { endStream: true });
  discardRest(stream);
}
