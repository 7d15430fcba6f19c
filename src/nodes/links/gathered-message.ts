import type { Http2Stream } from 'node:http2';
import { type ListenerOwner, listen } from '../../lib/guarded-listeners.ts';
import { hasStreamEnd } from '../../lib/http2/stream-end.ts';
import { isJsonObject } from '../../lib/json.ts';
import type { PeerMessage } from './peer-links.ts';
import { MAX_CALL_BYTES } from './peer-protocol.ts';

/** `truncated`: the stream ended without END_STREAM. */
export type MessageProblem = 'too_large' | 'malformed' | 'truncated';

/** Reads one JSON object from a stream, called back once. The stream must be watched (`watchStreamEnd`). */
export function gatherMessage(
  stream: Http2Stream,
  owner: ListenerOwner,
  done: (message: PeerMessage | MessageProblem) => void,
  maxBytes: number = MAX_CALL_BYTES,
): void {
  let parts: Buffer[] = [];
  let bytes = 0;
  let isDone = false;
  const settle = (message: PeerMessage | MessageProblem): void => {
    if (isDone) return;
    isDone = true;
    parts = [];
    done(message);
  };
  listen(stream, 'data', owner, (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) settle('too_large');
    else if (!isDone) parts.push(chunk);
  });
  listen(stream, 'end', owner, () => {
    if (hasStreamEnd(stream)) settle(parsed(Buffer.concat(parts)) ?? 'malformed');
    else settle('truncated');
  });
  listen(stream, 'close', owner, () => settle('truncated'));
}

function parsed(bytes: Buffer): PeerMessage | null {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}
