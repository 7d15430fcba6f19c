import type { ClientHttp2Stream } from 'node:http2';
import { reportBug } from '../../lib/bug-report.ts';
import { messageOf } from '../../lib/error-text.ts';
import { ignoreErrors, type ListenerOwner, listenOnce } from '../../lib/guarded-listeners.ts';
import { cancelStream } from '../../lib/http2/reset.ts';
import { watchStreamEnd } from '../../lib/http2/stream-end.ts';
import { gatherMessage } from './gathered-message.ts';
import type { OutgoingLink } from './outgoing-link.ts';
import { type PeerMessage, PeerRefusal, PeerUnreachable } from './peer-links.ts';
import { CALL_PATH, MAX_CALL_BYTES, NODE_AUTHORITY } from './peer-protocol.ts';

const MAX_TEXT = 2_048;

export interface CallLimits {
  readonly timeoutMs: number;
  readonly maxAnswerBytes: number;
}

/** One call as one stream. Throws when the message is too large: that is a bug of the caller. */
export function callPeer(
  link: OutgoingLink,
  method: string,
  message: PeerMessage,
  { timeoutMs, maxAnswerBytes }: CallLimits,
): Promise<PeerMessage> {
  const body = Buffer.from(JSON.stringify(message));
  if (body.length > MAX_CALL_BYTES) throw new RangeError(`the message of ${method} has ${body.length} bytes`);
  const { promise, resolve, reject } = Promise.withResolvers<PeerMessage>();
  const unreachable = (why: string): void => reject(new PeerUnreachable(`${method} on ${link.nodeName}: ${why}`));
  const stream = opened(link, method);
  if (typeof stream === 'string') {
    unreachable(stream);
    return promise;
  }
  const timer = setTimeout(() => {
    unreachable(`no response within ${timeoutMs} ms`);
    cancelStream(stream);
    link.doubt();
  }, timeoutMs);
  const owner: ListenerOwner = {
    contain: (error) => {
      reportBug(error, { part: 'peer call', method });
      cancelStream(stream);
    },
  };
  watchStreamEnd(stream);
  ignoreErrors(stream);
  let status = 0;
  listenOnce(stream, 'response', owner, (headers: Readonly<Record<string, unknown>>) => {
    status = Number(headers[':status']);
  });
  gatherMessage(
    stream,
    owner,
    (answer) => {
      if (typeof answer === 'string') unreachable(`its answer is ${answer}`);
      else if (status === 200) resolve(answer);
      else reject(new PeerRefusal(textOf(answer['code']), textOf(answer['message'])));
      if (answer === 'too_large') cancelStream(stream);
    },
    maxAnswerBytes,
  );
  listenOnce(stream, 'close', owner, () => {
    clearTimeout(timer);
    link.release(stream);
    unreachable('the link broke');
  });
  stream.end(body);
  return promise;
}

function opened(link: OutgoingLink, method: string): ClientHttp2Stream | string {
  const head = [':method', 'POST', ':scheme', 'https', ':authority', NODE_AUTHORITY, ':path', `${CALL_PATH}${method}`];
  try {
    return link.request(head, { endStream: false, waitForTrailers: false });
  } catch (error) {
    return messageOf(error);
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, MAX_TEXT) : 'failed';
}
